"""Reads the part of a session that a turn needs, through a window that never cuts the turn."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from google.adk.events import Event
from google.adk.runners import Runner
from google.adk.sessions import Session
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig

from oda.agent.resume import events_of

_WINDOW_MARGIN = 16
"""Extra events to load, for seals that are appended after the window was determined."""


@dataclass(frozen=True)
class StoredTurn:
    """A turn of which the session has events."""

    session: Session
    events: Sequence[Event]
    """The turn's events, in order."""
    window: int | None
    """Number of recent events to load to have the whole turn; None for all."""


class History:
    """Reads and appends events of one session."""

    def __init__(
        self,
        service: BaseSessionService,
        key: tuple[str, str, str],
        recent_events: int | None,
    ) -> None:
        self.key = key
        self._service = service
        self.recent_events = recent_events
        """Number of events to load unless a turn needs more; None for all."""

    async def of_turn(self, invocation_id: str) -> StoredTurn | None:
        """Load enough of the session to have the whole turn; None if nothing of it is stored."""
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
        """Prepend the older events that the latest summary does not cover.

        A summary is an event stored by ADK's compaction. If one is made regularly, it is within the
        loaded window, and nothing more is loaded.

        Args:
            session: The session with its most recent events; it is changed.
            window: The number of events that were requested.
        """
        loaded = session.events
        while len(loaded) >= window and not _reach_back_to_summary(loaded):
            window *= 2
            wider = await self.load(window)
            if wider is None:
                return
            loaded[:0] = _events_before(loaded[0], wider.events)

    async def load(self, window: int | None) -> Session | None:
        """Load the session with its `window` most recent events, or all if it is None."""
        app_name, user_id, session_id = self.key
        return await self._service.get_session(
            app_name=app_name,
            user_id=user_id,
            session_id=session_id,
            config=GetSessionConfig(num_recent_events=window) if window else None,
        )

    async def append(self, session: Session, events: Iterable[Event]) -> None:
        """Append events in order."""
        for event in events:
            await self._service.append_event(session, event)


def keeps_one_summary(runner: Runner) -> bool:
    """Return whether ADK's compaction keeps one running summary that covers all older events."""
    config = runner.app and runner.app.events_compaction_config
    return bool(config and config.token_threshold and config.compaction_interval is None)


def piles_up_summaries(runner: Runner) -> bool:
    """Return whether ADK's compaction makes successive summaries, which need all events loaded."""
    config = runner.app and runner.app.events_compaction_config
    return bool(config and config.compaction_interval is not None)


def _events_before(first: Event, events: Iterable[Event]) -> Iterable[Event]:
    return takewhile(lambda event: event.id != first.id, events)


def _reach_back_to_summary(events: Sequence[Event]) -> bool:
    """Return whether `events` include all that the latest summary among them does not cover."""
    for event in reversed(events):
        if (summary := event.actions.compaction) and summary.end_timestamp is not None:
            return events[0].timestamp <= summary.end_timestamp
    return False
