"""The live history of a session, which leaves out rewound events."""

import uuid
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Any

from google.adk.events import Event
from google.adk.sessions import Session
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig

from oda.session.passing_on import PassingOn

_MESSAGES = uuid.UUID("6f6461a0-0000-5000-8000-6d6573736167")

REWOUND = "_oda_rewound"
"""State key of a session with rewound events: `{removed: [state key, …]}`."""
REWOUND_EVENTS = "oda_rewound_events"
"""Key in a rewind marker's `custom_metadata`: number of rewound events right before it."""


def live_events(events: Sequence[Event]) -> list[Event]:
    """Return the live events in order, without rewound events and rewind markers.

    `events` may be a window of the most recent ones. If a rewound turn began before the window, all
    events up to its marker are left out.
    """
    begins: dict[str, int] = {}
    for index, event in enumerate(events):
        begins.setdefault(event.invocation_id, index)
    live: list[Event] = []
    index = len(events) - 1
    while index >= 0:
        event = events[index]
        if turn := event.actions.rewind_before_invocation_id:
            counted = (event.custom_metadata or {}).get(REWOUND_EVENTS, 0)
            index = min(begins.get(turn, 0), index - counted)
        else:
            live.append(event)
        index -= 1
    return live[::-1]


def _id_of_message(event: Event) -> str:
    """Return an id derived from a turn's message, so that a store refuses to add it twice."""
    answered = sorted(response.id or "" for response in event.get_function_responses())
    name = "\n".join([event.invocation_id, event.node_info.path, *answered])
    return str(uuid.uuid5(_MESSAGES, name))


def _drop_removed(state: dict[str, Any]) -> None:
    """Remove the state keys that a rewind removed; they are stored as None."""
    for key in state[REWOUND]["removed"]:
        if state.get(key) is None:
            state.pop(key, None)


class LiveHistory(PassingOn):
    """Session service wrapper that hides rewound events and stores a turn's message only once.

    ADK leaves out rewound events only if the rewound turn's first event is loaded. Here a window of
    recent events counts live events only. Sessions without a rewind have no extra cost.

    Args:
        behind: The service.
        fenced: Whether each event of a turn waits for the turn's fence; not where the service
            stores it in a transaction of the turn, which makes sure of the run itself.
    """

    def __init__(self, behind: BaseSessionService, *, fenced: bool = True) -> None:
        super().__init__(behind)
        self._fenced = fenced

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        wanted = window = config.num_recent_events if config else None
        while True:
            session = await super().get_session(
                app_name=app_name,
                user_id=user_id,
                session_id=session_id,
                config=config and config.model_copy(update={"num_recent_events": window}),
            )
            if session is None or REWOUND not in session.state:
                return session
            _drop_removed(session.state)
            live = live_events(session.events)
            if not wanted or not window:
                session.events = live
                return session
            if len(session.events) < window or len(live) >= wanted:
                session.events = live[-wanted:]
                return session
            window *= 2

    async def whole(self, session: Session) -> list[Event]:
        """Return all stored events, rewound ones included; empty if the session was deleted."""
        stored = await super().get_session(
            app_name=session.app_name, user_id=session.user_id, session_id=session.id
        )
        return stored.events if stored else []

    async def append_event(self, session: Session, event: Event) -> Event:
        """Store an event.

        Raises:
            OwnershipLostError: another node has taken over the event's turn.
        """
        # Without a fence this is a live conversation, where a user may say the same thing twice.
        if fence := current_fence.get():
            if self._fenced:
                await fence()
            if event.author == "user" and event.content is not None:
                event.id = _id_of_message(event)
        return await super().append_event(session, event)


Fence = Callable[[], Awaitable[None]]
"""Raises `OwnershipLostError` if another node has taken over the turn."""

current_fence: ContextVar[Fence | None] = ContextVar("oda_session_fence", default=None)
"""Fence to await before the running task and its children append an event to a session."""
