"""Admission of turns: what a session, a user and the queue take on, in which order."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import Connection, Executable, case, delete, func, insert, select, update

from oda.agent.turn_plugin import SessionKey
from oda.clock import Clock, SystemClock, utc
from oda.database.database import Database
from oda.database.journal import REQUEST_S
from oda.database.schema import idempotency_keys, turn_entries, turns
from oda.errors import ConflictError, OverloadedError
from oda.session.lane import OnBusy, busy_error, full_error
from oda.session.user_storage import UserStorage, json_size
from oda.settings import LimitSettings
from oda.turn.log import Entry
from oda.turn.reader import TurnReader
from oda.turn.record import Turn
from oda.turn.rows import (
    append_entry,
    columns_of,
    in_session,
    is_key,
    key_of,
    next_position,
    rows_of,
    unfinished,
    unfinished_in,
)
from oda.turn.submission import IdempotencyKey, TurnInput
from oda.webhooks.deliveries import Deliveries, add_deliveries
from oda.webhooks.notify import Notify, NotifyEvent

_RETRY_AFTER_S = 2.0


class Jobs(Protocol):
    """A queue of jobs in the same database; its operations join the store's transactions."""

    def add(
        self, connection: Connection, turn: Turn, *, urgent: bool, lost: int | None = None
    ) -> int:
        """Add a job that runs a turn, and return its id.

        It starts when the earlier jobs of the turn's session have ended; that of a running turn
        goes before them.

        Args:
            urgent: Whether it goes before the jobs of the session that are not.
            lost: The job whose place it takes.
        """
        ...

    def abort(self, connection: Connection, job_id: int, app: str) -> None:
        """Tell the process that runs a job to end it; any process may end one that waits."""
        ...


@dataclass(frozen=True)
class Accepted:
    """The outcome of a submission."""

    turn: Turn
    replayed: bool
    """Whether an earlier request with the same key created the turn."""


