"""Writes of turns, log entries and idempotency keys."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    case,
    delete,
    exists,
    false,
    func,
    insert,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.exc import IntegrityError

from oda.agent.day_budget import add_to_day, day_of
from oda.agent.turn_plugin import SessionKey
from oda.clock import Clock, SystemClock, utc
from oda.database.database import Database
from oda.database.database_time import DatabaseTime
from oda.database.journal import REQUEST_S
from oda.database.schema import (
    idempotency_keys,
    nodes,
    tool_calls,
    turn_entries,
    turns,
)
from oda.errors import CancelRequestedError, ConflictError, OwnershipLostError, SessionBusyError
from oda.session.user_storage import UserStorage, json_size
from oda.settings import LimitSettings
from oda.turn.log import Entry, EntryKind
from oda.turn.reader import IDEMPOTENCY_KEPT, TurnReader
from oda.turn.record import Turn
from oda.turn.rows import (
    StoredTurn,
    columns_of,
    in_session,
    is_key,
    key_of,
    lives,
    next_position,
    rows_of,
    someone_goes_before,
    stored_of,
    unfinished,
    unfinished_in,
    with_last,
)
from oda.turn.submission import IdempotencyKey, TurnInput

_DELETED_AT_ONCE = 100
"""Rows per table and transaction, for whose end other writes wait."""
_SAFE_PART = 0.75
"""Part of a lease in which its holder needs no query to know that it is valid."""


@dataclass(frozen=True)
class Accepted:
    """The outcome of a submission."""

    turn: Turn
    replayed: bool
    """Whether an earlier request with the same key created the turn."""


class TurnStore(TurnReader):
    """Writes turns through the database's journal.

    A running turn is written only by the node that owns it.
    """

    _safe_until = float("-inf")
    """Time of the event loop until which the lease is valid for certain."""

    def __init__(
        self,
        database: Database,
        node_id: str,
        clock: Clock | None = None,
        storage: UserStorage | None = None,
    ) -> None:
        super().__init__(database, node_id)
        self._clock = clock or SystemClock()
        self._storage = storage or UserStorage(database, LimitSettings())

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
            turn: The queued turn.
            given: The message and its options.
            interrupts: Whether it ends the running turn and precedes waiting ones.
            only_if_idle: Whether to refuse it if the session has an unfinished turn.
            start: The same turn as running, if it may start at once; it does unless another node
                has an unfinished turn of the session.
            key: The client's idempotency key.

        Raises:
            IdempotencyConflictError: the key was used with another body.
            SessionBusyError: `only_if_idle`, and the session is busy.
            StorageQuotaError: the message exceeds the user's quota.
        """
        size = _size_of(turn, given)

        def operation(connection: Connection) -> Accepted:
            if key is not None:
                _one_at_a_time(connection, turn.user_id, key.route, key.key)
                known = self.turn_of_key(connection, turn.user_id, key, turn.created_at)
                if known is not None:
                    return Accepted(known, replayed=True)
            _one_at_a_time(connection, *key_of(turn))
            record, stages = turn, [turn]
            if only_if_idle or start is not None:
                busy = connection.scalar(select(exists(unfinished_in(key_of(turn)))))
                if busy and only_if_idle:
                    raise SessionBusyError(
                        "A turn is running in this session.",
                        remedy="wait for it, or queue or interrupt",
                    )
                if start is not None and not busy:
                    record = self._started(start)
                    stages.append(record)
            self._storage.take_within(connection, key_of(turn), size)
            if interrupts:
                connection.execute(
                    update(turns)
                    .where(in_session(key_of(turn)), turns.c.status == "running", unfinished())
                    .values(cancel_requested=True)
                )
            connection.execute(
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
            connection.execute(
                insert(turn_entries),
                rows_of(
                    turn.turn_id, [Entry.of(n, "turn", t) for n, t in enumerate(stages, start=1)]
                ),
            )
            if key is not None:
                connection.execute(
                    delete(idempotency_keys).where(is_key(turn.user_id, key))  # it has expired
                )
                connection.execute(
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

    async def withdraw(self, turn: Turn, given: TurnInput) -> None:
        """Delete a turn whose client got an error, unless another node has it."""
        mine = and_(turns.c.turn_id == turn.turn_id, turns.c.owner == self._node, unfinished())
        size = _size_of(turn, given)

        def operation(connection: Connection) -> None:
            if connection.execute(delete(turns).where(mine)).rowcount:
                self._storage.give_back_within(connection, key_of(turn), size)

        await self._database.journal.run(operation)

    # --- running

    async def claim(self, turn: Turn) -> Turn | None:
        """Start a queued turn, unless another of its session precedes it.

        Returns:
            The started turn, or None.

        Raises:
            CancelRequestedError: the turn is to be cancelled.
            OwnershipLostError: the turn is another node's, or no longer queued.
        """

        def operation(connection: Connection) -> Turn | None:
            _one_at_a_time(connection, *key_of(turn))
            begun = self._started(turn)
            mine = connection.execute(
                update(turns)
                .where(turns.c.turn_id == turn.turn_id, turns.c.owner == self._node)
                .where(turns.c.status == "queued", turns.c.cancel_requested == false())
                .where(~someone_goes_before())
                .values(**columns_of(begun), begun=True)
            )
            if mine.rowcount:
                return begun
            cancel_requested = connection.scalar(
                select(turns.c.cancel_requested).where(
                    turns.c.turn_id == turn.turn_id,
                    turns.c.owner == self._node,
                    turns.c.status == "queued",
                )
            )
            if cancel_requested is None:
                raise OwnershipLostError(f"The turn {turn.turn_id!r} is not queued here any more.")
            if cancel_requested:
                raise CancelRequestedError(f"The turn {turn.turn_id!r} has been cancelled.")
            return None

        return await self._database.journal.run(operation)

    def _started(self, turn: Turn) -> Turn:
        """Return the turn as started now: after the end of the one before, whose lock is held."""
        return turn.model_copy(update={"started_at": turn.started_at or utc(self._clock)})

    # Operations of the journal; a turn's `WriteQueue` runs them.

    def guard(self, turn_id: str, connection: Connection) -> None:
        """Ensure that this node owns a turn until the end of the transaction.

        Raises:
            OwnershipLostError: another node has taken over the turn.
        """
        held = select(turns.c.turn_id).where(*self._mine(turn_id)).with_for_update(read=True)
        if connection.scalar(held) is None:
            raise _runs_elsewhere(turn_id)

    def save(
        self, connection: Connection, *, turn: Turn, entry: Entry, ended_at: datetime | None = None
    ) -> None:
        """Store the record of a turn and its log entry.

        Args:
            ended_at: Time at which the turn became final or began to wait for a person.

        Raises:
            OwnershipLostError: another node has taken over the turn.
        """
        changes = columns_of(turn)
        if ended_at is not None:
            changes |= {"owner": None, "waiting_since": None if turn.final else ended_at}
        saved = update(turns).where(*self._mine(turn.turn_id)).values(changes)
        if not connection.execute(saved).rowcount:
            raise _runs_elsewhere(turn.turn_id)
        self.add_entry(connection, turn_id=turn.turn_id, entry=entry)
        if turn.final:
            _charge(connection, turn)

    def add_entry(self, connection: Connection, *, turn_id: str, entry: Entry) -> None:
        """Store an entry.

        Raises:
            OwnershipLostError: the number is taken.
        """
        try:
            connection.execute(insert(turn_entries), rows_of(turn_id, [entry]))
        except IntegrityError as error:
            raise _runs_elsewhere(turn_id) from error

    def _mine(self, turn_id: str) -> tuple[ColumnElement[bool], ...]:
        return turns.c.turn_id == turn_id, turns.c.owner == self._node

    async def answer(self, turn: Turn, given: TurnInput, *, begun: bool, size: int = 0) -> int:
        """Queue a waiting turn again with an answer, behind the others of its session.

        Args:
            turn: The queued turn.
            given: The answer.
            begun: Whether `given` may be in the session already.
            size: Bytes that the answer adds.

        Returns the number of the last entry, the new record included.

        Raises:
            ConflictError: the turn no longer waits.
            StorageQuotaError: the answer exceeds the user's quota.
        """

        def operation(connection: Connection) -> int:
            _one_at_a_time(connection, *key_of(turn))
            waiting = connection.execute(
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
            if size:
                self._storage.take_within(connection, key_of(turn), size)
            return _append(connection, turn, "turn")

        return await self._database.journal.run(operation, within_s=REQUEST_S)

    async def end_waiting(self, turn: Turn) -> bool:
        """End a waiting turn with the record `turn`; return False if it does not wait."""

        def operation(connection: Connection) -> bool:
            waiting = connection.execute(
                update(turns)
                .where(turns.c.turn_id == turn.turn_id, turns.c.status == "waiting_input")
                .values(**columns_of(turn))
            )
            if waiting.rowcount:
                _append(connection, turn, "done")
                _charge(connection, turn)
            return bool(waiting.rowcount)

        return await self._database.journal.run(operation, within_s=REQUEST_S)

    async def request_cancel(self, turn_id: str) -> None:
        """Ask the node that runs a turn to end it."""

        def operation(connection: Connection) -> None:
            connection.execute(
                update(turns).where(turns.c.turn_id == turn_id).values(cancel_requested=True)
            )

        await self._database.journal.run(operation, within_s=REQUEST_S)

    # --- nodes

    async def renew_lease(self, lease: timedelta) -> bool:
        """Renew the lease of this node for `lease` from now.

        Returns:
            Whether the lease was valid until now.
        """
        began = asyncio.get_running_loop().time()

        def operation(connection: Connection) -> bool:
            expires = {"expires_at": DatabaseTime(lease)}
            mine = nodes.c.node_id == self._node
            renewed = connection.execute(
                update(nodes).where(mine, nodes.c.expires_at > DatabaseTime()).values(**expires)
            )
            if renewed.rowcount:
                return True
            connection.execute(delete(nodes).where(mine))
            connection.execute(insert(nodes).values(node_id=self._node, **expires))
            return False

        lived = await self._database.journal.run(operation)
        self._safe_until = began + _SAFE_PART * lease.total_seconds()
        return lived

    async def hold(self, turn_id: str) -> None:
        """Ensure that this node owns a turn, without a query while its lease is fresh.

        Raises:
            OwnershipLostError: another node has taken over the turn.
        """
        if asyncio.get_running_loop().time() < self._safe_until:
            return
        query = select(turns.c.owner).where(turns.c.turn_id == turn_id)
        owner = await self._database.scalar(query)
        if owner != self._node:
            raise OwnershipLostError(f"The turn {turn_id!r} runs elsewhere.")

    async def adopt(self, turn_id: str) -> StoredTurn | None:
        """Take over a turn; return None if another node was faster or the own lease expired."""

        def operation(connection: Connection) -> StoredTurn | None:
            orphan = or_(turns.c.owner.is_(None), ~lives(turns.c.owner))
            died = and_(turns.c.status == "running", turns.c.owner.is_not(None))
            adopted = connection.execute(
                update(turns)
                .where(turns.c.turn_id == turn_id, unfinished())
                .where(or_(and_(orphan, lives(self._node)), turns.c.owner == self._node))
                .values(owner=self._node, recoveries=turns.c.recoveries + case((died, 1), else_=0))
            )
            if not adopted.rowcount:
                return None
            found = connection.execute(with_last().where(turns.c.turn_id == turn_id))
            return stored_of(found.one())

        return await self._database.journal.run(operation)

    async def release(self) -> None:
        """Release the unfinished turns and the lease of this node."""

        def operation(connection: Connection) -> None:
            connection.execute(
                update(turns).where(turns.c.owner == self._node, unfinished()).values(owner=None)
            )
            connection.execute(delete(nodes).where(nodes.c.node_id == self._node))

        await self._database.journal.run(operation)

    # --- forgetting

    async def forget_session(self, session: SessionKey) -> Sequence[str]:
        """Delete all turns of a session with their data, and return their ids."""

        def operation(connection: Connection) -> Sequence[str]:
            deleted = delete(turns).where(in_session(session)).returning(turns.c.turn_id)
            forgotten = connection.execute(deleted).scalars().all()
            connection.execute(
                delete(tool_calls).where(
                    tool_calls.c.app == session[0],
                    tool_calls.c.user_id == session[1],
                    tool_calls.c.session_id == session[2],
                )
            )
            return forgotten

        return await self._database.journal.run(operation, within_s=REQUEST_S)

    async def forget_old(self, now: datetime, retention: timedelta) -> bool:
        """Delete a batch of rows older than the retention.

        Returns:
            Whether more rows may be left.
        """
        too_old = (
            (turns, turns.c.finished_at, now - retention),
            (idempotency_keys, idempotency_keys.c.created_at, now - IDEMPOTENCY_KEPT),
            (tool_calls, tool_calls.c.started_at, now - retention),
            (nodes, nodes.c.expires_at, DatabaseTime(-retention)),
        )

        def operation(connection: Connection) -> bool:
            more = False
            for table, column, before in too_old:
                key = table.primary_key.columns
                oldest = select(*key).where(column < before).order_by(column)
                some = tuple_(*key).in_(oldest.limit(_DELETED_AT_ONCE))
                deleted = connection.execute(delete(table).where(some))
                more = more or deleted.rowcount == _DELETED_AT_ONCE
            return more

        return await self._database.journal.run(operation)


def _runs_elsewhere(turn_id: str) -> OwnershipLostError:
    return OwnershipLostError(f"The turn {turn_id!r} runs elsewhere.")


def _size_of(turn: Turn, given: TurnInput) -> int:
    return given.size + json_size(turn.metadata)


def _one_at_a_time(connection: Connection, *names: str) -> None:
    """Lock a name against other nodes until the end of the transaction.

    SQLite has one writer at a time anyway.
    """
    if connection.dialect.name == "postgresql":
        name = func.hashtextextended("\n".join(names), 0)
        connection.execute(select(func.pg_advisory_xact_lock(name)))


def _charge(connection: Connection, turn: Turn) -> None:
    """Add the usage of a turn to its user's day, unless it was drawn call by call."""
    is_drawn = (
        select(turns.c.input["is_drawn"].as_boolean())
        .where(turns.c.turn_id == turn.turn_id)
        .scalar_subquery()
    )
    used = {
        "model_calls": turn.usage.model_calls,
        "input_tokens": turn.usage.input_tokens,
        "output_tokens": turn.usage.output_tokens,
        "cost_usd": turn.usage.cost_usd or 0.0,
    }
    amounts = {name: case((is_drawn, 0), else_=amount) for name, amount in used.items()}
    day = day_of(turn.finished_at or turn.created_at)
    add_to_day(connection, turn.user_id, day, {"turns": 1, **amounts})


def _append(connection: Connection, turn: Turn, kind: EntryKind) -> int:
    """Store an entry of a turn that no node runs, and return its number."""
    highest = select(func.coalesce(func.max(turn_entries.c.number), 0))
    last = connection.scalar(highest.where(turn_entries.c.turn_id == turn.turn_id))
    entry = Entry.of((last or 0) + 1, kind, turn)
    connection.execute(insert(turn_entries), rows_of(turn.turn_id, [entry]))
    return entry.number
