"""Taking a session back to before one of its turns."""

from google.adk.artifacts.base_artifact_service import BaseArtifactService
from google.adk.events import Event, EventActions
from google.adk.sessions import (
    Session,
    _rewind_utils,  # private name of ADK 2.13, which puts the artifacts back
)
from google.adk.sessions.base_session_service import BaseSessionService

from oda.errors import TurnNotFoundError
from oda.session.live_history import REWOUND, REWOUND_EVENTS, LiveHistory
from oda.session.past_state import (
    META,
    begin_of,
    difference,
    initial_state,
    state_after,
    turns_after,
)


async def rewind(
    service: BaseSessionService,
    artifacts: BaseArtifactService | None,
    session: Session,
    turn_id: str,
) -> frozenset[str]:
    """Store that `turn_id` and all that followed it do not hold any more; returns their ids.

    The session's own state and artifacts become what they were. `user:` and `app:` state and
    artifacts stay as they are, and so do artifacts that no event speaks of, such as uploads.

    Args:
        session: With all its events that hold.

    Raises:
        TurnNotFoundError: the history has no such turn, or not any more.
        StaleSessionError: something else was stored meanwhile.
    """
    begin = begin_of(turn_id, session.events)
    if begin is None:
        raise TurnNotFoundError(
            f"The history has no turn {turn_id!r}.", remedy="it may have been rewound already"
        )
    kept = session.events[:begin]
    then = state_after(initial_state(session.state, session.events), kept)
    delta = difference(session.state, then)
    removed = {key for key, value in delta.items() if value is None}
    removed_before = (session.state.get(REWOUND) or {}).get("removed", ())
    marker = Event(
        author="user",
        invocation_id=Event.new_id(),
        actions=EventActions(
            rewind_before_invocation_id=turn_id,
            state_delta={
                **delta,
                META: {**(session.state.get(META) or {}), "turns": turns_after(kept)},
                REWOUND: {"removed": sorted(removed.union(removed_before))},
            },
            artifact_delta=await _rewind_utils.compute_artifact_delta_for_rewind(
                session, begin, artifact_service=artifacts, app_name=session.app_name
            ),
        ),
        custom_metadata={REWOUND_EVENTS: await _stored_since(service, session, begin)},
    )
    taken_back = frozenset(event.invocation_id for event in session.events[begin:])
    await service.append_event(session, marker)
    return taken_back


async def _stored_since(service: BaseSessionService, session: Session, begin: int) -> int:
    """How many events are stored from that one on, those rewound before included."""
    since = len(session.events) - begin
    if not isinstance(service, LiveHistory) or REWOUND not in session.state:
        return since
    first = session.events[begin].id
    everything = await service.whole(session)
    return len(everything) - next(n for n, event in enumerate(everything) if event.id == first)
