"""How what is at work tells of it: to whoever reads the turn, as it comes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from google.adk.events import Event
from google.adk.tools.tool_context import ToolContext

from oda.message.progress import progress_event
from oda.message.storable import storable
from oda.secret_mask import secrets

Tell = Callable[[Event], None]

_tell: ContextVar[Tell | None] = ContextVar("oda_tell", default=None)


@contextmanager
def telling(tell: Tell) -> Iterator[None]:
    """Have what is told inside of this block go to `tell`."""
    token = _tell.set(tell)
    try:
        yield
    finally:
        _tell.reset(token)


def tell(event: Event) -> None:
    """Pass an event on to whoever reads the turn; outside of a turn nobody does."""
    if (to := _tell.get()) is not None:
        to(event)


def tell_output(context: ToolContext, text: str, *, stream: str = "stdout") -> None:
    """Tell what a tool call prints, as it comes; secrets are masked within each piece."""
    said: dict[str, Any] = {
        "call_id": context.function_call_id,
        "stream": stream,
        "text": storable(secrets.mask(text)),
    }
    tell(
        progress_event(
            said,
            author=context.agent_name,
            invocation_id=context.invocation_id,
            branch=context.get_invocation_context().branch,
        )
    )
