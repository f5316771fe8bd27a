"""Reading turns, their entries and idempotency keys."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import exists, or_, select, true
from sqlalchemy.ext.asyncio import AsyncConnection

from oda.agent.turn_plugin import SessionKey
from oda.database.database import Database
from oda.database.schema import idempotency_keys, nodes, turn_entries, turns, usage_days
from oda.errors import IdempotencyConflictError, TurnNotFoundError
from oda.turn.log import Entry
from oda.turn.record import Turn, TurnStatus, TurnUsage
from oda.turn.rows import (
    UNFINISHED,
    StoredTurn,
    decode_cursor,
    encode_cursor,
    in_session,
    is_key,
    stored_of,
    turn_of,
    with_last,
)
from oda.turn.submission import IdempotencyKey

IDEMPOTENCY_KEPT = timedelta(hours=24)


class TurnReader:
    """What the database says of turns."""

    def __init__(self, database: Database, node_id: str) -> None:
        self._database = database
        self._node = node_id

    async def get(self, turn_id: str, user_id: str | None = None) -> Turn:
        """A turn; with `user_id`, only if it is that user's.

        Raises:
            TurnNotFoundError: there is none.
        """
        return (await self.stored(turn_id, user_id)).turn

    async def stored(self, turn_id: str, user_id: str | None = None) -> StoredTurn:
        """A turn with what is needed to run it.

        Raises:
            TurnNotFoundError: there is none, or it is another user's.
        """
        query = with_last().where(turns.c.turn_id == turn_id)
        if user_id is not None:
            query = query.where(turns.c.user_id == user_id)
        async with self._database.engine.connect() as connection:
            row = (await connection.execute(query)).one_or_none()
        if row is None:
            raise TurnNotFoundError(f"There is no turn {turn_id!r}.")
        return stored_of(row)

    async def of_session(
        self, session: SessionKey, *, limit: int, cursor: str | None = None
    ) -> tuple[Sequence[Turn], str | None]:
        """Turns of a session, newest first, and the cursor of the next page if there is one.

        Raises:
            InvalidRequestError: the cursor is not one that was given out.
        """
        query = select(turns).where(in_session(session)).order_by(turns.c.position.desc())
        if cursor is not None:
            query = query.where(turns.c.position < decode_cursor(cursor))
        async with self._database.engine.connect() as connection:
            rows = (await connection.execute(query.limit(limit + 1))).all()
        more = len(rows) > limit
        page = [turn_of(row) for row in rows[:limit]]
        return page, encode_cursor(rows[limit - 1].position) if more else None

    async def find(
        self,
        *,
        app: str | None = None,
        user_id: str | None = None,
        session_id: str | None = None,
        status: TurnStatus | None = None,
        limit: int,
    ) -> Sequence[Turn]:
        """The newest turns of which all that is given holds, newest first."""
        wanted = {"app": app, "user_id": user_id, "session_id": session_id, "status": status}
        query = (
            select(turns)
            .where(*(turns.c[name] == value for name, value in wanted.items() if value is not None))
            .order_by(turns.c.created_at.desc(), turns.c.position.desc())
            .limit(limit)
        )
        async with self._database.engine.connect() as connection:
            return [turn_of(row) for row in (await connection.execute(query)).all()]

    async def unfinished_of(self, session: SessionKey) -> Sequence[Turn]:
        """The turns of a session that have not come to a final state, the last first."""
        query = (
            select(turns)
            .where(in_session(session))
            .where(turns.c.status.in_((*UNFINISHED, "waiting_input")))
            .order_by(turns.c.position.desc())
        )
        async with self._database.engine.connect() as connection:
            return [turn_of(row) for row in (await connection.execute(query)).all()]

    async def entries(self, turn_id: str, after: int, *, limit: int | None = None) -> list[Entry]:
        """The entries of a turn with a number greater than `after`, in order."""
        query = (
            select(turn_entries.c.number, turn_entries.c.kind, turn_entries.c.data)
            .where(turn_entries.c.turn_id == turn_id, turn_entries.c.number > after)
            .order_by(turn_entries.c.number)
            .limit(limit)
        )
        async with self._database.engine.connect() as connection:
            rows = (await connection.execute(query)).all()
        return [Entry(row.number, row.kind, row.data.encode()) for row in rows]

    async def used_on(self, user_id: str, day: str) -> TurnUsage:
        """What a user's ended turns have used on a day (in UTC, as 2026-01-31)."""
        query = select(usage_days).where(usage_days.c.user_id == user_id, usage_days.c.day == day)
        async with self._database.engine.connect() as connection:
            row = (await connection.execute(query)).one_or_none()
        if row is None:
            return TurnUsage(cost_usd=0.0)
        return TurnUsage(
            model_calls=row.model_calls,
            input_tokens=row.input_tokens,
            output_tokens=row.output_tokens,
            cost_usd=row.cost_usd,
        )

    async def of_key(self, user_id: str, key: IdempotencyKey, now: datetime) -> Turn | None:
        """The turn that a key stands for.

        Raises:
            IdempotencyConflictError: the key stands for another body.
        """
        async with self._database.engine.connect() as connection:
            return await self.turn_of_key(connection, user_id, key, now)

    async def turn_of_key(
        self, connection: AsyncConnection, user_id: str, key: IdempotencyKey, now: datetime
    ) -> Turn | None:
        found = await connection.execute(
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

    # --- for this node

    async def orphans(self, now: datetime, session: SessionKey | None = None) -> Sequence[str]:
        """Unfinished turns that no living node has, of one session or of all, in their order."""
        alive = exists().where(nodes.c.node_id == turns.c.owner, nodes.c.expires_at > now)
        query = (
            select(turns.c.turn_id)
            .where(turns.c.status.in_(UNFINISHED), or_(turns.c.owner.is_(None), ~alive))
            .order_by(turns.c.interrupts.desc(), turns.c.position)
        )
        if session is not None:
            query = query.where(in_session(session))
        async with self._database.engine.connect() as connection:
            return (await connection.execute(query)).scalars().all()

    async def owned(self) -> Sequence[str]:
        """Unfinished turns that this node is said to have."""
        query = select(turns.c.turn_id).where(
            turns.c.status.in_(UNFINISHED), turns.c.owner == self._node
        )
        async with self._database.engine.connect() as connection:
            return (await connection.execute(query)).scalars().all()

    async def cancels_requested(self) -> Sequence[str]:
        """Turns of this node that another wants to end."""
        query = select(turns.c.turn_id).where(
            turns.c.status.in_(UNFINISHED),
            turns.c.owner == self._node,
            turns.c.cancel_requested == true(),
        )
        async with self._database.engine.connect() as connection:
            return (await connection.execute(query)).scalars().all()

    async def waiting_since(self, before: datetime) -> Sequence[Turn]:
        """Turns that have been waiting for a person since before a time."""
        query = select(turns).where(
            turns.c.status == "waiting_input", turns.c.waiting_since < before
        )
        async with self._database.engine.connect() as connection:
            return [turn_of(row) for row in (await connection.execute(query)).all()]
