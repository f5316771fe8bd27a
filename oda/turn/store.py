"""Writes of turns, log entries and idempotency keys."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, case, delete, insert, select, tuple_, update
from sqlalchemy.exc import IntegrityError

from oda.agent.day_budget import add_to_day, day_of
from oda.agent.turn_plugin import SessionKey
from oda.database.journal import REQUEST_S
from oda.database.schema import idempotency_keys, tool_calls, turn_entries, turns
from oda.errors import OwnershipLostError
from oda.turn.admission import TurnAdmission
from oda.turn.log import Entry
from oda.turn.reader import IDEMPOTENCY_KEPT
from oda.turn.record import Turn, TurnStatus
from oda.turn.rows import (
    StoredTurn,
    append_entry,
    columns_of,
    in_session,
    last_of,
    rows_of,
    stored_of,
    turn_of,
    unfinished,
    with_last,
)
from oda.webhooks.notify import Notify

_DELETED_AT_ONCE = 100
"""Rows per table and transaction, for whose end other writes wait."""


@dataclass(frozen=True)
class TakenTurn:
    """A turn that this process may run."""

    stored: StoredTurn
    was_running: bool
    """Whether another run of it was cut off."""


class TurnStore(TurnAdmission):
    """Writes turns; a running one only by its latest run. For arguments see `TurnAdmission`."""

    # --- running

    async def take(self, turn_id: str, *, job_id: int | None = None) -> TakenTurn | None:
        """Begin a run of a turn, and so end the run before it, if any.

        Args:
            job_id: The job that runs it; another one may have taken its place.

        Returns:
            The turn, running, or still queued if it is to be cancelled instead; None if it does not
            have to run.
        """
        query = with_last().where(turns.c.turn_id == turn_id, unfinished())
        query = query.with_for_update(of=turns)
        if job_id is not None:
            query = query.where(turns.c.job_id == job_id)

        def operation(connection: Connection) -> TakenTurn | None:
            row = connection.execute(query).one_or_none()
            if row is None:
                return None
            was_running = row.status == "running"
            # The run before may have added entries until the row was locked.
            before = stored_of(row, last=last_of(connection, turn_id) if was_running else row.last)
            turn, last = before.turn, before.last
            if before.cancel_requested and not was_running:
                return TakenTurn(before, was_running)
            if not was_running:
                turn, last = self._started(turn), last + 1
                entry = Entry.of(last, "turn", turn)
                connection.execute(insert(turn_entries), rows_of(turn_id, [entry]))
            died = was_running and row.runner is not None
            after = replace(
                before,
                turn=turn,
                last=last,
                run=before.run + 1,
                recoveries=before.recoveries + died,
            )
            connection.execute(
                update(turns)
                .where(turns.c.turn_id == turn_id)
                .values(
                    **columns_of(turn),
                    run=after.run,
                    recoveries=after.recoveries,
                    runner=self._runner,
                    message_may_be_stored=True,
                )
            )
            return TakenTurn(after, was_running)

        return await self._database.journal.run(operation)

    async def release(self, turn_id: str, run: int) -> None:
        """Leave a turn to others, who need not count a death."""
        released = update(turns).where(*_is_run(turn_id, run), unfinished()).values(runner=None)
        await self._database.journal.run(lambda connection: connection.execute(released))

    # Operations of the journal; a turn's `WriteQueue` runs them.

    def guard(self, turn_id: str, run: int, connection: Connection) -> bool:
        """Ensure that a run is the latest of its turn until the end of the transaction.

        Returns:
            Whether the turn is to be cancelled.

        Raises:
            OwnershipLostError: there is a later run, or the turn has ended.
        """
        wish = select(turns.c.cancel_requested).where(*_is_run(turn_id, run))
        is_to_end: bool | None = connection.scalar(wish.with_for_update(read=True))
        if is_to_end is None:
            raise _runs_elsewhere(turn_id)
        return is_to_end

    def save(
        self,
        connection: Connection,
        *,
        turn: Turn,
        run: int,
        entry: Entry,
        ended_at: datetime | None = None,
        notify: Sequence[Notify] = (),
    ) -> None:
        """Store the record of a turn and its log entry.

        Args:
            ended_at: Time at which the turn became final or began to wait for a person.
            notify: Who is told of that.

        Raises:
            OwnershipLostError: there is a later run, or the turn has ended.
        """
        changes = columns_of(turn)
        if ended_at is not None:
            changes |= {"runner": None, "waiting_since": None if turn.final else ended_at}
        saved = update(turns).where(*_is_run(turn.turn_id, run)).values(changes)
        if not connection.execute(saved).rowcount:
            raise _runs_elsewhere(turn.turn_id)
        self.add_entry(connection, turn_id=turn.turn_id, entry=entry)
        if ended_at is not None:
            self._tell(connection, turn, notify)
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

    async def hold(self, turn_id: str, run: int) -> None:
        """Ensure that a run is the latest of its turn, for writes to other stores.

        Raises:
            OwnershipLostError: there is a later run, or the turn has ended.
        """
        query = select(turns.c.turn_id).where(*_is_run(turn_id, run))
        if await self._database.scalar(query) is None:
            raise _runs_elsewhere(turn_id)

    # --- turns that do not run

    async def end(self, turn: Turn, *, before: TurnStatus) -> int | None:
        """End a turn that does not run, with the record `turn`.

        Args:
            before: Its status until now.

        Returns:
            The number of its last entry; None if it does not have that status any more.
        """
        idle = (
            turns.c.turn_id == turn.turn_id,
            turns.c.status == before,
            turns.c.attempts == turn.attempts,  # it may have been answered, and ask again
        )
        changes = {**columns_of(turn), "waiting_since": None}

        def operation(connection: Connection) -> int | None:
            ended = update(turns).where(*idle).values(changes).returning(turns.c.job_id)
            row = connection.execute(ended).one_or_none()
            if row is None:
                return None
            if turn.pinned:  # perhaps nobody would run the job, which holds up the session
                self._abort_job(connection, row.job_id, turn.app)
            last = append_entry(connection, turn, "done")
            self._tell(connection, turn, _notified(connection, turn.turn_id))
            _charge(connection, turn)
            return last

        last = await self._database.journal.run(operation, within_s=REQUEST_S)
        self.deliveries.added.set()
        return last

    async def request_cancel(self, turn_id: str) -> None:
        """Ask the process that runs a turn to end it."""
        wish = (
            update(turns)
            .where(turns.c.turn_id == turn_id)
            .values(cancel_requested=True)
            .returning(turns.c.job_id, turns.c.app)
        )
        await self._database.journal.run(
            lambda connection: self._abort(connection, wish), within_s=REQUEST_S
        )

    async def replace_job(self, turn_id: str, job_id: int | None) -> bool:
        """Add a new job for a turn whose job is lost; return False if somebody was faster."""
        lost = select(turns).where(turns.c.turn_id == turn_id, unfinished())
        lost = lost.where(turns.c.job_id == job_id).with_for_update()

        def operation(connection: Connection) -> bool:
            row = connection.execute(lost).one_or_none()
            if row is None or self._jobs is None:
                return False
            new = self._jobs.add(connection, turn_of(row), urgent=row.interrupts, lost=job_id)
            connection.execute(update(turns).where(turns.c.turn_id == turn_id).values(job_id=new))
            return True

        return await self._database.journal.run(operation)

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


def _is_run(turn_id: str, run: int) -> tuple[ColumnElement[bool], ...]:
    return turns.c.turn_id == turn_id, turns.c.run == run, turns.c.status == "running"


def _runs_elsewhere(turn_id: str) -> OwnershipLostError:
    return OwnershipLostError(f"The turn {turn_id!r} runs elsewhere.")


def _notified(connection: Connection, turn_id: str) -> Sequence[Notify]:
    """Return who is told of a turn."""
    query = select(turns.c.input["notify"]).where(turns.c.turn_id == turn_id)
    return [Notify.model_validate(one) for one in connection.scalar(query) or ()]


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