class TurnAdmission(TurnReader):
    """Takes on messages and answers; those of a session one after the other, on all processes.

    Args:
        runner: Name of this process, for operators.
        max_queued: Maximum number of turns that wait in a session.
        jobs: The queue of jobs that run the turns; without it, this process runs them.
        deliveries: What is to be told of turns.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock | None = None,
        storage: UserStorage | None = None,
        *,
        runner: str = "",
        max_queued: int | None = None,
        jobs: Jobs | None = None,
        deliveries: Deliveries | None = None,
    ) -> None:
        super().__init__(database)
        self._clock = clock or SystemClock()
        self.deliveries = deliveries or Deliveries(database, self._clock, runner)
        self._storage = storage or UserStorage(database, LimitSettings())
        self._runner = runner
        self._max_queued = max_queued
        self._jobs = jobs

    async def accept(
        self,
        turn: Turn,
        given: TurnInput,
        *,
        on_busy: OnBusy = "queue",
        starts: bool = False,
        key: IdempotencyKey | None = None,
        turns_at_once: int | None = None,
    ) -> Accepted:
        """Store a new turn behind the others of its session.

        Args:
            turn: The turn; queued, or waiting for a person who must be asked first.
            given: The message and its options.
            on_busy: What to do if the session has an unfinished turn.
            starts: Whether this process runs it at once if the session has none.
            key: The client's idempotency key.
            turns_at_once: Maximum number of the user's unfinished turns.

        Raises:
            IdempotencyConflictError: the key was used with another body.
            SessionBusyError: `on_busy` is `reject`, and the session is busy.
            OverloadedError: too many turns wait in the session, or the user has too many.
            StorageQuotaError: the message exceeds the user's quota.
        """
        size = _size_of(turn, given)

        def operation(connection: Connection) -> Accepted:
            if key is not None:
                _one_at_a_time(connection, turn.user_id, key.route, key.key)
                known = self.turn_of_key(connection, turn.user_id, key, turn.created_at)
                if known is not None:
                    return Accepted(known, replayed=True)
            if turns_at_once is not None:
                _refuse_too_many(connection, turn.user_id, turns_at_once)
            _one_at_a_time(connection, *key_of(turn))
            busy = self._refuse_if_busy(connection, turn, on_busy)
            self._storage.take_within(connection, key_of(turn), size)
            if on_busy == "interrupt":
                self._end_first(connection, key_of(turn))
            starts_now = starts and not busy and turn.status == "queued"
            record = self._started(turn) if starts_now else turn
            self._insert(connection, record, given, urgent=on_busy == "interrupt")
            if key is not None:
                _insert_key(connection, turn, key)
            return Accepted(record, replayed=False)

        accepted = await self._database.journal.run(operation)
        if accepted.turn.ended and given.notify:
            self.deliveries.added.set()
        return accepted

    def _refuse_if_busy(self, connection: Connection, turn: Turn, on_busy: OnBusy) -> bool:
        """Return whether the session has a turn that must run."""
        busy: int = connection.scalar(unfinished_in(key_of(turn))) or 0
        if busy and on_busy == "reject":
            raise busy_error()
        if self._max_queued is not None and busy > self._max_queued:
            raise full_error(busy - 1)
        return bool(busy)

    def _end_first(self, connection: Connection, session: SessionKey) -> None:
        """Cancel the turn of a session that runs, or would run next."""
        first = (
            select(turns.c.turn_id)
            .where(in_session(session), unfinished())
            .order_by(
                case((turns.c.status == "running", 0), else_=1),
                turns.c.interrupts.desc(),
                turns.c.position,
            )
            .limit(1)
        )
        ended = (
            update(turns)
            .where(turns.c.turn_id == first.scalar_subquery())
            .values(cancel_requested=True)
            .returning(turns.c.job_id, turns.c.app)
        )
        self._abort(connection, ended)

    def _abort(self, connection: Connection, wish: Executable) -> None:
        """Store the wish that turns end, and tell those who run them."""
        for job_id, app in connection.execute(wish):
            self._abort_job(connection, job_id, app)

    def _abort_job(self, connection: Connection, job_id: int | None, app: str) -> None:
        if self._jobs is not None and job_id is not None:
            self._jobs.abort(connection, job_id, app)

    def _insert(
        self, connection: Connection, record: Turn, given: TurnInput, *, urgent: bool
    ) -> None:
        """Insert a turn with the log entries up to its status, and its job."""
        queued = record.model_copy(
            update={"status": "queued", "attempts": 0, "started_at": None, "pending_input": []}
        )
        stages = [queued] if record.status == "queued" else [queued, record]
        runs = record.status == "running"
        job_id = None
        if self._jobs is not None and record.status == "queued":
            job_id = self._jobs.add(connection, record, urgent=urgent)
        connection.execute(
            insert(turns).values(
                **columns_of(record),
                turn_id=record.turn_id,
                app=record.app,
                user_id=record.user_id,
                session_id=record.session_id,
                agent=record.agent,
                agent_version=record.agent_version,
                pinned=record.pinned,
                position=next_position(key_of(record)),
                interrupts=urgent,
                metadata=record.metadata,
                trace_id=record.trace_id,
                created_at=record.created_at,
                waiting_since=record.created_at if record.ended else None,
                input=given.stored(),
                message_may_be_stored=runs,
                run=int(runs),
                runner=self._runner if runs else None,
                job_id=job_id,
                recoveries=0,
                cancel_requested=False,
            )
        )
        connection.execute(
            insert(turn_entries),
            rows_of(
                record.turn_id,
                [Entry.of(n, "turn", stage) for n, stage in enumerate(stages, start=1)],
            ),
        )
        self._tell(connection, record, given.notify)

    def _tell(self, connection: Connection, turn: Turn, notified: Sequence[Notify]) -> None:
        """Store what is to be told of a turn that has ended, or waits for a person."""
        if notified and turn.ended:
            event: NotifyEvent = "done" if turn.final else "waiting_input"
            now = utc(self._clock)
            add_deliveries(connection, turn.turn_id, event, notified, turn.model_dump_json(), now)

    async def withdraw(self, turn: Turn, given: TurnInput) -> None:
        """Delete a turn whose client got an error, unless a run of another process has begun."""
        mine = turns.c.runner == self._runner if turn.status == "running" else turns.c.run == 0
        untouched = delete(turns).where(turns.c.turn_id == turn.turn_id, mine, unfinished())
        size = _size_of(turn, given)

        def operation(connection: Connection) -> None:
            if connection.execute(untouched).rowcount:
                self._storage.give_back_within(connection, key_of(turn), size)

        await self._database.journal.run(operation)

    async def answer(
        self, turn: Turn, given: TurnInput, *, message_may_be_stored: bool, size: int = 0
    ) -> int:
        """Queue a waiting turn again with an answer, behind the others of its session.

        Args:
            turn: The queued turn.
            given: The answer.
            message_may_be_stored: Whether the session may hold the message of `given` already.
            size: Bytes that the answer adds.

        Returns the number of the last entry, the new record included.

        Raises:
            ConflictError: the turn no longer waits.
            OverloadedError: too many turns wait in the session.
            StorageQuotaError: the answer exceeds the user's quota.
        """

        def operation(connection: Connection) -> int:
            _one_at_a_time(connection, *key_of(turn))
            self._refuse_if_busy(connection, turn, "queue")
            job_id = self._jobs.add(connection, turn, urgent=False) if self._jobs else None
            waiting = connection.execute(
                update(turns)
                .where(turns.c.turn_id == turn.turn_id, turns.c.status == "waiting_input")
                .values(
                    **columns_of(turn),
                    position=next_position(key_of(turn)),
                    interrupts=False,
                    input=given.stored(),
                    message_may_be_stored=message_may_be_stored,
                    job_id=job_id,
                )
            )
            if not waiting.rowcount:
                raise ConflictError(
                    f"The turn {turn.turn_id!r} does not wait for input.",
                    remedy="it may have been answered already",
                )
            if size:
                self._storage.take_within(connection, key_of(turn), size)
            return append_entry(connection, turn, "turn")

        return await self._database.journal.run(operation, within_s=REQUEST_S)

    def _started(self, turn: Turn) -> Turn:
        """Return a queued turn as running from now on: after the end of the one before."""
        return turn.model_copy(
            update={
                "status": "running",
                "attempts": turn.attempts + 1,
                "started_at": turn.started_at or utc(self._clock),
            }
        )


def _refuse_too_many(connection: Connection, user_id: str, limit: int) -> None:
    _one_at_a_time(connection, "turns of", user_id)
    mine = select(func.count()).select_from(turns).where(turns.c.user_id == user_id, unfinished())
    if (has := connection.scalar(mine) or 0) >= limit:
        raise OverloadedError(
            f"You have {has} turns that are not finished.",
            retry_after_s=_RETRY_AFTER_S,
            remedy="wait for one of them",
        )


def _insert_key(connection: Connection, turn: Turn, key: IdempotencyKey) -> None:
    connection.execute(delete(idempotency_keys).where(is_key(turn.user_id, key)))  # it has expired
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


def _size_of(turn: Turn, given: TurnInput) -> int:
    return given.size + json_size(turn.metadata)


def _one_at_a_time(connection: Connection, *names: str) -> None:
    """Lock a name against other processes until the end of the transaction.

    SQLite has one writer at a time anyway.
    """
    if connection.dialect.name == "postgresql":
        name = func.hashtextextended("\n".join(names), 0)
        connection.execute(select(func.pg_advisory_xact_lock(name)))
