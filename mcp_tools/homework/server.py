"""Homework over MCP: check a page, give a hint, sum up. Nothing is kept between calls."""

from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

from mcp_tools.homework import (
    MAX_ITEMS,
    MAX_TEXT,
    Hint,
    HomeworkError,
    Item,
    Language,
    Level,
    Summary,
    Verdict,
    check,
    collect,
    hint,
    score,
    summarise,
)

_LOOKS_ONLY = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)

Text = Annotated[
    str, Field(max_length=MAX_TEXT, description="The child's work as it is written, line by line")
]
Items = Annotated[
    list[Item] | None, Field(max_length=MAX_ITEMS, description="Items already taken apart")
]
Subject = Annotated[
    str | None, Field(description="School subject; code checks mathematics and science only")
]
Answers = Annotated[Language, Field(description="Used where the work is of signs alone")]


class CheckedHomework(BaseModel):
    """A page with its verdicts."""

    items: list[Verdict]
    score: int | None
    """Share of right answers among those with a verdict, 0 to 100."""
    judged: int
    """Number of items that have a verdict; the others count neither as right nor as wrong."""


def make_server(language: Language = "zh") -> MCPServer:
    """Create a server with the tools `check_homework`, `give_hint` and `summarise_homework`.

    Their output is not structured, because structured output is sent to the model twice.
    """
    server = MCPServer(
        "homework",
        instructions="Check a child's work with check_homework. Help with give_hint, level 1 "
        "first; only level 3 gives the answer. What code cannot know has correct null: "
        "judge it yourself.",
        log_level="WARNING",
    )

    @server.tool(annotations=_LOOKS_ONLY, structured_output=False)
    def check_homework(
        text: Text = "",
        items: Items = None,
        subject: Subject = None,
        language: Answers = language,
    ) -> CheckedHomework:
        """Check a page of homework, item by item, with exact arithmetic and algebra."""
        verdicts = _checked(text, items, subject, language)
        judged = sum(verdict.correct is not None for verdict in verdicts)
        return CheckedHomework(items=verdicts, score=score(verdicts), judged=judged)

    @server.tool(annotations=_LOOKS_ONLY, structured_output=False)
    def give_hint(
        question: Annotated[str, Field(description="The question as it is written")],
        hint_level: Annotated[
            Level, Field(description="1: the method, 2: the next step, 3: the way and the answer")
        ] = 1,
        answer: Annotated[str | None, Field(description="What the child has answered")] = None,
        language: Answers | None = None,
    ) -> Hint:
        """Help with one question; levels 1 and 2 never give the answer away."""
        try:
            return hint(Item(question=question, answer=answer), hint_level, language)
        except HomeworkError as error:
            raise ToolError(error.message(language or "en")) from error

    @server.tool(annotations=_LOOKS_ONLY, structured_output=False)
    def summarise_homework(
        text: Text = "",
        items: Items = None,
        subject: Subject = None,
        language: Answers = language,
    ) -> Summary:
        """Check a page and say what went well and what to practise."""
        return summarise(_checked(text, items, subject, language), language)

    return server


def _checked(
    text: str, items: list[Item] | None, subject: str | None, language: Language
) -> list[Verdict]:
    try:
        found = collect(text, items)
        if not found:
            raise ToolError("no question was found: send text or items")
        return [check(item, subject, language=language) for item in found]
    except HomeworkError as error:
        raise ToolError(error.message(language)) from error
