"""The part of a session that a turn needs: read through a window that never cuts the turn."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from google.adk.events import Event
from google.adk.runners import Runner
from google.adk.sessions import Session
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig

from oda.agent.resume import events_of

_WINDOW_MARGIN = 16
"""Room for the seals that are appended after the window was measured."""


@dataclass(frozen=True)
class StoredTurn:
    """A turn that the session holds something of."""

    session: Session
    events: Sequence[Event]
    """Those of the turn, in order."""
    window: int | None
    """How many recent events must be loaded to have all of the turn; None for all."""


class History:
    """Reads and seals one session."""

    def __init__(
        self,
        service: BaseSessionService,
        key: tuple[str, str, str],
        recent_events: int | None,
    ) -> None:
        self.key = key
        self._service = service
        self.recent_events = recent_events
        """How many to load when no turn needs more; None for all."""

    async def of_turn(self, invocation_id: str) -> StoredTurn | None:
        """Load enough of the session to hold all of the turn; None when nothing of it is stored."""
        window = self.recent_events
        while True:
            session = await self.load(window)
            if session is None:
                return None
            events = session.events
            turn = events_of(events, invocation_id)
            if window is None or len(events) < window:
                return StoredTurn(session, turn, window) if turn else None
            if turn and turn[0] is not events[0]:
                needed = len(events) - events.index(turn[0]) + _WINDOW_MARGIN
                return StoredTurn(session, turn, max(window, needed))
            window *= 2

    async def complete(self, session: Session, window: int) -> None:
        """Put before the `window` loaded events the older ones that the latest summary leaves out.

        A summary is an event that ADK's compaction has stored. Where it is made regularly, it lies
        inside of the window, and nothing more is loaded.
        """
        loaded = session.events
        while len(loaded) >= window and not _reach_back_to_summary(loaded):
            window *= 2
            wider = await self.load(window)
            if wider is None:
                return
            loaded[:0] = _before(loaded[0], wider.events)

    async def load(self, window: int | None) -> Session | None:
        """The session with its `window` most recent events, or all of them."""
        app_name, user_id, session_id = self.key
        return await self._service.get_session(
            app_name=app_name,
            user_id=user_id,
            session_id=session_id,
            config=GetSessionConfig(num_recent_events=window) if window else None,
        )

    async def append(self, session: Session, events: Iterable[Event]) -> None:
        """Store events in order."""
        for event in events:
            await self._service.append_event(session, event)


def keeps_one_summary(runner: Runner) -> bool:
    """Whether ADK's compaction makes one running summary, which tells all that is older than it."""
    config = runner.app and runner.app.events_compaction_config
    return bool(config and config.token_threshold and config.compaction_interval is None)


def piles_up_summaries(runner: Runner) -> bool:
    """Whether ADK's compaction makes one summary after the other, for which all must be loaded."""
    config = runner.app and runner.app.events_compaction_config
    return bool(config and config.compaction_interval is not None)


def _before(first: Event, events: Iterable[Event]) -> Iterable[Event]:
    return takewhile(lambda event: event.id != first.id, events)


def _reach_back_to_summary(events: Sequence[Event]) -> bool:
    """Whether the events that follow on what a summary tells begin inside of a window."""
    for event in reversed(events):
        if (summary := event.actions.compaction) and summary.end_timestamp is not None:
            return events[0].timestamp <= summary.end_timestamp
    return False
