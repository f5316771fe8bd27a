"""Idempotent tools, and the key that identifies repetitions of a call.

A call's key is `<turn>:<call id>`; it does not change over retries and restarts. When an
interrupted call is repeated, the new call's id is the old one with a counter, `call_7~2`, which the
key leaves out. A call made by an agent that runs as a tool belongs to that agent's call:
`<turn>:<call id of the agent>/<call id>`. The call of a tool that is a node of a graph has no id;
the node's path takes its place.
"""

import hashlib
import re
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

IDEMPOTENT_TOOLS = "oda_idempotent_tools"
"""Key in the `custom_metadata` of a call's event: names of the called tools that may run twice."""

_COUNTER = "~"
_REPEATED = re.compile(rf"(.+){_COUNTER}([0-9]+)", re.DOTALL)
_MARK = "__oda_idempotent__"
_LONGEST_ID = 255

STEERING_TOOLS = frozenset({"transfer_to_agent", "exit_loop"})
"""ADK's own tools that only direct the flow of a run."""

Function = TypeVar("Function", bound=Callable[..., Any])


class CallKey(NamedTuple):
    """Names a call and all its repetitions."""

    turn: str
    """The ADK invocation id of the turn, also for calls inside of calls."""
    call_id: str

    def __str__(self) -> str:
        return f"{self.turn}:{self.call_id}"


@dataclass(frozen=True)
class _Running:
    """The call that the current task is in."""

    invocation_id: str
    key: CallKey
    prefix: str
    """Prefix of the keys of all calls in the same invocation."""


_running: ContextVar[_Running | None] = ContextVar("oda_running_call", default=None)


def idempotent(function: Function) -> Function:
    """Declare that calling the function twice with the same key does no more than calling it once.

    Use it on functions given to an agent as tools. An ADK tool object says the same with
    `custom_metadata={"idempotent": True}`, an MCP server with `idempotentHint`.
    """
    setattr(function, _MARK, True)
    return function


def is_idempotent(tool: BaseTool) -> bool:
    """Return whether a tool is idempotent: declared in any of three ways, or only steering ADK."""
    if only_steers(tool):
        return True
    if (tool.custom_metadata or {}).get("idempotent") is True:
        return True
    return getattr(getattr(tool, "func", None), _MARK, False) is True


def only_steers(tool: BaseTool) -> bool:
    """Return whether a tool does nothing but direct the flow of a run."""
    return tool.name in STEERING_TOOLS


def idempotency_key(tool_context: ToolContext) -> str:
    """The key of the running call, the same for each repetition of it."""
    return str(call_key(tool_context))


def call_key(tool_context: ToolContext) -> CallKey:
    """The key of the call that a context belongs to."""
    return _place_of(tool_context).key


def response_key(invocation_id: str, function_call_id: str) -> CallKey:
    """The key of the call that a response in an event of this invocation belongs to."""
    return _place(invocation_id, function_call_id).key


def enter_call(tool_context: ToolContext) -> CallKey:
    """Say that the current task runs this call: calls that it makes in turn belong to it."""
    place = _place_of(tool_context)
    _running.set(place)
    return place.key


def _place_of(context: ToolContext) -> _Running:
    return _place(context.invocation_id, _node_of(context) or context.function_call_id or "")


def _node_of(context: ToolContext) -> str | None:
    """The path of the graph's node that is the called tool; it is private to ADK's context."""
    return context.node_path if hasattr(getattr(context, "_node", None), "tool") else None


def _place(invocation_id: str, function_call_id: str) -> _Running:
    outer = _running.get()
    if outer is None:
        turn, prefix = invocation_id, ""
    elif outer.invocation_id != invocation_id:
        turn, prefix = outer.key.turn, f"{outer.key.call_id}/"
    else:
        turn, prefix = outer.key.turn, outer.prefix
    key = CallKey(turn, _short(prefix + original_call_id(function_call_id)))
    return _Running(invocation_id, key, prefix)


def _short(call_id: str) -> str:
    if len(call_id) <= _LONGEST_ID:
        return call_id
    return f"{call_id[:128]}#{hashlib.sha256(call_id.encode()).hexdigest()}"


def original_call_id(call_id: str) -> str:
    """The id under which the call was made first."""
    repeated = _REPEATED.fullmatch(call_id)
    return repeated[1] if repeated else call_id


def repeated_call_id(call_id: str) -> str:
    """The id under which the call is made once more."""
    repeated = _REPEATED.fullmatch(call_id)
    original, count = (repeated[1], int(repeated[2])) if repeated else (call_id, 1)
    return f"{original}{_COUNTER}{count + 1}"
