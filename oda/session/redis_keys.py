"""Layout of sessions in Redis."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from oda.message.storable import storable


@dataclass(frozen=True)
class SessionKeys:
    """The Redis keys of a session and of the state it shares with others."""

    app_name: str
    user_id: str
    session_id: str

    @property
    def session(self) -> str:
        """Hash: `revision` changes with each write, `update_time` is in epoch seconds."""
        return _key("session", self.app_name, self.user_id, self.session_id)

    @property
    def state(self) -> str:
        """Hash of the session's own state. All state has one field per key, with a JSON value."""
        return _key("session_state", self.app_name, self.user_id, self.session_id)

    @property
    def events(self) -> str:
        """List of events as JSON, newest last."""
        return _key("session_events", self.app_name, self.user_id, self.session_id)

    @property
    def event_ids(self) -> str:
        """Set of the ids of all events."""
        return _key("session_event_ids", self.app_name, self.user_id, self.session_id)

    @property
    def user_state(self) -> str:
        """Hash of `user:` state, without the prefix."""
        return user_state_key(self.app_name, self.user_id)

    @property
    def app_state(self) -> str:
        """Hash of `app:` state, without the prefix."""
        return app_state_key(self.app_name)

    @property
    def all_of_the_session(self) -> tuple[str, ...]:
        """The keys to delete with the session."""
        return self.session, self.state, self.events, self.event_ids

    def fields(self, delta: Mapping[str, Any]) -> dict[str, dict[str, str]]:
        """Return the hash fields that a state change sets, by hash; `temp:` keys are left out.

        Raises:
            ValueError: a value cannot be stored.
        """
        found: dict[str, dict[str, str]] = {}
        for name, value in storable(dict(delta)).items():
            scope, _, rest = name.partition(":")
            text = json.dumps(value, ensure_ascii=False)
            if name.startswith("user:"):
                found.setdefault(self.user_state, {})[rest] = text
            elif name.startswith("app:"):
                found.setdefault(self.app_state, {})[rest] = text
            elif scope != "temp" or name == scope:
                found.setdefault(self.state, {})[name] = text
        return found


def app_state_key(app_name: str) -> str:
    return _key("app_state", app_name)


def user_state_key(app_name: str, user_id: str) -> str:
    return _key("user_state", app_name, user_id)


def sessions_key(app_name: str, user_id: str) -> str:
    """Key of the sorted set of a user's session ids, scored by time of last update."""
    return _key("sessions_by_time", app_name, user_id)


def users_key(app_name: str) -> str:
    """Key of the set of ids of all users who ever had a session with an app."""
    return _key("users", app_name)


def _key(kind: str, *names: str) -> str:
    # Colons in names are quoted, so that different names never give the same key.
    return ":".join(["oda", kind, *(quote(name, safe="") for name in names)])
