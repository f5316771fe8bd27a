"""`Principal`: the caller, and the user it acts for."""

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

from oda.errors import InvalidRequestError

DEFAULT_USER = "local"
"""The default user of an open server."""

_MAX_ID_LENGTH = 128
"""ADK's tables hold no more."""

Scope = Literal["user", "admin"]


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated caller; on an open server every caller is an admin."""

    user_id: str
    """The user whose sessions and turns are accessed."""
    scope: Scope
    """The permissions of `actor`."""
    actor: str
    """The acting user; differs from `user_id` when an admin acts for another user."""
    key_id: str | None = None
    """The API key, if it was one."""
    proven: bool = True
    """False where the server is open and takes anybody's word."""

    @property
    def is_admin(self) -> bool:
        return self.scope == "admin"


current_principal: ContextVar[Principal | None] = ContextVar("oda_principal", default=None)
"""The principal of the current request; None outside of a request."""


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
