"""Progress reports of running tools to the reader of the turn."""

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
    """Send reports made inside this block to `tell`."""
    token = _tell.set(tell)
    try:
        yield
    finally:
        _tell.reset(token)


def tell(event: Event) -> None:
    """Pass an event to the reader of the turn; without effect outside of a turn."""
    if (to := _tell.get()) is not None:
        to(event)


def tell_output(context: ToolContext, text: str, *, stream: str = "stdout") -> None:
    """Report the output of a tool call as it arrives; secrets are masked within each piece."""
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
