"""Session state as a mapping whose changes are stored as ADK events."""

from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping
from copy import deepcopy
from typing import Any

from oda.errors import InvalidRequestError
from oda.message.storable import storable

INTERNAL_PREFIX = "_oda"
"""Prefix of ODA's own keys, which callers can neither see nor write."""

_READ_ONLY = (INTERNAL_PREFIX, "_adk", "temp:")
_NOT_FOR_CLIENTS = (*_READ_ONLY, "user:", "app:")


def is_visible(key: str) -> bool:
    """Return whether callers may see a key."""
    return not key.startswith(_READ_ONLY)


def visible(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a stored state that callers may see; a None value means deleted."""
    return {key: value for key, value in state.items() if value is not None and is_visible(key)}


def refuse_client_keys(state_delta: Mapping[str, Any]) -> None:
    """Reject keys that clients may not write: shared ones, ADK's and ODA's own.

    Raises:
        InvalidRequestError: a key is reserved; the message names it.
    """
    for key in state_delta:
        if key.startswith(_NOT_FOR_CLIENTS):
            raise InvalidRequestError(
                f"The state key {key!r} is reserved.",
                remedy="clients write keys of the session only, without a prefix",
            )


def writable(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values in the form in which they are stored.

    Raises:
        ValueError: a key is reserved, or a value cannot be stored.
    """
    for key in values:
        if not is_visible(key):
            raise ValueError(f"the state key {key!r} is reserved")
    stored: dict[str, Any] = storable(dict(values))
    return stored


class Change:
    """A change of the state, visible at once. Await it to store it now.

    Otherwise it is stored with the session's next turn.
    """

    def __init__(self, commit: Callable[[], Awaitable[None]]) -> None:
        self._commit = commit

    def __await__(self) -> Generator[Any, None, None]:
        return self._commit().__await__()


class SessionState(Mapping[str, Any]):
    """Mapping of the state after the last turn, with the pending changes made here.

    ADK's prefixes apply: `user:` keys are shared by the user's sessions, `app:` keys by all users.
    """

    def __init__(self, stored: Mapping[str, Any], commit: Callable[[], Awaitable[None]]) -> None:
        self._stored = dict(stored)
        self._changes: dict[str, Any] = {}
        self._commit = commit
        self.revision = 0
        """Incremented whenever a change is stored through this object."""

    def __getitem__(self, key: str) -> Any:
        value = self._changes[key] if key in self._changes else self._stored.get(key)
        if value is None or not is_visible(key):
            raise KeyError(key)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._visible())

    def __len__(self) -> int:
        return len(self._visible())

    def has(self, key: str) -> bool:
        return key in self

    def set(self, key: str, value: Any) -> Change:
        """Set a key to a JSON value.

        Raises:
            ValueError: the key is reserved.
        """
        return self.update({key: value})

    def delete(self, key: str) -> Change:
        """Remove a key, if present."""
        return self.update({key: None})

    def update(self, values: Mapping[str, Any]) -> Change:
        """Set several keys; None removes a key. Values that are not JSON are stored as text.

        Raises:
            ValueError: a key is reserved, or a value cannot be stored.
        """
        self._changes.update(writable(values))
        return Change(self._commit)

    def clear(self) -> Change:
        """Remove the session's own keys; `user:` and `app:` keys are kept."""
        return self.update({key: None for key in self if not key.startswith(("user:", "app:"))})

    def to_dict(self) -> dict[str, Any]:
        """Return a deep copy."""
        return deepcopy(self._visible())

    # --- for the session

    def pending(self) -> dict[str, Any]:
        """Return the changes that are not stored yet."""
        return dict(self._changes)

    def reload(self, stored: Mapping[str, Any]) -> None:
        """Replace the stored state; pending changes are kept."""
        self._stored = dict(stored)

    def stored(self, delta: Mapping[str, Any]) -> None:
        """Record that a delta was stored."""
        self.revision += 1
        for key, value in delta.items():
            if key.startswith("temp:"):
                continue
            self._stored[key] = value
            if key in self._changes and self._changes[key] == value:
                del self._changes[key]

    def raw(self, key: str) -> Any:
        """Return a stored value; internal keys are allowed."""
        return self._stored.get(key)

    def _visible(self) -> dict[str, Any]:
        return visible({**self._stored, **self._changes})
