"""Storage quotas of users: all stored data is counted, and refused if it exceeds the quota.

Each user has one row of totals, which a conditional update draws from: the cost of a request does
not grow with the stored data, and concurrent requests on any nodes cannot exceed the quota. Further
rows hold the share of each session and each of its artifacts; deleting them returns their bytes.
"""

import json
from hashlib import sha256
from typing import Any

from sqlalchemy import ColumnElement, Connection, Update, delete, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from oda.agent.turn_plugin import SessionKey
from oda.database.database import Database
from oda.database.journal import REQUEST_S
from oda.database.schema import kept_items, kept_totals
from oda.errors import StorageQuotaError
from oda.settings import LimitSettings

AROUND_BYTES = 1024
"""Overhead counted for each message, state change, or artifact version besides its own bytes, for
the rows and files that hold it.
"""
CONVERSATION = ""
"""The item that stands for a session's messages and state."""


class UserStorage:
    """The storage accounts of all users, which share the same limits."""

    def __init__(self, database: Database, limits: LimitSettings) -> None:
        self._journal = database.journal
        self._most_bytes = limits.user_storage_bytes
        self._most_sessions = limits.user_sessions

    async def take(
        self, session: SessionKey, size: int, item: str = CONVERSATION, *, bounded: bool = True
    ) -> None:
        """Count data that is about to be stored.

        Args:
            session: The session it belongs to; with an empty id it belongs to the user.
            size: Bytes, without `AROUND_BYTES`.
            item: The item to count it for, see `item_of`.
            bounded: Whether to refuse it if there is no room.

        Raises:
            StorageQuotaError: there is no room.
        """

        def operation(connection: Connection) -> None:
            self.take_within(connection, session, size, item, bounded=bounded)

        await self._journal.run(operation, within_s=REQUEST_S)

    def take_within(
        self,
        connection: Connection,
        session: SessionKey,
        size: int,
        item: str = CONVERSATION,
        *,
        bounded: bool = True,
    ) -> bool:
        """Like `take`, as part of the journal operation that stores the data.

        Returns:
            Whether nothing was counted for the item before.
        """
        size += AROUND_BYTES
        self._draw(connection, session[1], size, bounded=bounded)
        is_new = _add(connection, session, item, size)
        if is_new and item == CONVERSATION:
            one_more = {"sessions": kept_totals.c.sessions + 1}
            connection.execute(_total_of(session[1]).values(one_more))
        return is_new

    async def open_session(self, session: SessionKey, size: int) -> bool:
        """Count a session that is about to be created; return False if it was counted before.

        Raises:
            StorageQuotaError: the user has too many sessions, or there is no room.
        """

        def operation(connection: Connection) -> bool:
            is_new = self.take_within(connection, session, size)
            if is_new and _sessions_of(connection, session[1]) > self._most_sessions:
                raise StorageQuotaError(
                    f"You have {self._most_sessions:,} sessions, which is as many as you may.",
                    remedy="delete sessions that you do not need",
                )
            return is_new

        return await self._journal.run(operation, within_s=REQUEST_S)

    async def give_back(self, session: SessionKey, size: int) -> None:
        """Undo a `take` whose data was not stored."""
        await self._journal.run(
            lambda connection: self.give_back_within(connection, session, size),
            within_s=REQUEST_S,
        )

    def give_back_within(self, connection: Connection, session: SessionKey, size: int) -> None:
        """Like `give_back`, as part of a journal operation."""
        _lock(connection, session[1])
        size += AROUND_BYTES
        taken_off = connection.execute(
            update(kept_items)
            .where(*_is(session), kept_items.c.item == CONVERSATION)
            .where(kept_items.c.bytes >= size)  # else it is another session of that name by now
            .values(bytes=kept_items.c.bytes - size)
        )
        if taken_off.rowcount:
            _subtract(connection, session[1], size)

    async def move(self, session: SessionKey, item: str, to: str) -> None:
        """Transfer the bytes counted for one item to another."""

        def operation(connection: Connection) -> None:
            _lock(connection, session[1])
            moved = delete(kept_items).where(*_is(session), kept_items.c.item == item)
            size = connection.scalar(moved.returning(kept_items.c.bytes))
            if size is not None:
                _add(connection, session, to, size)

        await self._journal.run(operation, within_s=REQUEST_S)

    async def forget(self, session: SessionKey, item: str | None = None) -> None:
        """Return the bytes of one item, or of a session with all its items."""

        def operation(connection: Connection) -> None:
            _lock(connection, session[1])
            gone = delete(kept_items).where(*_is(session))
            if item is not None:
                gone = gone.where(kept_items.c.item == item)
            found = connection.execute(gone.returning(kept_items.c.item, kept_items.c.bytes))
            sizes = {row.item: row.bytes for row in found}
            if sizes:
                sessions = int(CONVERSATION in sizes)
                _subtract(connection, session[1], sum(sizes.values()), sessions)

        await self._journal.run(operation, within_s=REQUEST_S)

    async def forget_sessions(self) -> None:
        """Return the bytes of all sessions of all users, for a store that has lost them."""
        left = select(func.coalesce(func.sum(kept_items.c.bytes), 0)).where(
            kept_items.c.user_id == kept_totals.c.user_id
        )

        def operation(connection: Connection) -> None:
            connection.execute(delete(kept_items).where(kept_items.c.session_id != ""))
            totals = {"bytes": left.scalar_subquery(), "sessions": 0}
            connection.execute(update(kept_totals).values(totals))

        await self._journal.run(operation)

    def _draw(self, connection: Connection, user_id: str, size: int, *, bounded: bool) -> None:
        """Draw bytes from a user's total, and lock it until the transaction ends."""
        fits = [kept_totals.c.bytes + size <= self._most_bytes] if bounded else []
        drawn = _total_of(user_id).where(*fits).values(bytes=kept_totals.c.bytes + size)
        if connection.execute(drawn).rowcount:
            return
        insert_of = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
        nothing = insert_of(kept_totals).values(user_id=user_id, bytes=0, sessions=0)
        connection.execute(nothing.on_conflict_do_nothing())
        if not connection.execute(drawn).rowcount:
            raise StorageQuotaError(
                f"What you keep would be more than the {self._most_bytes:,} bytes that you may.",
                remedy="delete sessions or artifacts that you do not need",
            )


