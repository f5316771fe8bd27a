"""Where in Redis a session's parts stand. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from oda.message.storable import storable


@dataclass(frozen=True)
class SessionKeys:
    """The keys of one session, and of what it shares with others."""

    app_name: str
    user_id: str
    session_id: str

    @property
    def session(self) -> str:
        """Hash: `revision` changes with each write, `update_time` is in epoch seconds."""
        return _key("session", self.app_name, self.user_id, self.session_id)

    @property
    def state(self) -> str:
        """Hash of the session's own state; like all state one field for each key, in JSON."""
        return _key("session_state", self.app_name, self.user_id, self.session_id)

    @property
    def events(self) -> str:
        """List of events in JSON, the newest last."""
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
        """What ends with the session."""
        return self.session, self.state, self.events, self.event_ids

    def fields(self, delta: Mapping[str, Any]) -> dict[str, dict[str, str]]:
        """A change of the state as the hashes and the fields that it sets; `temp:` is left out.

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
    """Sorted set of the ids of a user's sessions, by the time when each was last updated."""
    return _key("sessions_by_time", app_name, user_id)


def users_key(app_name: str) -> str:
    """Set of the ids of the users who have ever had a session with an app."""
    return _key("users", app_name)


def _key(kind: str, *names: str) -> str:
    """No id can be taken for two: a colon in one of them is quoted."""
    return ":".join(["oda", kind, *(quote(name, safe="") for name in names)])
