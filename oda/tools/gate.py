"""The one ADK plugin around every tool call: errors become answers, results become JSON."""

import asyncio
from typing import Any

from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

from oda.errors import FatalToolError
from oda.message.redaction import redact
from oda.message.storable import storable, storable_text
from oda.telemetry import get_logger

log = get_logger(__name__)


class Gate(BasePlugin):
    """A tool's exception is an answer to the model, unless it is a `FatalToolError`.

    Stateless, so that one instance serves a whole process.
    """

    NAME = "oda_gate"

    def __init__(self) -> None:
        super().__init__(name=self.NAME)

    async def on_tool_error_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        error: BaseException,
    ) -> dict[str, Any] | None:
        if isinstance(error, FatalToolError | asyncio.CancelledError):
            return None
        log.warning(
            "tool_failed",
            tool=tool.name,
            call_id=tool_context.function_call_id,
            exc_info=error,
        )
        return {
            "error": redact(str(error)) or "no reason given",
            "error_type": type(error).__name__,
        }

    async def after_tool_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        result: Any,
    ) -> dict[str, Any] | None:
        """Replace only what ADK takes for no result at all: a mapping with other keys than text.

        Everything else is left to the agent's own callbacks, and is made JSON when it is stored.
        """
        if isinstance(result, dict) and not all(isinstance(key, str) for key in result):
            return _answer(result)
        return None

    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> None:
        """Make an event such that every store takes it."""
        if event.partial or event.content is None:
            return
        for part in event.content.parts or ():
            if part.text:
                part.text = storable_text(part.text)
            if part.function_call and part.function_call.args:
                part.function_call.args = _answer(part.function_call.args)
            if part.function_response and part.function_response.response:
                part.function_response.response = _answer(part.function_response.response)


def _answer(result: dict[Any, Any]) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = storable(result)
    except ValueError as error:
        return {"error": f"The result cannot be passed on: {redact(str(error))}"}
    return answer