def item_of(artifact: str) -> str:
    """Return the item that the versions of an artifact are counted for."""
    return sha256(artifact.encode(errors="replace")).hexdigest()


def json_size(value: Any) -> int:
    """Return the size of a value as JSON, in the form databases store it, in bytes."""
    return len(json.dumps(value, default=str))


def _add(connection: Connection, session: SessionKey, item: str, size: int) -> bool:
    """Add to an item while the user's total is locked; return whether it was empty before."""
    added = connection.execute(
        update(kept_items)
        .where(*_is(session), kept_items.c.item == item)
        .values(bytes=kept_items.c.bytes + size)
    )
    if added.rowcount:
        return False
    app, user_id, session_id = session
    connection.execute(
        insert(kept_items).values(
            app=app, user_id=user_id, session_id=session_id, item=item, bytes=size
        )
    )
    return True


def _subtract(connection: Connection, user_id: str, size: int, sessions: int = 0) -> None:
    left = {"bytes": kept_totals.c.bytes - size, "sessions": kept_totals.c.sessions - sessions}
    connection.execute(_total_of(user_id).values(left))


def _lock(connection: Connection, user_id: str) -> None:
    """Lock a user's total before changing one of its items; SQLite has a single writer anyway."""
    held = select(kept_totals.c.user_id).where(kept_totals.c.user_id == user_id)
    connection.execute(held.with_for_update())


def _sessions_of(connection: Connection, user_id: str) -> int:
    counted = select(kept_totals.c.sessions).where(kept_totals.c.user_id == user_id)
    return connection.scalar(counted) or 0


def _total_of(user_id: str) -> Update:
    return update(kept_totals).where(kept_totals.c.user_id == user_id)


def _is(session: SessionKey) -> tuple[ColumnElement[bool], ...]:
    app, user_id, session_id = session
    return (
        kept_items.c.user_id == user_id,
        kept_items.c.app == app,
        kept_items.c.session_id == session_id,
    )
