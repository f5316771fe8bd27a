"""Conversion of a turn to the result of a tool call. Pure."""

from collections.abc import Sequence

from mcp.types import CallToolResult, ContentBlock, ResourceLink, TextContent
from pydantic import BaseModel, Field

from oda.server.mcp.questions import Question, question_of
from oda.turn.record import Turn, TurnError, TurnStatus


class Told(BaseModel):
    """What has come of a message."""

    session_id: str = Field(description="The conversation, for the next message")
    turn_id: str = Field(description="The turn that answers the message")
    status: TurnStatus = Field(description="How the turn stands")
    reply: str = Field("", description="The agent's answer")
    waiting: bool = Field(False, description="Whether the turn waits for answers to its questions")
    questions: list[Question] = Field([], description="What the tool `answer` is to answer")
    error: TurnError | None = Field(None, description="Why the turn has failed")


def result_of(turn: Turn, files: Sequence[ResourceLink] = ()) -> CallToolResult:
    """Return the result of a turn that has ended or waits; what has failed is an error."""
    told = Told(
        session_id=turn.session_id,
        turn_id=turn.turn_id,
        status=turn.status,
        reply=turn.reply,
        waiting=turn.status == "waiting_input",
        questions=[question_of(asked) for asked in turn.pending_input],
        error=turn.error,
    )
    content: list[ContentBlock] = [TextContent(type="text", text=_text(told)), *files]
    return CallToolResult(
        content=content,
        structured_content=told.model_dump(mode="json", exclude_none=True),
        is_error=turn.status in ("failed", "cancelled"),
    )


def _text(told: Told) -> str:
    if told.waiting:
        return told.model_dump_json(include={"waiting", "turn_id", "session_id", "questions"})
    if told.error is not None:
        return f"{told.error.code}: {told.error.message}"
    if told.status == "cancelled":
        return "The turn was cancelled."
    return told.reply
