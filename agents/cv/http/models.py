"""What the endpoint is sent and what it answers."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from mcp_tools.resume import JsonObject

from ..memory import Layer, ReplyType

ResumeDocument = Annotated[dict[str, Any], Field(description="A JSON Resume document")]


class ChatRequest(BaseModel):
    """A message, and what goes with it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    message: Annotated[str, Field(json_schema_extra={"pattern": r"\S"})]
    session_id: Annotated[
        str | None, Field(min_length=1, max_length=128, json_schema_extra={"format": "id"})
    ] = None
    """A conversation; by default, and where there is none of that name, one is started."""
    resume_data: ResumeDocument | None = None
    """What a conversation starts with, also with other names than JSON Resume's; where there is a
    conversation already it is ignored."""
    replace_resume: bool = False
    """Whether `resume_data` takes the place of the resume there is; undo takes that back."""
    expected_version: int | None = None
    """Version that the sender has seen: at another one nothing is done, and that is a 409."""


class ToolCallMade(BaseModel):
    name: Literal["CVReader", "CVEditor"]
    params: JsonObject


class ToolAnswer(BaseModel):
    """What a tool has done; without `error` if it has succeeded."""

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
    """Whether `resume_data` was sent and not used."""
    version: int
    """Of the document after the turn; each edit makes it greater by one."""
    trace_id: str | None
    duration_ms: Annotated[float, Field(ge=0)]
    """From when the turn was accepted until it ended."""


class ChatResponse(BaseModel):
    """What a message has led to."""

    session_id: str
    type: ReplyType
    reply: str
    """In the language of the message."""
    tool_call: ToolCallMade | None
    """The last one; taking back an edit is none that a client could make."""
    tool_result: ToolAnswer | None
    metadata: Metadata
    resume: ResumeDocument
    """The whole document after the turn."""


class ImportResponse(BaseModel):
    """A conversation that was started from a file."""

    session_id: str
    resume: ResumeDocument
    format: str
    """What the file was: pdf, docx, txt, md or json."""
    warnings: list[str]
    """What could not be read, or was read without certainty."""
    version: int
