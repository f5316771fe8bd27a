"""The one ADK plugin around every tool call: errors become answers, results become JSON."""

import asyncio
import json
from typing import Any

from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from pydantic_core import to_jsonable_python

from oda.errors import FatalToolError
from oda.message.redaction import redact
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
        """Replace a result that no database could store; others pass untouched."""
        if result is None or _is_json(result):
            return None
        safe = to_jsonable_python(result, fallback=str, serialize_unknown=True)
        return safe if isinstance(safe, dict) else {"result": safe}


def _is_json(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True
