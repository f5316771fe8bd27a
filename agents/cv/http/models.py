"""Requests and responses of the endpoint."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from typing_extensions import TypedDict

from mcp_tools.resume import JsonObject
from oda.message.json_integer import JSON_INTEGER
from oda.server import leads_to

from ..memory import Layer, ReplyType

RESUME = leads_to("get_cv_resume", session_id="$response.body#/session_id")
ResumeDocument = Annotated[dict[str, Any], Field(description="A JSON Resume document")]


class ChatRequest(BaseModel):
    """A message with its options."""

    model_config = ConfigDict(extra="forbid", strict=True)

    message: Annotated[str, Field(max_length=100_000, json_schema_extra={"pattern": r"\S"})]
    session_id: Annotated[
        str | None, Field(min_length=1, max_length=128, json_schema_extra={"format": "id"})
    ] = None
    """Id of a conversation; one is started if it is missing or does not exist."""
    resume_data: ResumeDocument | None = None
    """The resume to start with; field names other than JSON Resume's are recognized. Ignored if the
    conversation exists.
    """
    replace_resume: bool = False
    """Whether `resume_data` replaces the existing resume; undo reverts that."""
    expected_version: Annotated[int, JSON_INTEGER] | None = None
    """Version that the sender has seen: at another one nothing is done, and that is a 409."""
    files: Annotated[list[Annotated[str, Field(max_length=512)]], Field(max_length=10)] = []
    """Names of artifacts of the conversation that the message is about. A form takes files, too."""


class ToolCallMade(BaseModel):
    name: Literal["CVReader", "CVEditor"]
    params: JsonObject


class ToolAnswer(BaseModel):
    """The result of a tool; `error` is absent if it succeeded."""

    success: bool
    path: str
    value: JsonValue
    error: Annotated[str, Field(exclude_if=lambda error: not error)] = ""


class Metadata(BaseModel):
    """How a message was understood, and what is known besides the reply."""

    intent: str
    """ADD, UPDATE, DELETE, READ, UNDO or UNKNOWN."""
    section: str | None
    confidence: Annotated[float, Field(ge=0, le=1)]
    layer: Layer
    pending_data: JsonObject | None
    """`{intent, section, data, missing_fields}` of the entry that is not complete yet."""
    missing_fields: tuple[str, ...]
    resume_data_ignored: bool
    """Whether `resume_data` was sent but not used."""
    version: int
    """Version of the document after the turn; each edit increases it by one."""
    trace_id: str | None
    duration_ms: Annotated[float, Field(ge=0)]
    """From when the turn was accepted until it ended."""


class ChatResponse(BaseModel):
    """The response to a message."""

    session_id: str
    type: ReplyType
    reply: str
    """In the language of the message."""
    tool_call: ToolCallMade | None
    """The last call, if it was to read or to edit; the other tools are not for clients."""
    tool_result: ToolAnswer | None
    metadata: Metadata
    resume: ResumeDocument
    """The whole document after the turn."""


class ImportResponse(BaseModel):
    """A conversation that was started from a file."""

    session_id: str
    resume: ResumeDocument
    format: str
    """Detected type of the file: pdf, docx, txt, md or json."""
    warnings: list[str]
    """Parts that could not be read, or not with certainty."""
    version: int


class ToolStarted(TypedDict):
    """A tool call has started."""

    id: str
    name: str
    params: dict[str, JsonValue]


class ToolEnded(TypedDict):
    """A tool call has ended; `error` is absent if it succeeded."""

    id: str
    name: str
    success: bool
    path: str
    value: JsonValue
    error: NotRequired[str]


class SpokenPiece(TypedDict):
    """The next piece of the reply. Rules send the whole reply in one piece."""

    text: str
    replaces: NotRequired[bool]
    """True if this piece replaces all pieces before it: the model has started over."""


class Clarification(TypedDict):
    """The reply is a question to the user."""

    text: str
    missing_fields: list[str]


class ChatError(TypedDict):
    """The reply reports an error."""

    text: str
    code: str
    version: NotRequired[int]
    """The current version of the document, if the error is a version conflict."""


CHAT_EVENTS: Mapping[str, Any] = {
    "tool_start": ToolStarted,
    "tool_end": ToolEnded,
    "text": SpokenPiece,
    "clarify": Clarification,
    "error": ChatError,
    "done": ChatResponse,
}
"""Types of the events in a stream, by event name; `done` is always the last."""
