"""The messages of the protocol, as they are sent: a kind in `type`, all fields always there.

Names of spans:

    PROCEDURE     the turn; its `detail` is {turn_id}. All other spans are inside it.
    TASK          work of a sub-agent or a node of a graph, inside its caller's span.
    STEP          one answer of a model and the tool calls in it; {turn}: 1, 2, 3 … in its agent.
    THINK         a thought of the model. Its text comes on the channel PLAIN.
    PLAIN         a text that the agent says. Its text comes on the channel PLAIN.
    TOOL_CALLING  a tool call, until its result; {tool, call_id}. Parallel calls are siblings.
    OUTPUT        a file that was written; {artifact, version}.
    HITL          a question to a person, until it is answered; {id, name}.
    PLAN          reserved for agents that report a plan; ADK events do not contain one.

Content by channel:

    PLAIN         `text`. With `delta` it is a piece; without, the whole text of the message,
                  which closes it and replaces its pieces.
    TOOL_CALLING  {tool, call_id, args} of a call, {tool, call_id, progress} of its reports while
                  it is running, such as {stream, text} of code, then {tool, call_id, result}; or
                  code that the model has executed, as ADK's part.
    OUTPUT        {artifact, version} of a file, {output} of a graph's node and {progress} on the
                  way to it, or data that the model has made, as ADK's part.
    HITL, FORM, AUTH
                  {id, name, args}, as in the turn's `pending_input`. FORM has a JSON Schema in
                  `args.response_schema`; AUTH asks for a credential; all else is HITL.
    SYSTEM        {code, message, withdrawn, detail}: status of the turn. `withdrawn` are the
                  ids of messages that are no longer valid; `detail` has further data.

Codes of SYSTEM: RETRY_ATTEMPT, MAX_RETRIES_EXCEEDED, NON_RETRYABLE_ERROR and CANCELLED as in ADK
events; RESUMED when a turn goes on after a crash, and REPLACED when a model's last word differs
from what it streamed, both only if something is withdrawn; OUTCOME_UNKNOWN when the outcome of a
tool call is unknown; and any other code that an agent reports or a turn fails with.
"""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

SpanName = Literal[
    "PROCEDURE", "TASK", "STEP", "PLAN", "THINK", "TOOL_CALLING", "OUTPUT", "HITL", "PLAIN"
]
ContentChannel = Literal["PLAIN", "TOOL_CALLING", "OUTPUT", "HITL", "FORM", "AUTH", "SYSTEM"]
SpanOutcome = Literal["ok", "failed", "cancelled", "interrupted", "unknown"]
"""`interrupted`: cut off, and perhaps done again; `unknown`: of a tool call, what it has done."""


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True)

    span_id: str
    """One of the turn's, the same for every reader."""
    timestamp: datetime


class SpanStart(_Message):
    """Something begins."""

    type: Literal["span.start"] = "span.start"
    parent_id: str | None
    """Span in which it happens; null for the turn itself."""
    name: SpanName
    status: Literal["START"] = "START"
    title: str
    """For people: an agent, a tool, a file, `turn 1`."""
    agent: str | None = None
    """Name of the agent."""
    detail: dict[str, Any] = {}


class SpanEnd(_Message):
    """The end of a span. All spans inside it have ended before."""

    type: Literal["span.end"] = "span.end"
    name: SpanName
    status: Literal["END"] = "END"
    outcome: SpanOutcome
    error: dict[str, Any] | None = None
    """`{message, code?, retryable?}` if it is known why it failed."""


class ContentMessage(_Message):
    """Something to show, while its span is open. It has `text` or `data`."""

    type: Literal["content"] = "content"
    message_id: str
    """Pieces of one text have the same."""
    channel: ContentChannel
    delta: bool = False
    text: str | None = None
    data: dict[str, Any] | None = None


Message = SpanStart | SpanEnd | ContentMessage
