"""What an AG-UI client asks for with a run."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ag_ui.core.types import (
    ContentPart,
    DataSource,
    RunAgentInput,
    TextPart,
    Tool,
    ToolMessage,
    UserMessage,
)
from google.genai.types import Content
from pydantic import ValidationError
from pydantic_core import to_json

from oda.message.content import parse_content
from oda.message.storable import storable
from oda.server.problems import Refusal
from oda.tools.client_tools import ClientTool
from oda.turn.log import Entry
from oda.turn.record import Turn

_ID = re.compile(r"[^\x00-\x1f\x7f]{1,255}")
_TOOL = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_OURS = ("adk_", "oda_", "transfer_to_agent")
_MOST_TOOLS = 128
_MOST_FIELDS = 100


def parse_input(body: bytes) -> RunAgentInput:
    """Return the input of a run.

    Raises:
        Refusal: it is malformed.
    """
    try:
        given = RunAgentInput.model_validate_json(body)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        if found[0]["type"] == "json_invalid":
            raise Refusal(400, "The body is not valid JSON.", code="malformed") from error
        fields = [
            {"field": ".".join(map(str, one["loc"])) or "body", "message": one["msg"]}
            for one in found[:_MOST_FIELDS]
        ]
        raise _wrong(fields) from error
    if not _ID.fullmatch(given.run_id):
        raise _wrong([{"field": "runId", "message": "has 1 to 255 characters, none of control"}])
    if given.state is not None and not isinstance(given.state, dict):
        raise _wrong([{"field": "state", "message": "must be an object"}])
    return given


def last_user_message(given: RunAgentInput) -> UserMessage | None:
    """Return the newest message of the user."""
    messages = (one for one in reversed(given.messages) if isinstance(one, UserMessage))
    return next(messages, None)


def content_of(message: UserMessage | None) -> Content:
    """Return a user's message as ADK content.

    Raises:
        Refusal: there is none.
        InvalidRequestError: it is empty, or a part is malformed.
    """
    if message is None:
        raise _wrong([{"field": "messages", "message": "has no message of the user"}])
    if isinstance(message.content, str):
        return parse_content(message.content)
    return parse_content({"parts": [_part(part) for part in message.content]})


def results_of(given: RunAgentInput) -> dict[str, Any]:
    """Return what tools have returned since the user's last message, by the ids of the calls."""
    results: dict[str, Any] = {}
    for message in reversed(given.messages):
        if isinstance(message, UserMessage):
            break
        if isinstance(message, ToolMessage):
            results.setdefault(message.tool_call_id, _result(message))
    return storable(results)  # type: ignore[no-any-return]


def tools_of(given: RunAgentInput) -> list[ClientTool]:
    """Return the client's tools.

    Raises:
        Refusal: a name cannot be that of a tool, or there are too many.
    """
    tools = given.tools or []
    if len(tools) > _MOST_TOOLS:
        raise _wrong([{"field": "tools", "message": f"are more than {_MOST_TOOLS}"}])
    wrong = [
        {"field": f"tools.{number}", "message": reason}
        for number, tool in enumerate(tools)
        if (reason := _wrong_tool(tool, tools[:number]))
    ]
    if wrong:
        raise _wrong(wrong)
    return [
        ClientTool(
            name=tool.name,
            description=tool.description,
            parameters=storable(tool.parameters) if tool.parameters else None,
        )
        for tool in tools
    ]


def context_of(given: RunAgentInput) -> str | None:
    """Return what a run brings for the agents' instructions, as a text."""
    lines = [f"- {one.description}: {one.value}" for one in given.context or ()]
    if given.forwarded_props:
        lines.append(f"- Properties: {json.dumps(given.forwarded_props, ensure_ascii=False)}")
    if not lines:
        return None
    told = ["What the user's application tells about this message:", *lines]
    text: str = storable("\n".join(told))
    return text


def fingerprint(given: RunAgentInput) -> str:
    """Return a hash of what a run asks: its answers, else the newest message of the user.

    A client that repeats a run may know more than before, such as a part of the answer.
    """
    asked: list[Any]
    if given.resume:
        asked = [
            entry.model_dump(include={"interrupt_id", "status", "payload"})
            for entry in given.resume
        ]
    else:
        message = last_user_message(given)
        content = message.content if message else None
        asked = [
            content
            if isinstance(content, str) or content is None
            else [part.model_dump() for part in content]
        ]
    canonical = json.dumps(asked, sort_keys=True, default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()


def answered_ids(given: RunAgentInput) -> frozenset[str]:
    """Return the ids of all questions and calls that a run may answer."""
    resumed = [entry.interrupt_id for entry in given.resume or ()]
    called = [one.tool_call_id for one in given.messages if isinstance(one, ToolMessage)]
    return frozenset([*resumed, *called])


def begin_of_run(entries: Iterable[Entry], answered: frozenset[str]) -> int:
    """Return the number of the last entry before the run that these answers have begun."""
    begin = 0
    waiting: frozenset[str] = frozenset()
    for entry in entries:
        if not isinstance(entry.data, Turn):
            continue
        pending = frozenset(question["id"] for question in entry.data.pending_input)
        gone = waiting - pending
        if gone and gone <= answered:
            begin = entry.number - 1
        waiting = pending
    return begin


def size_of(given: RunAgentInput, message: Content | None) -> int:
    """Return the bytes of all that is stored of a run, without the data of files."""
    parts = [part.text for part in (message.parts if message else None) or () if part.text]
    tools = [tool.model_dump() for tool in given.tools or ()]
    context = [one.model_dump() for one in given.context or ()]
    resume = [entry.model_dump() for entry in given.resume or ()]
    said = [parts, tools, context, given.forwarded_props, resume, results_of(given)]
    return len(to_json(storable(said)))


def _wrong(fields: Sequence[Mapping[str, Any]]) -> Refusal:
    first = fields[0]
    return Refusal(
        422,
        f"{first['field']}: {first['message']}",
        code="invalid_request",
        errors=[dict(one) for one in fields],
    )


def _wrong_tool(tool: Tool, before: Sequence[Tool]) -> str | None:
    if not _TOOL.fullmatch(tool.name) or tool.name.startswith(_OURS):
        return f"the name {tool.name[:80]!r} cannot be that of a tool"
    if any(other.name == tool.name for other in before):
        return f"the name {tool.name!r} is there twice"
    if tool.parameters is not None and not isinstance(tool.parameters, dict):
        return "its parameters are no JSON Schema of an object"
    return None


def _part(part: ContentPart) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"text": part.text}
    source = part.source
    if isinstance(source, DataSource):
        return {"inlineData": {"mimeType": source.mime_type, "data": source.value}}
    return {"fileData": {"fileUri": source.value, "mimeType": source.mime_type}}


def _result(message: ToolMessage) -> Any:
    if message.error:
        return {"error": message.error, "result": _told(message)}
    return _told(message)


def _told(message: ToolMessage) -> Any:
    if not isinstance(message.content, str):
        return [part.model_dump(mode="json") for part in message.content]
    try:
        return json.loads(message.content)
    except ValueError:
        return message.content
