"""Forks and rewinds: a session up to one of its turns, as a new session or as itself."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from google.adk.artifacts.base_artifact_service import BaseArtifactService
from google.adk.events import Event, EventActions
from google.adk.sessions import (
    Session,
    _rewind_utils,  # private in ADK 2.13; restores artifacts
)
from google.adk.sessions.base_session_service import BaseSessionService

from oda.agent.manager import Services
from oda.agent.outcome import outcome_of
from oda.errors import ConflictError, TurnNotFoundError
from oda.session.artifacts import SessionArtifacts, references
from oda.session.live_history import REWOUND, REWOUND_EVENTS, LiveHistory
from oda.session.past_state import (
    INITIAL,
    META,
    begin_of,
    difference,
    initial_state,
    own,
    state_after,
    turns_after,
)
from oda.session.user_storage import UserStorage, json_size


def waiting_turns(events: Sequence[Event]) -> frozenset[str]:
    """Return the ids of the turns that wait for a person's answer."""
    turns: dict[str, list[Event]] = {}
    for event in events:
        turns.setdefault(event.invocation_id, []).append(event)
    return frozenset(turn for turn, its in turns.items() if outcome_of(its).pending_input)


def select(
    events: Sequence[Event], *, until: str | None, unfinished: Collection[str]
) -> list[Event]:
    """Return the events that a fork copies.

    These are the events of all finished turns and state changes that began no later than the turn
    `until`.

    Args:
        events: The session's live events.
        until: Id of the last turn to copy; None for all turns.
        unfinished: Ids of turns that have not ended.

    Raises:
        TurnNotFoundError: the history has no turn `until`.
        ConflictError: the turn `until` has not ended.
    """
    begun: dict[str, int] = {}
    for event in events:
        begun.setdefault(event.invocation_id, len(begun))
    last = len(begun)
    if until is not None:
        if begin_of(until, events) is None:
            raise TurnNotFoundError(f"The history has no turn {until!r}.")
        if until in unfinished:
            raise ConflictError(
                f"The turn {until!r} has not ended.", remedy="wait for its end, or answer it"
            )
        last = begun[until]
    return [
        event
        for event in events
        if begun[event.invocation_id] <= last and event.invocation_id not in unfinished
    ]


async def fork(
    services: Services,
    storage: UserStorage,
    source: Session,
    events: Sequence[Event],
    *,
    session_id: str,
    until: float | None,
    now: float,
) -> Session:
    """Store a new session of the same user with `events` and the resulting state and artifacts.

    `user:` and `app:` state and artifacts are shared, not copied. On failure, the new session is
    removed again.

    Args:
        source: The session with all its live events.
        events: The events to copy, see `select`.
        session_id: Id of the new session.
        until: Epoch seconds at which to take the versions of artifacts; None for the newest.
        now: Epoch seconds.

    Raises:
        AlreadyExistsError: the id is taken.
        StorageQuotaError: the fork exceeds the user's quota.
    """
    created_at = {"created_at": now}
    initial = initial_state(source.state, source.events)
    key = (source.app_name, source.user_id, session_id)
    named = {"app_name": source.app_name, "user_id": source.user_id}
    created = await services.session.create_session(
        **named,
        session_id=session_id,
        state={**initial, INITIAL: initial, META: {**created_at, "turns": 0}},
    )
    artifacts = SessionArtifacts(services.uploads, key)
    original = SessionArtifacts(services.uploads, (source.app_name, source.user_id, source.id))
    try:
        await storage.take(key, await asyncio.to_thread(_size_of, events))
        versions = await original.copy_to(
            artifacts,
            until=until,
            spoken_of=references([event.actions.artifact_delta for event in events]),
        )
        turns = 0
        for event in events:
            sent = META in event.actions.state_delta
            turns += sent
            meta = {META: {**created_at, "turns": turns}} if sent else {}
            await services.session.append_event(created, _copy_event(event, meta, versions))
        await services.session.append_event(
            created, _completion_event({**created_at, "turns": turns})
        )
    except BaseException:
        await artifacts.delete_all()
        await services.session.delete_session(**named, session_id=session_id)
        raise
    return created


def _size_of(events: Sequence[Event]) -> int:
    return sum(json_size(event.model_dump(mode="json", exclude_none=True)) for event in events)


def _copy_event(
    event: Event, meta: Mapping[str, Any], versions: Mapping[tuple[str, int], int]
) -> Event:
    delta = event.actions.state_delta
    kept = own(dict.fromkeys(delta, True))
    changed = {key: value for key, value in delta.items() if key in kept}
    artifacts = {
        name: version if name.startswith("user:") else versions[name, version]
        for name, version in event.actions.artifact_delta.items()
        if name.startswith("user:") or (name, version) in versions
    }
    actions = event.actions.model_copy(
        update={"state_delta": {**changed, **meta}, "artifact_delta": artifacts}
    )
    return event.model_copy(update={"actions": actions})


def _completion_event(meta: Mapping[str, Any]) -> Event:
    """Return the event that completes a fork; its timestamp makes the fork the newest session."""
    return Event(
        author="user",
        invocation_id=Event.new_id(),
        actions=EventActions(state_delta={META: dict(meta)}),
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
