"""`Principal`: who asks, and for whom."""

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

from oda.errors import InvalidRequestError

DEFAULT_USER = "local"
"""Who asks where nobody has to say who they are."""

_MAX_ID_LENGTH = 128
"""ADK's tables hold no more."""

Scope = Literal["user", "admin"]


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks, as the credential says; where the server is open, everybody is an admin."""

    user_id: str
    """For whom: whose sessions and turns these are."""
    scope: Scope
    """What `actor` may do."""
    actor: str
    """Who acts; another than `user_id` when an admin acts for a user."""
    key_id: str | None = None
    """The API key, if it was one."""
    proven: bool = True
    """False where the server is open and takes anybody's word."""

    @property
    def is_admin(self) -> bool:
        return self.scope == "admin"


current_principal: ContextVar[Principal | None] = ContextVar("oda_principal", default=None)
"""Who asked for what runs now; None outside of a request."""


def check_id(name: str, value: str) -> None:
    """Check the id of a user or of a session.

    Raises:
        InvalidRequestError: it is not 1 to 128 printable characters without slashes and outer
            blanks, or a step in a path.
    """
    fits = 0 < len(value) <= _MAX_ID_LENGTH and value.isprintable() and value == value.strip()
    if not fits or "/" in value or value in (".", ".."):
        raise InvalidRequestError(
            f"The {name} must be 1 to {_MAX_ID_LENGTH} printable characters without outer blanks "
            "and slashes, and neither '.' nor '..'."
        )
