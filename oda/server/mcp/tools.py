"""The tools of an app: `ask`, `answer`, and an orchestrator's steps."""

from collections.abc import Sequence
from typing import Annotated, Any

from mcp.types import Tool, ToolAnnotations
from pydantic import BaseModel, ConfigDict, Field

from oda.errors import ConflictError
from oda.orchestration.step import Step
from oda.server.mcp.results import Told
from oda.session.answers import Answer
from oda.turn.record import Turn

ASK, ANSWER = "ask", "answer"

AnyStep = Step[Any, Any]
_Id = Annotated[str, Field(min_length=1, max_length=128)]
_Key = Annotated[str, Field(min_length=1, max_length=255, pattern=r"^[^\x00-\x1f\x7f]+$")]


class _Arguments(BaseModel):
    """Base of a tool's arguments; unknown ones and other types are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Ask(_Arguments):
    """A message to the app."""

    message: str = Field(description="What to say to the agent", pattern=r"\S")
    session_id: _Id | None = Field(
        None, description="The conversation, as an earlier result names it; a new one if left out"
    )
    idempotency_key: _Key | None = Field(
        None, description="The same key and message stand for the same turn, for 24 hours"
    )


class Response(_Arguments):
    """The answer to one question."""

    id: _Id = Field(description="The id of the question")
    confirmed: bool | None = Field(None, description="Yes or no, to a confirmation")
    payload: Any = Field(None, description="The answer to any other question")


class GiveAnswer(_Arguments):
    """Answers to the questions of a turn; without any, its end is waited for."""

    turn_id: _Id = Field(description="The turn that waits")
    responses: list[Response] = Field(
        default_factory=list, max_length=100, description="The answers, each with its question's id"
    )
    confirmed: bool | None = Field(None, description="Instead, while one question is open")
    payload: Any = Field(None, description="Instead, while one question is open")

    def given(self, turn: Turn) -> Sequence[Answer]:
        """Return the answers for the engine.

        Raises:
            ConflictError: the answer names no question, and not exactly one is open.
        """
        answers = [(one.id, one.confirmed, one.payload) for one in self.responses]
        if not self.model_fields_set & {"confirmed", "payload"}:
            return answers
        if answers or len(turn.pending_input) != 1:
            raise ConflictError(
                f"The turn {self.turn_id!r} has {len(turn.pending_input)} open questions.",
                remedy="send responses, each with the id of its question",
            )
        return [(turn.pending_input[0]["id"], self.confirmed, self.payload)]


def tools_of(description: str, steps: Sequence[AnyStep]) -> list[Tool]:
    """Return the tools of an app, with what it says of itself."""
    ask = Tool(
        name=ASK,
        title="Ask the agent",
        description=f"Sends a message to the agent and returns its answer. {description}".strip(),
        input_schema=Ask.model_json_schema(),
        output_schema=Told.model_json_schema(),
        annotations=ToolAnnotations(read_only_hint=False, open_world_hint=True),
    )
    answer = Tool(
        name=ANSWER,
        title="Answer the agent's questions",
        description="Answers what a turn waits for, and returns what comes of it; without answers "
        "waits for the end of a turn.",
        input_schema=GiveAnswer.model_json_schema(),
        output_schema=Told.model_json_schema(),
        annotations=ToolAnnotations(read_only_hint=False, open_world_hint=True),
    )
    return [ask, answer, *map(_step_tool, steps)]


def _step_tool(step: AnyStep) -> Tool:
    return Tool(
        name=step.name,
        title=step.name.replace("-", " ").capitalize(),
        description=step.summary,
        input_schema=step.request.model_json_schema(),
        output_schema=step.response.model_json_schema(mode="serialization"),
    )
