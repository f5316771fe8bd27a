"""Items of a response's output."""

import json
from collections.abc import Mapping
from typing import Any

from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputItem,
    ResponseOutputMessage,
    ResponseOutputText,
)
from openai.types.responses.response_output_item import McpApprovalRequest, McpCall

from oda.agent.outcome import OpenQuestion
from oda.message.tool_error import reported_error
from oda.server.openai.ids import QuestionId
from oda.turn.budget import GRANT

ASKS_A_PERSON = "adk_request_"
"""How the names of ADK's calls begin that ask a person."""


def message(item_id: str, text: str | None, status: Any) -> ResponseOutputMessage:
    """Make an assistant's message; without a text it has no content (yet)."""
    content = [] if text is None else [output_text(text)]
    return ResponseOutputMessage(
        id=item_id,
        type="message",
        role="assistant",
        status=status,
        content=list(content),
    )


def output_text(text: str) -> ResponseOutputText:
    return ResponseOutputText(type="output_text", text=text, annotations=[], logprobs=[])


def server_call(item_id: str, app: str, name: str, arguments: str) -> McpCall:
    """Make the item of a tool call that the server executes."""
    return McpCall(
        id=item_id,
        type="mcp_call",
        server_label=app,
        name=name,
        arguments=arguments,
        status="in_progress",
    )


def ended_call(call: McpCall, result: Mapping[str, Any]) -> McpCall:
    """Return the item of a call with its result."""
    error = reported_error(result)
    if error is not None:
        return call.model_copy(update={"status": "failed", "error": error["message"]})
    if result.get("isError") or result.get("is_error"):
        return call.model_copy(update={"status": "failed", "error": _told(result)})
    return call.model_copy(update={"status": "completed", "output": _told(result)})


def asked(
    turn_id: str, app: str, question: OpenQuestion, item_id: str
) -> McpApprovalRequest | ResponseFunctionToolCall:
    """Make the item of a question: an approval, or a call of a function of the client's."""
    name, args = question["name"], question["args"]
    asked_as = QuestionId(turn_id, question["id"])
    if not is_approval(question):
        return ResponseFunctionToolCall(
            id=item_id,
            type="function_call",
            call_id=asked_as.of_call,
            name=name,
            arguments=as_json(args),
            status="completed",
        )
    original = args.get("originalFunctionCall")
    if isinstance(original, Mapping):
        name, args = str(original.get("name") or name), dict(original.get("args") or {})
    return McpApprovalRequest(
        id=asked_as.of_approval,
        type="mcp_approval_request",
        server_label=app,
        name=name,
        arguments=as_json(args),
    )


def is_approval(question: OpenQuestion) -> bool:
    """Return whether a question is a person's to answer, not a function's of the client."""
    return question["name"].startswith(ASKS_A_PERSON) or question["name"] == GRANT


def waits_for_call(question: OpenQuestion) -> str | None:
    """Return the id of the tool call that a question is about, if it is about one."""
    original = question["args"].get("originalFunctionCall")
    found = original.get("id") if isinstance(original, Mapping) else None
    return str(found) if found else None


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _told(result: Mapping[str, Any]) -> str:
    """A tool's result as text; what ADK has wrapped is unwrapped."""
    only = result.get("result") if set(result) == {"result"} else None
    return only if isinstance(only, str) else as_json(dict(result))


OutputItem = ResponseOutputItem
