"""Rewinding a session to before one of its turns."""

from google.adk.artifacts.base_artifact_service import BaseArtifactService
from google.adk.events import Event, EventActions
from google.adk.sessions import (
    Session,
    _rewind_utils,  # private in ADK 2.13; restores artifacts
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
    """Store a marker that rewinds a turn and all later ones; return their ids.

    The session's own state and artifacts are restored. `user:` and `app:` state and artifacts are
    not affected, and neither are artifacts that no event mentions, such as uploads.

    Args:
        service: The session service to store the marker in.
        artifacts: The artifact service of the session, if any.
        session: The session with all its live events.
        turn_id: The first turn to rewind.

    Raises:
        TurnNotFoundError: the history has no such turn, or it is already rewound.
        StaleSessionError: the session has changed since it was read.
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
        custom_metadata={REWOUND_EVENTS: await _count_stored(service, session, begin)},
    )
    taken_back = frozenset(event.invocation_id for event in session.events[begin:])
    await service.append_event(session, marker)
    return taken_back


async def _count_stored(service: BaseSessionService, session: Session, begin: int) -> int:
    """Return the number of stored events from index `begin` on, including rewound ones."""
    since = len(session.events) - begin
    if not isinstance(service, LiveHistory) or REWOUND not in session.state:
        return since
    first = session.events[begin].id
    everything = await service.whole(session)
    return len(everything) - next(n for n, event in enumerate(everything) if event.id == first)
