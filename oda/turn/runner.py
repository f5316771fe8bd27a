"""The turns that run in this process: each begins here, and goes on where a run was cut off."""

from contextlib import nullcontext, suppress
from dataclasses import dataclass, field

from google.adk.events import Event

from oda.agent.day_budget import DayBudgets
from oda.agent.resume import text_of
from oda.clock import Clock, utc
from oda.database.journal import Journal
from oda.errors import CrashLoopError, OwnershipLostError, SessionNotFoundError
from oda.session.lane import Place
from oda.session.manager import OdaSessionManager
from oda.settings import TurnSettings
from oda.telemetry import bound_trace_id, get_logger
from oda.turn.live import LiveTurn
from oda.turn.log import Entry, TurnLog
from oda.turn.record import Turn, TurnError, TurnStatus
from oda.turn.rows import StoredTurn, key_of
from oda.turn.run import RunContext, TurnRun, broken, end, once_stored
from oda.turn.store import TakenTurn, TurnStore

lines = get_logger(__name__)


@dataclass
class _Recorded:
    """The log of earlier runs of a turn."""

    seen: set[str] = field(default_factory=set)
    """Ids of all complete events."""
    events: list[Event] = field(default_factory=list)
    """Events since the turn last waited for a person."""
    partial: bool = False
    """Whether the last entry is partial text."""


class TurnRunner:
    """Runs turns that this process has taken.

    Args:
        journal: Journal of the store's database.
        days: Daily budgets of the users.
        sessions: Sessions of this process.
    """

    def __init__(
        self,
        store: TurnStore,
        journal: Journal,
        days: DayBudgets,
        sessions: OdaSessionManager,
        settings: TurnSettings,
        clock: Clock,
    ) -> None:
        self.process = RunContext(store, days, settings, clock)
        self.runs: dict[str, TurnRun] = {}
        self._store = store
        self._journal = journal
        self._sessions = sessions
        self._max_recoveries = settings.max_recoveries
        self._clock = clock

    def log_of(self, turn_id: str) -> TurnLog | None:
        """Return the log of a turn that runs here."""
        run = self.runs.get(turn_id)
        return run.live.log if run else None

    async def run(
        self, taken: TakenTurn, *, place: Place | None = None, log: TurnLog | None = None
    ) -> None:
        """Run a turn to its end, or until another process has begun a later run.

        Args:
            place: The place in its session's lane, entered; by default it takes one.
            log: Its log in memory up to the last stored entry; by default a new one.
        """
        trace_id = taken.stored.turn.trace_id
        with bound_trace_id(trace_id) if trace_id else nullcontext():
            await self._run(taken, place, log or TurnLog(taken.stored.last))

    async def _run(self, taken: TakenTurn, place: Place | None, log: TurnLog) -> None:
        stored, turn = taken.stored, taken.stored.turn
        if turn.status == "queued":  # it was cancelled before it began
            if last := await self.end_idle(turn, "cancelled"):
                log.publish([last], ended=True)
            return
        if log.last < stored.last:  # it was queued in this process, and has begun
            log.publish([Entry.of(stored.last, "turn", turn)])
        has_history = stored.last > len(("queued", "running"))
        recorded = _Recorded()
        try:
            if has_history:
                recorded = await once_stored(self._clock, self._recorded, turn.turn_id)
            session = await once_stored(self._clock, self._sessions.get, *key_of(turn))
        except Exception as error:
            live = self._live(stored, log, recorded)
            await end(live, broken(turn, error, self._clock), self._clock)
            self.process.observer.ended(live.turn)
            return
        live = self._live(stored, log, recorded)
        run = TurnRun(live, session, stored, recorded.events, self.process)
        self.runs[turn.turn_id] = run
        try:
            async with nullcontext(place) if place else session.reserve_again() as entered:
                refused: Exception | None = self._crash_loop(stored)
                if taken.was_running:
                    refused = await self._catch_up(run, recorded) or refused
                self.process.observer.started(turn)
                await run.carry_out(entered, refused=refused)
            if taken.was_running and run.turn.status == "cancelled":
                await session.withdraw(turn.turn_id)
        except OwnershipLostError as error:
            lines.warning("turn_lost", turn_id=turn.turn_id, reason=error.message)
        finally:
            if self.runs.get(turn.turn_id) is run:
                del self.runs[turn.turn_id]
            if not log.ended:
                live.abandon()
                self.process.observer.left(turn)

    def _live(self, stored: StoredTurn, log: TurnLog, recorded: _Recorded) -> LiveTurn:
        return LiveTurn(stored, log, self._store, self._journal, self._clock, seen=recorded.seen)

    async def _catch_up(self, run: TurnRun, recorded: _Recorded) -> Exception | None:
        """Log what the session holds of a run that was cut off, and the log lacks.

        Returns:
            Why the session cannot be read; raised, it would have the run repeated for ever.
        """
        lines.warning("turn_taken_over", turn_id=run.turn.turn_id)
        self.process.observer.recovered(run.turn)
        try:
            events = await once_stored(self._clock, run.session.events_of_turn, run.turn.turn_id)
        except Exception as error:
            return error
        run.catch_up(events, discard_partial=recorded.partial)
        return None

    async def _recorded(self, turn_id: str) -> _Recorded:
        recorded = _Recorded()
        for entry in await self._store.entries(turn_id, 0):
            if isinstance(entry.data, Turn):
                if entry.data.status == "waiting_input":
                    recorded.events.clear()
                continue
            recorded.partial = bool(entry.data.partial and text_of(entry.data))
            if not entry.data.partial:
                recorded.seen.add(entry.data.id)
                recorded.events.append(entry.data)
        return recorded

    def _crash_loop(self, stored: StoredTurn) -> CrashLoopError | None:
        if stored.recoveries <= self._max_recoveries:
            return None
        return CrashLoopError(
            f"The process died {stored.recoveries} times while this turn was running."
        )

    async def end_idle(
        self, turn: Turn, status: TurnStatus, error: TurnError | None = None
    ) -> Entry | None:
        """End a turn that waits, for its start or for a person, and withdraw its questions.

        Returns:
            The last entry of its log; None if it does not wait any more.
        """
        ended = turn.model_copy(
            update={
                "status": status,
                "error": error,
                "pending_input": [],
                "finished_at": utc(self._clock),
            }
        )
        last = await self._store.end(ended, before=turn.status)
        if last is None:
            return None
        self.process.observer.ended(ended)
        if turn.status == "waiting_input":
            with suppress(SessionNotFoundError):
                session = await self._sessions.get(turn.app, turn.user_id, turn.session_id)
                await session.withdraw(turn.turn_id)
        return Entry.of(last, "done", ended)
