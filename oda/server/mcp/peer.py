"""What is known of a client that has shaken hands, in the id of its MCP session.

Protocol versions before 2026-07-28 begin with `initialize`. What it says that later requests need
becomes the session's id, which the client sends along; so no server has to remember it.
"""

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

_ID = re.compile(r"oda-([eq])-([0-9a-f]{32})")


@dataclass(frozen=True)
class Peer:
    """A client, between its handshake and its end."""

    name: str
    """Unique, so that the ids of its requests are, too."""
    elicits: bool
    """Whether it can ask its user."""

    @classmethod
    def greeted(cls, params: Mapping[str, Any]) -> Self:
        """Return a new client, from the parameters of its `initialize`."""
        capabilities = params.get("capabilities")
        return cls(uuid.uuid4().hex, elicits=can_elicit(capabilities))

    @classmethod
    def of(cls, session_id: str | None) -> Self | None:
        """Return the client of a session; None for an id that is not ours."""
        found = _ID.fullmatch(session_id or "")
        return None if found is None else cls(found[2], elicits=found[1] == "e")

    @property
    def session_id(self) -> str:
        return f"oda-{'e' if self.elicits else 'q'}-{self.name}"


def can_elicit(capabilities: object) -> bool:
    """Return whether a client shows forms to its user; one that names no way to ask does."""
    asks = capabilities.get("elicitation") if isinstance(capabilities, Mapping) else None
    return isinstance(asks, Mapping) and ("form" in asks or "url" not in asks)
