"""The state of a session at a point of its history. Pure functions over ADK events."""

from collections.abc import Container, Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from google.adk.events import Event

from oda.agent.resume import has_content
from oda.session.state import INTERNAL_PREFIX

INITIAL = "_oda_initial"
"""State key of the session's initial state, which no event carries."""
META = "_oda"
"""State key of ODA's metadata of a session: `{created_at, turns}`."""

_NOT_OF_THE_SESSION = ("user:", "app:", "temp:", INTERNAL_PREFIX)


def own(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the session's own keys: not shared, not internal and not deleted."""
    return {
        key: value
        for key, value in state.items()
        if value is not None and not key.startswith(_NOT_OF_THE_SESSION)
    }


def initial_state(state: Mapping[str, Any], events: Iterable[Event]) -> dict[str, Any]:
    """Return the session's own state at its creation.

    Args:
        state: The state that is stored now.
        events: All live events. A key that none of them changed still has its initial value.
    """
    touched = {key for event in events for key in event.actions.state_delta}
    untouched = {key: value for key, value in own(state).items() if key not in touched}
    return deepcopy({**(state.get(INITIAL) or {}), **untouched})


def state_after(initial: Mapping[str, Any], events: Iterable[Event]) -> dict[str, Any]:
    """Return the session's own state after `events`."""
    state = dict(initial)
    for event in events:
        state.update(event.actions.state_delta)
    return own(state)


def state_of_run(
    initial: Mapping[str, Any], events: Sequence[Event], turn_id: str, told: Container[str]
) -> dict[str, Any]:
    """Return the session's own state when a run of a turn began, its message included.

    Args:
        told: Ids of the turn's events before that run.
    """
    begin = next((n for n, one in enumerate(events) if one.invocation_id == turn_id), len(events))
    state = state_after(initial, events[:begin])
    for event in events[begin:]:
        if event.invocation_id != turn_id:
            continue
        if event.author != "user" and event.id not in told:
            break
        state.update(event.actions.state_delta)
    return own(state)


def shared(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys that sessions share: the user's, and the app's."""
    return {
        key: value
        for key, value in state.items()
        if value is not None and key.startswith(("user:", "app:"))
    }


def events_until(turn_id: str, events: Sequence[Event]) -> Sequence[Event]:
    """Return the events up to the last one of a turn; all if the turn has none."""
    last = _last_index(turn_id, events)
    return events if last is None else events[: last + 1]


def changed_since(turn_id: str, latest: Sequence[Event]) -> bool:
    """Return whether the state may have changed since a turn, judging by the latest events."""
    last = _last_index(turn_id, latest)
    return last is None or any(event.actions.state_delta for event in latest[last + 1 :])


def _last_index(turn_id: str, events: Sequence[Event]) -> int | None:
    of_turn = (n for n, event in enumerate(events) if event.invocation_id == turn_id)
    return max(of_turn, default=None)


def turns_after(events: Iterable[Event]) -> int:
    """Return the number of messages sent up to the last of `events`."""
    turns = 0
    for event in events:
        turns = (event.actions.state_delta.get(META) or {}).get("turns", turns)
    return int(turns)


def difference(now: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state delta from `now` to `wanted`, of the session's own keys; None deletes."""
    current = own(now)
    changed = {key: value for key, value in wanted.items() if current.get(key) != value}
    return {**changed, **{key: None for key in current if key not in wanted}}


def begin_of(turn_id: str, events: Sequence[Event]) -> int | None:
    """Return the index of a turn's first event, or None if there is no such turn.

    Events that only change the state do not make a turn.
    """
    begin: int | None = None
    for index, event in enumerate(events):
        if event.invocation_id == turn_id:
            begin = index if begin is None else begin
            if has_content(event):
                return begin
    return None
