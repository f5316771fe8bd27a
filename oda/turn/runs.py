"""The turns that run in this process."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from google.adk.events import Event

from oda.agent.day_budget import DayBudgets
from oda.agent.outcome import OpenQuestion
from oda.agent.resume import text_of
from oda.clock import Clock, utc
from oda.database.database import Database
from oda.errors import OdaError, SessionNotFoundError
from oda.session.lane import Place
from oda.session.manager import OdaSessionManager
from oda.session.oda_session import OdaSession
from oda.settings import Settings
from oda.turn.live import LiveTurn
from oda.turn.observer import TurnObserver, Unobserved
from oda.turn.record import Turn, TurnError, TurnStatus
from oda.turn.run import TurnRun
from oda.turn.store import TurnStore
from oda.turn.submission import TurnInput


@dataclass
class Recorded:
    """The log of earlier runs of a turn."""

    seen: set[str] = field(default_factory=set)
    """Ids of all complete events."""
    events: list[Event] = field(default_factory=list)
    """Events since the turn last waited for a person."""
    partial: bool = False
    """Whether the last entry is partial text."""


class Runs:
    """The runs of this node, and how they are made."""

    def __init__(
        self,
        database: Database,
        store: TurnStore,
        days: DayBudgets,
        sessions: OdaSessionManager,
        settings: Settings,
        clock: Clock,
    ) -> None:
        self.store = store
        self.days = days
        self.sessions = sessions
        self.settings = settings
        self.clock = clock
        self.observer: TurnObserver = Unobserved()
        self._journal = database.journal
        self._runs: dict[str, TurnRun] = {}
        self._arriving: set[str] = set()

    def get(self, turn_id: str) -> TurnRun | None:
        return self._runs.get(turn_id)

    def live(self, turn_id: str) -> LiveTurn | None:
        run = self._runs.get(turn_id)
        return run.live if run else None

    def has(self, turn_id: str) -> bool:
        """Return whether a turn runs here, or is about to."""
        return turn_id in self._runs or turn_id in self._arriving

    @property
    def tasks(self) -> set["asyncio.Task[None]"]:
        return {run.task for run in self._runs.values() if run.task}

    def unfinished_of(self, user_id: str) -> int:
        """Return the number of a user's turns that run or wait here."""
        return sum(
            run.turn.user_id == user_id and not run.live.log.ended for run in self._runs.values()
        )

    @contextmanager
    def arriving(self, turn_id: str) -> Iterator[None]:
        """Protect a turn from take-over between storing it and starting its run."""
        self._arriving.add(turn_id)
        try:
            yield
        finally:
            self._arriving.discard(turn_id)

    def make(
        self,
        session: OdaSession,
        turn: Turn,
        given: TurnInput,
        recorded: Recorded | None = None,
        *,
        last: int = 0,
        begun: bool = False,
        claimed: bool = False,
        first_question: OpenQuestion | None = None,
        refused: OdaError | None = None,
    ) -> TurnRun:
        """Return a run of a turn whose log has entries up to `last`; see `TurnRun`."""
        recorded = recorded or Recorded()
        return TurnRun(
            self.live_turn(turn, last, recorded),
            session,
            given,
            self.store,
            self.days,
            self.clock,
            self.observer,
            begun=begun,
            claimed=claimed,
            first_question=first_question,
            events=recorded.events,
            on_limit=self.settings.turn.on_limit,
            refused=refused,
        )

    def live_turn(self, turn: Turn, last: int, recorded: Recorded | None = None) -> LiveTurn:
        seen = recorded.seen if recorded else ()
        return LiveTurn(turn, self.store, self._journal, self.clock, last=last, seen=seen)

    def start(self, run: TurnRun, place: Place) -> None:
        turn_id = run.turn.turn_id
        self._runs[turn_id] = run

        def forget(_: "asyncio.Task[None]") -> None:
            if self._runs.get(turn_id) is run:
                del self._runs[turn_id]

        run.start(place).add_done_callback(forget)

    async def recorded(self, turn_id: str) -> Recorded:
        """Read the log of a turn."""
        recorded = Recorded()
        for entry in await self.store.entries(turn_id, 0):
            if isinstance(entry.data, Turn):
                if entry.data.status == "waiting_input":
                    recorded.events.clear()
                continue
            recorded.partial = bool(entry.data.partial and text_of(entry.data))
            if not entry.data.partial:
                recorded.seen.add(entry.data.id)
                recorded.events.append(entry.data)
        return recorded

    async def end_waiting(
        self, turn: Turn, status: TurnStatus, error: TurnError | None = None
    ) -> bool:
        """End a waiting turn and withdraw its questions; return False if it does not wait."""
        ended = turn.model_copy(
            update={
                "status": status,
                "error": error,
                "pending_input": [],
                "finished_at": utc(self.clock),
            }
        )
        if not await self.store.end_waiting(ended):
            return False
        self.observer.ended(ended)
        with suppress(SessionNotFoundError):
            session = await self.sessions.get(turn.app, turn.user_id, turn.session_id)
            await session.withdraw(turn.turn_id)
        return True
