"""Writing turns, their entries and idempotency keys."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import and_, case, delete, exists, func, insert, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from oda.agent.turn_plugin import SessionKey
from oda.clock import Clock, SystemClock, utc
from oda.database.database import Database
from oda.database.schema import (
    idempotency_keys,
    nodes,
    tool_calls,
    turn_entries,
    turns,
    usage_days,
)
from oda.errors import ConflictError, OwnershipLostError, SessionBusyError
from oda.turn.log import Entry, EntryKind
from oda.turn.reader import IDEMPOTENCY_KEPT, TurnReader
from oda.turn.record import Turn
from oda.turn.rows import (
    UNFINISHED,
    StoredTurn,
    columns_of,
    in_session,
    is_key,
    key_of,
    next_position,
    rows_of,
    someone_goes_before,
    stored_of,
    unfinished_in,
    with_last,
)
from oda.turn.submission import IdempotencyKey, TurnInput

_DELETED_AT_ONCE = 500
_SAFE_PART = 0.75
"""Of a lease, in which its holder may be sure that nobody takes its turns over."""


@dataclass(frozen=True)
class Accepted:
    """What became of a submission."""

    turn: Turn
    replayed: bool
    """Whether it is the turn of an earlier request with the same key."""


class TurnStore(TurnReader):
    """Everything is written through the database's journal.

    What belongs to a running turn is only written by the node that owns it.
    """

    _safe_until = float("-inf")
    """Time of the event loop."""

    def __init__(self, database: Database, node_id: str, clock: Clock | None = None) -> None:
        super().__init__(database, node_id)
        self._clock = clock or SystemClock()

    # --- accepting

    async def accept(
        self,
        turn: Turn,
        given: TurnInput,
        *,
        interrupts: bool = False,
        only_if_idle: bool = False,
        start: Turn | None = None,
        key: IdempotencyKey | None = None,
    ) -> Accepted:
        """Store a new turn behind the others of its session.

        Args:
            turn: Queued.
            given: Its message and what goes with it.
            interrupts: It ends the running turn and goes before those that wait.
            only_if_idle: Refuse it when the session has an unfinished turn.
            start: The same turn as running, if it may start at once; it does unless another node
                has an unfinished turn of the session.
            key: Of the client.

        Raises:
            IdempotencyConflictError: the key stands for another body.
            SessionBusyError: `only_if_idle`, and the session is not.
        """

        async def operation(connection: AsyncConnection) -> Accepted:
            if key is not None:
                await _one_at_a_time(connection, turn.user_id, key.route, key.key)
                known = await self.turn_of_key(connection, turn.user_id, key, turn.created_at)
                if known is not None:
                    return Accepted(known, replayed=True)
            await _one_at_a_time(connection, *key_of(turn))
            record, stages = turn, [turn]
            if only_if_idle or start is not None:
                busy = await connection.scalar(select(exists(unfinished_in(key_of(turn)))))
                if busy and only_if_idle:
                    raise SessionBusyError(
                        "A turn is running in this session.",
                        remedy="wait for it, or queue or interrupt",
                    )
                if start is not None and not busy:
                    record = self._started(start)
                    stages.append(record)
            if interrupts:
                await connection.execute(
                    update(turns)
                    .where(in_session(key_of(turn)), turns.c.status == "running")
                    .values(cancel_requested=True)
                )
            await connection.execute(
                insert(turns).values(
                    **columns_of(record),
                    turn_id=turn.turn_id,
                    app=turn.app,
                    user_id=turn.user_id,
                    session_id=turn.session_id,
                    position=next_position(key_of(turn)),
                    interrupts=interrupts,
                    metadata=turn.metadata,
                    trace_id=turn.trace_id,
                    created_at=turn.created_at,
                    input=given.stored(),
                    owner=self._node,
                    begun=len(stages) > 1,
                    recoveries=0,
                    cancel_requested=False,
                )
            )
            await connection.execute(
                insert(turn_entries),
                rows_of(
                    turn.turn_id, [Entry.of(n, "turn", t) for n, t in enumerate(stages, start=1)]
                ),
            )
            if key is not None:
                await connection.execute(
                    delete(idempotency_keys).where(is_key(turn.user_id, key))  # it has expired
                )
                await connection.execute(
                    insert(idempotency_keys).values(
                        user_id=turn.user_id,
                        route=key.route,
                        key=key.key,
                        body_hash=key.body_hash,
                        turn_id=turn.turn_id,
                        created_at=turn.created_at,
                    )
                )
            return Accepted(record, replayed=False)

        return await self._database.journal.run(operation)

    # --- running

    async def claim(self, turn: Turn) -> Turn | None:
        """Let a queued turn start as `turn` says, if none of its session goes before it.

        Returns:
            The turn as it has started, or None.

        Raises:
            OwnershipLostError: it is not this node's, or not queued any more.
        """

        async def operation(connection: AsyncConnection) -> Turn | None:
            await _one_at_a_time(connection, *key_of(turn))
            begun = self._started(turn)
            mine = await connection.execute(
                update(turns)
                .where(turns.c.turn_id == turn.turn_id, turns.c.owner == self._node)
                .where(turns.c.status == "queued", ~someone_goes_before())
                .values(**columns_of(begun), begun=True)
            )
            if mine.rowcount:
                return begun
            still_ours = await connection.scalar(
                select(turns.c.turn_id).where(
                    turns.c.turn_id == turn.turn_id,
                    turns.c.owner == self._node,
                    turns.c.status == "queued",
                )
            )
            if still_ours is None:
                raise OwnershipLostError(f"The turn {turn.turn_id!r} is not queued here any more.")
            return None

        return await self._database.journal.run(operation)

    def _started(self, turn: Turn) -> Turn:
        """A turn that starts now: while the session is held, so after the end of the one before."""
        return turn.model_copy(update={"started_at": turn.started_at or utc(self._clock)})

    async def save(
        self,
        connection: AsyncConnection,
        turn_id: str,
        entries: Sequence[Entry],
        turn: Turn | None,
        *,
        ended_at: datetime | None = None,
    ) -> None:
        """Store entries, and the record as it is after them; an operation of the journal.

        `ended_at` says that the node has done with the turn: it is final, or waits for a person.

        Raises:
            OwnershipLostError: another node has taken the turn over.
        """
        mine = and_(turns.c.turn_id == turn_id, turns.c.owner == self._node)
        if turn is not None:
            changes = columns_of(turn)
            if ended_at is not None:
                changes |= {"owner": None, "waiting_since": None if turn.final else ended_at}
            owned = bool(
                (await connection.execute(update(turns).where(mine).values(changes))).rowcount
            )
        else:
            held = select(turns.c.turn_id).where(mine).with_for_update(read=True)
            owned = await connection.scalar(held) is not None
        if not owned:
            raise OwnershipLostError(f"The turn {turn_id!r} runs elsewhere.")
        if entries:
            await connection.execute(insert(turn_entries), rows_of(turn_id, entries))
        if turn is not None and turn.final:
            await self._charge(connection, turn)

    async def _charge(self, connection: AsyncConnection, turn: Turn) -> None:
        """Add what a turn has used to its user's day."""
        day = (turn.finished_at or turn.created_at).strftime("%Y-%m-%d")
        used = {
            "turns": 1,
            "model_calls": turn.usage.model_calls,
            "input_tokens": turn.usage.input_tokens,
            "output_tokens": turn.usage.output_tokens,
            "cost_usd": turn.usage.cost_usd or 0.0,
        }
        dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
        statement = dialect.insert(usage_days).values(user_id=turn.user_id, day=day, **used)
        await connection.execute(
            statement.on_conflict_do_update(
                index_elements=["user_id", "day"],
                set_={name: usage_days.c[name] + statement.excluded[name] for name in used},
            )
        )

    async def answer(self, turn: Turn, given: TurnInput, *, begun: bool) -> int:
        """Queue a waiting turn behind the others of its session, with the answer to its question.

        Returns the number of its last entry, the new record included.

        Raises:
            ConflictError: it does not wait any more.
        """

        async def operation(connection: AsyncConnection) -> int:
            await _one_at_a_time(connection, *key_of(turn))
            waiting = await connection.execute(
                update(turns)
                .where(turns.c.turn_id == turn.turn_id, turns.c.status == "waiting_input")
                .values(
                    **columns_of(turn),
                    position=next_position(key_of(turn)),
                    interrupts=False,
                    input=given.stored(),
                    owner=self._node,
                    begun=begun,
                )
            )
            if not waiting.rowcount:
                raise ConflictError(
                    f"The turn {turn.turn_id!r} does not wait for input.",
                    remedy="it may have been answered already",
                )
            return await _append(connection, turn, "turn")

        return await self._database.journal.run(operation)

    async def end_waiting(self, turn: Turn) -> bool:
        """End a turn that waits for a person as `turn` says; False when it does not wait."""

        async def operation(connection: AsyncConnection) -> bool:
            waiting = await connection.execute(
                update(turns)
                .where(turns.c.turn_id == turn.turn_id, turns.c.status == "waiting_input")
                .values(**columns_of(turn))
            )
            if waiting.rowcount:
                await _append(connection, turn, "done")
                await self._charge(connection, turn)
            return bool(waiting.rowcount)

        return await self._database.journal.run(operation)

    async def request_cancel(self, turn_id: str) -> None:
        """Ask the node that runs a turn to end it."""

        async def operation(connection: AsyncConnection) -> None:
            await connection.execute(
                update(turns).where(turns.c.turn_id == turn_id).values(cancel_requested=True)
            )

        await self._database.journal.run(operation)

    # --- nodes

    async def renew_lease(self, now: datetime, lease: timedelta) -> None:
        """Say that this node lives, until `now + lease` at least."""
        began = asyncio.get_running_loop().time()

        async def operation(connection: AsyncConnection) -> None:
            expires = {"expires_at": now + lease}
            renewed = await connection.execute(
                update(nodes).where(nodes.c.node_id == self._node).values(**expires)
            )
            if not renewed.rowcount:
                await connection.execute(insert(nodes).values(node_id=self._node, **expires))

        await self._database.journal.run(operation)
        self._safe_until = began + _SAFE_PART * lease.total_seconds()

    async def hold(self, turn_id: str) -> None:
        """Make sure that this node still owns a turn; costs nothing while its lease is fresh.

        Raises:
            OwnershipLostError: another node has taken it over.
        """
        if asyncio.get_running_loop().time() < self._safe_until:
            return
        query = select(turns.c.owner).where(turns.c.turn_id == turn_id)
        async with self._database.engine.connect() as connection:
            owner = await connection.scalar(query)
        if owner != self._node:
            raise OwnershipLostError(f"The turn {turn_id!r} runs elsewhere.")

    async def adopt(self, turn_id: str, now: datetime) -> StoredTurn | None:
        """Take an orphan over; None when another node was quicker."""

        async def operation(connection: AsyncConnection) -> StoredTurn | None:
            alive = exists().where(nodes.c.node_id == turns.c.owner, nodes.c.expires_at > now)
            died = and_(turns.c.status == "running", turns.c.owner.is_not(None))
            adopted = await connection.execute(
                update(turns)
                .where(turns.c.turn_id == turn_id, turns.c.status.in_(UNFINISHED))
                .where(or_(turns.c.owner.is_(None), ~alive, turns.c.owner == self._node))
                .values(owner=self._node, recoveries=turns.c.recoveries + case((died, 1), else_=0))
            )
            if not adopted.rowcount:
                return None
            found = await connection.execute(with_last().where(turns.c.turn_id == turn_id))
            return stored_of(found.one())

        return await self._database.journal.run(operation)

    async def release(self) -> None:
        """Leave the unfinished turns of this node to whoever finds them, and be gone."""

        async def operation(connection: AsyncConnection) -> None:
            await connection.execute(
                update(turns)
                .where(turns.c.owner == self._node, turns.c.status.in_(UNFINISHED))
                .values(owner=None)
            )
            await connection.execute(delete(nodes).where(nodes.c.node_id == self._node))

        await self._database.journal.run(operation)

    # --- forgetting

    async def forget_session(self, session: SessionKey) -> Sequence[str]:
        """Delete all turns of a session, with all that belongs to them; returns their ids."""

        async def operation(connection: AsyncConnection) -> Sequence[str]:
            deleted = delete(turns).where(in_session(session)).returning(turns.c.turn_id)
            forgotten = (await connection.execute(deleted)).scalars().all()
            await connection.execute(
                delete(tool_calls).where(
                    tool_calls.c.app == session[0],
                    tool_calls.c.user_id == session[1],
                    tool_calls.c.session_id == session[2],
                )
            )
            return forgotten

        return await self._database.journal.run(operation)

    async def forget_old(self, now: datetime, retention: timedelta) -> int:
        """Delete some of what is older than the retention; returns how many turns."""
        final = turns.c.status.not_in((*UNFINISHED, "waiting_input"))
        old = (
            select(turns.c.turn_id)
            .where(turns.c.finished_at < now - retention, final)
            .limit(_DELETED_AT_ONCE)
        )

        async def operation(connection: AsyncConnection) -> int:
            deleted = await connection.execute(delete(turns).where(turns.c.turn_id.in_(old)))
            await connection.execute(
                delete(idempotency_keys).where(
                    idempotency_keys.c.created_at < now - IDEMPOTENCY_KEPT
                )
            )
            await connection.execute(
                delete(tool_calls).where(tool_calls.c.started_at < now - retention)
            )
            await connection.execute(delete(nodes).where(nodes.c.expires_at < now - retention))
            return deleted.rowcount

        return await self._database.journal.run(operation)


async def _one_at_a_time(connection: AsyncConnection, *names: str) -> None:
    """Have what other nodes do under the same names wait for the end of this transaction.

    SQLite has one writer at a time anyway.
    """
    if connection.dialect.name == "postgresql":
        name = func.hashtextextended("\n".join(names), 0)
        await connection.execute(select(func.pg_advisory_xact_lock(name)))


async def _append(connection: AsyncConnection, turn: Turn, kind: EntryKind) -> int:
    """Store an entry of a turn that no node runs; returns its number."""
    highest = select(func.coalesce(func.max(turn_entries.c.number), 0))
    last = await connection.scalar(highest.where(turn_entries.c.turn_id == turn.turn_id))
    entry = Entry.of((last or 0) + 1, kind, turn)
    await connection.execute(insert(turn_entries), rows_of(turn.turn_id, [entry]))
    return entry.number
