"""Which tools may run twice, and the key under which a repeated call is the same call.

A call's idempotency key is `<turn>:<call id>`; it does not change over retries and restarts. When
an interrupted call is repeated, the new call's id is the old one with a counter, `call_7~2`, which
the key leaves out.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

IDEMPOTENT_TOOLS = "oda_idempotent_tools"
"""Key in the `custom_metadata` of a call's event: names of the called tools that may run twice."""

_COUNTER = "~"
_MARK = "__oda_idempotent__"

_STEERING_TOOLS = frozenset({"transfer_to_agent", "exit_loop"})
"""ADK's own tools that only say where a run goes on."""

Function = TypeVar("Function", bound=Callable[..., Any])


def idempotent(function: Function) -> Function:
    """Declare that calling the function twice with the same key does no more than calling it once.

    Use it on functions given to an agent as tools. An ADK tool object says the same with
    `custom_metadata={"idempotent": True}`, an MCP server with `idempotentHint`.
    """
    setattr(function, _MARK, True)
    return function


def is_idempotent(tool: BaseTool) -> bool:
    """Whether a tool is declared idempotent, in any of the three ways, or only steers ADK."""
    if tool.name in _STEERING_TOOLS:
        return True
    if (tool.custom_metadata or {}).get("idempotent") is True:
        return True
    return getattr(getattr(tool, "func", None), _MARK, False) is True


def idempotency_key(tool_context: ToolContext) -> str:
    """The key of the running call, the same for each repetition of it."""
    call_id = (tool_context.function_call_id or "").split(_COUNTER)[0]
    return f"{tool_context.invocation_id}:{call_id}"


def repeated_call_id(call_id: str) -> str:
    """The id under which the call is made once more."""
    original, _, count = call_id.partition(_COUNTER)
    return f"{original}{_COUNTER}{int(count or 1) + 1}"
