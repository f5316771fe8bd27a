"""Request context for our services behind ADK's routes."""

from contextvars import ContextVar
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import Scope

from oda.server.adk.access import SESSION


@dataclass
class Visit:
    """A request to ADK's application."""

    reads_session: bool
    """Whether it gets a session for display, as opposed to work of a tool."""
    from_dev_ui: bool
    """Whether it comes from a page of this server, which can only be the dev UI."""
    has_left: bool = False
    """Whether the client has disconnected before the answer was complete."""
    turn_id: str | None = None
    """Id of the turn that the request follows."""


current_visit: ContextVar[Visit | None] = ContextVar("oda_adk_visit", default=None)


def visit_of(scope: Scope, method: str, path: str) -> Visit:
    """Classify a request by its method and path template."""
    return Visit(
        reads_session=(method, path) == ("GET", SESSION),
        from_dev_ui=Headers(scope=scope).get("sec-fetch-site") == "same-origin",
    )
