"""Queries of turns, their log entries and idempotency keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, case, func, select, true

from oda.agent.turn_plugin import SessionKey
from oda.database.database import Database
from oda.database.schema import idempotency_keys, turn_entries, turns
from oda.errors import IdempotencyConflictError, TurnNotFoundError
from oda.session.sql_sessions import events_by_id
from oda.turn.log import Entry
from oda.turn.record import Turn, TurnStatus
from oda.turn.rows import (
    StoredTurn,
    decode_cursor,
    encode_cursor,
    entry_of,
    in_session,
    is_key,
    key_of,
    stored_of,
    turn_of,
    unfinished,
    waits_for_input,
    with_last,
)
from oda.turn.submission import IdempotencyKey
from oda.turn.user_turns import TurnFilter, TurnPage, page_of, page_query

IDEMPOTENCY_KEPT = timedelta(hours=24)


@dataclass(frozen=True)
class WaitingTurns:
    """Unfinished turns of an app that only a version of its agent may run, or any."""

    app: str
    version: str | None
    """None for turns that any version may run."""
    turns: int


class TurnReader:
    """Reads turns from the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, turn_id: str, user_id: str | None = None) -> Turn:
        """Return a turn; with `user_id`, only of that user.

        Raises:
            TurnNotFoundError: the turn does not exist.
        """
        return (await self.stored(turn_id, user_id)).turn

    async def waiting_by_version(self) -> Sequence[WaitingTurns]:
        """Return the numbers of turns that must run, by what must be there for it."""
        version = case((turns.c.pinned, turns.c.agent_version)).label("version")
        count = select(turns.c.app, version, func.count().label("turns")).where(unfinished())
        rows = await self._database.rows(count.group_by(turns.c.app, version))
        return [WaitingTurns(row.app, row.version, row.turns) for row in rows]

    async def stored(self, turn_id: str, user_id: str | None = None) -> StoredTurn:
        """Return a turn with the data needed to run it.

        Raises:
            TurnNotFoundError: the turn does not exist, or is another user's.
        """
        query = with_last().where(turns.c.turn_id == turn_id)
        if user_id is not None:
            query = query.where(turns.c.user_id == user_id)
        row = next(iter(await self._database.rows(query)), None)
        if row is None:
            raise TurnNotFoundError(f"There is no turn {turn_id!r}.")
        return stored_of(row, last=row.last)

    async def of_session(
        self, session: SessionKey, *, limit: int, cursor: str | None = None
    ) -> tuple[Sequence[Turn], str | None]:
        """Return a page of a session's turns, newest first, and the next cursor, if any.

        Raises:
            InvalidRequestError: the cursor is malformed.
        """
        query = select(turns).where(in_session(session)).order_by(turns.c.position.desc())
        if cursor is not None:
            query = query.where(turns.c.position < decode_cursor(cursor))
        rows = await self._database.rows(query.limit(limit + 1))
        more = len(rows) > limit
        page = [turn_of(row) for row in rows[:limit]]
        return page, encode_cursor(rows[limit - 1].position) if more else None

    async def of_user(self, wanted: TurnFilter, *, limit: int, cursor: str | None) -> TurnPage:
        """Return a page of a user's turns with an app, the latest changed first.

        Raises:
            InvalidRequestError: the cursor is malformed.
        """
        query = page_query(wanted, limit, cursor)
        return await self._database.read(
            lambda connection: page_of(connection, query, wanted, limit)
        )

    async def find(
        self,
        *,
        app: str | None = None,
        user_id: str | None = None,
        session_id: str | None = None,
        status: TurnStatus | None = None,
        limit: int,
    ) -> Sequence[Turn]:
        """Return the newest turns that match all given values, newest first."""
        wanted = {"app": app, "user_id": user_id, "session_id": session_id, "status": status}
        query = (
            select(turns)
            .where(*(turns.c[name] == value for name, value in wanted.items() if value is not None))
            .order_by(turns.c.created_at.desc(), turns.c.position.desc())
            .limit(limit)
        )
        return [turn_of(row) for row in await self._database.rows(query)]

    async def unfinished_of(self, session: SessionKey) -> Sequence[StoredTurn]:
        """Return the turns of a session that are not final, in order."""
        query = (
            with_last()
            .where(in_session(session))
            .where(turns.c.finished_at.is_(None))
            .order_by(turns.c.position)
        )
        return [stored_of(row, last=row.last) for row in await self._database.rows(query)]

    async def entries(self, turn_id: str, after: int, *, limit: int | None = None) -> list[Entry]:
        """Return the entries of a turn with a number greater than `after`, in order."""
        return await self._database.read(
            lambda connection: entries_of(connection, turn_id, after, limit=limit)
        )

    async def of_key(self, user_id: str, key: IdempotencyKey, now: datetime) -> Turn | None:
        """Return the turn that was accepted under a key, if any.

        Raises:
            IdempotencyConflictError: the key was used with another body.
        """
        return await self._database.read(
            lambda connection: self.turn_of_key(connection, user_id, key, now)
        )

    def turn_of_key(
        self, connection: Connection, user_id: str, key: IdempotencyKey, now: datetime
    ) -> Turn | None:
        found = connection.execute(
            select(turns, idempotency_keys.c.body_hash, idempotency_keys.c.created_at.label("kept"))
            .join(idempotency_keys, idempotency_keys.c.turn_id == turns.c.turn_id)
            .where(is_key(user_id, key))
        )
        row = found.one_or_none()
        if row is None or row.kept < now - IDEMPOTENCY_KEPT:
            return None
        if row.body_hash != key.body_hash:
            raise IdempotencyConflictError(
                "This Idempotency-Key was used with another body.",
                remedy="use a new key for a new request",
            )
        return turn_of(row)

    # --- for the process that runs turns

    async def unfinished(self, session: SessionKey | None = None) -> Sequence[str]:
        """Return the turns that must run, of one session or all, in order."""
        query = (
            select(turns.c.turn_id)
            .where(unfinished())
            .order_by(
                case((turns.c.status == "running", 0), else_=1),
                turns.c.interrupts.desc(),
                turns.c.position,
            )
        )
        if session is not None:
            query = query.where(in_session(session))
        return [row.turn_id for row in await self._database.rows(query)]

    async def cancels_requested(self) -> Sequence[str]:
        """Return the turns that run and are to be cancelled."""
        query = select(turns.c.turn_id).where(unfinished(), turns.c.cancel_requested == true())
        return [row.turn_id for row in await self._database.rows(query)]

    async def cancel_requested(self, turn_id: str) -> bool:
        """Return whether a turn is to be cancelled."""
        query = select(turns.c.cancel_requested).where(turns.c.turn_id == turn_id)
        return bool(await self._database.scalar(query))

    async def waiting_since(self, before: datetime) -> Sequence[Turn]:
        """Return the turns that have waited for a person since before a time."""
        query = select(turns).where(waits_for_input(), turns.c.waiting_since < before)
        return [turn_of(row) for row in await self._database.rows(query)]


def entries_of(
    connection: Connection, turn_id: str, after: int = 0, *, limit: int | None = None
) -> list[Entry]:
    """Return the entries of a turn with a number greater than `after`, in order."""
    query = (
        select(turn_entries)
        .where(turn_entries.c.turn_id == turn_id, turn_entries.c.number > after)
        .order_by(turn_entries.c.number)
        .limit(limit)
    )
    rows = connection.execute(query).all()
    if not rows:
        return []
    found = connection.execute(select(turns).where(turns.c.turn_id == turn_id)).one_or_none()
    if found is None:  # deleted meanwhile
        return []
    turn = turn_of(found)
    referred = [row.event_id for row in rows if row.data is None]
    shown = events_by_id(connection, key_of(turn), referred) if referred else {}
    return [
        entry_of(row, turn)
        if row.data is not None
        else Entry.of(row.number, row.kind, shown[row.event_id], in_session=True)
        for row in rows
        if row.data is not None or row.event_id in shown  # not of deleted sessions
    ]
