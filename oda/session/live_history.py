"""The history of a session as it holds now: what has been rewound is left out."""

import uuid
from collections.abc import Sequence
from typing import Any

from google.adk.events import Event
from google.adk.sessions import Session
from google.adk.sessions.base_session_service import GetSessionConfig

from oda.session.fence import current_fence
from oda.session.passing_on import PassingOn

_MESSAGES = uuid.UUID("6f6461a0-0000-5000-8000-6d6573736167")

REWOUND = "_oda_rewound"
"""State key that is there once something has been rewound: `{removed: [key, …]}`."""
REWOUND_EVENTS = "oda_rewound_events"
"""Key in a marker's `custom_metadata`: how many events right before it were rewound."""


def live_events(events: Sequence[Event]) -> list[Event]:
    """The events that hold, in order: without the rewound ones and the markers that say so.

    `events` may be a window of the most recent ones. A turn that began before the window was
    rewound with all that stands in front of its marker.
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
    """The same for the same message of a turn, so that no database takes it a second time."""
    answered = sorted(response.id or "" for response in event.get_function_responses())
    name = "\n".join([event.invocation_id, event.node_info.path, *answered])
    return str(uuid.uuid5(_MESSAGES, name))


def _drop_removed(state: dict[str, Any]) -> None:
    """A key that a rewind has removed is stored as None; agents shall find it missing."""
    for key in state[REWOUND]["removed"]:
        if state.get(key) is None:
            state.pop(key, None)


class LiveHistory(PassingOn):
    """A session service through which nobody sees what has been rewound, or says anything twice.

    ADK leaves rewound events out only if the rewound turn's first event is loaded. Here a window of
    recent events is one of events that hold. A session that was never rewound costs no more.
    """

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
        """All that is stored, with what has been rewound; empty when the session is gone."""
        stored = await super().get_session(
            app_name=session.app_name, user_id=session.user_id, session_id=session.id
        )
        return stored.events if stored else []

    async def append_event(self, session: Session, event: Event) -> Event:
        """Store an event; in a live conversation, which is no turn, a user says many things.

        Raises:
            OwnershipLostError: the turn that it belongs to runs on another node by now.
        """
        if fence := current_fence.get():
            await fence()
            if event.author == "user" and event.content is not None:
                event.id = _id_of_message(event)
        return await super().append_event(session, event)
