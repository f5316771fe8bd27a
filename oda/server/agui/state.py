"""A session's state as AG-UI clients see it, and its changes as JSON Patch (RFC 6902)."""

from collections.abc import Mapping
from typing import Any

from ag_ui.core.events import StateDeltaEvent

from oda.session.state import is_visible


def changes_of(state: Mapping[str, Any], sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a client has changed in the state that it sends back with each run.

    A key that it leaves out stays; null removes one.
    """
    return {key: value for key, value in sent.items() if not same(state.get(key), value)}


def patch_event(state: dict[str, Any], delta: Mapping[str, Any]) -> StateDeltaEvent | None:
    """Apply a delta to `state`, and return the event that tells of it; None if nothing changes."""
    operations: list[dict[str, Any]] = []
    for key, value in delta.items():
        if not is_visible(key) or same(state.get(key), value):
            continue
        path = "/" + key.replace("~", "~0").replace("/", "~1")
        if value is None:
            del state[key]
            operations.append({"op": "remove", "path": path})
        else:
            operations.append(
                {"op": "replace" if key in state else "add", "path": path, "value": value}
            )
            state[key] = value
    return StateDeltaEvent.model_validate({"delta": operations}) if operations else None


def same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are the same; unlike in Python, 1 is not true."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)
