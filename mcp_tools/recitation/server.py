"""Recitation over MCP: the functions of this package as tools."""

from collections.abc import Callable
from typing import Annotated, TypeVar

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

from mcp_tools.recitation import (
    Evaluation,
    Language,
    Mistake,
    RecitationError,
    StandardText,
    UnknownTextError,
    compare,
    find,
    is_recitation,
    memory_tips,
)

_LOOKS_ONLY = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)

Expected = Annotated[str, Field(description="The text to recite")]
Said = Annotated[str, Field(description="What was said, as it was transcribed")]
OfText = Annotated[Language | None, Field(description="Detected if left out")]

_Result = TypeVar("_Result")


class Recognition(BaseModel):
    """The result of recognition."""

    is_recitation: bool
    similarity: float
    """Which part of what was said comes from the text, 0 to 1."""


class Tips(BaseModel):
    """Advice for practice."""

    tips: list[str]


def make_server() -> MCPServer:
    """Create a server with tools that recognise, compare, advise and look texts up.

    Their output is not structured, because structured output is sent to the model twice.
    """
    server = MCPServer(
        "recitation",
        instructions="Compare what a child has recited with compare_recitation; give its errors "
        "to memory_tips. find_text knows well-known poems by title or first line.",
        log_level="WARNING",
    )

    @server.tool(annotations=_LOOKS_ONLY, structured_output=False)
    def compare_recitation(
        expected_text: Expected, user_text: Said, language: OfText = None
    ) -> Evaluation:
        """Score a recitation, 0 to 100, passed from 85, and list its mistakes with positions."""
        return _told(lambda: compare(expected_text, user_text, language))

    @server.tool(annotations=_LOOKS_ONLY, structured_output=False)
    def check_recitation(expected_text: Expected, user_text: Said) -> Recognition:
        """Tell recitation of a text, also of a part of it, from a question or a remark."""
        recites, similarity = _told(lambda: is_recitation(expected_text, user_text))
        return Recognition(is_recitation=recites, similarity=similarity)

    @server.tool(name="memory_tips", annotations=_LOOKS_ONLY, structured_output=False)
    def tips(
        errors: Annotated[list[Mistake], Field(description="As compare_recitation found them")],
        expected_text: Expected,
        language: OfText = None,
    ) -> Tips:
        """Give a child up to four tips on what to practise, the costliest mistake first."""
        return Tips(tips=_told(lambda: memory_tips(errors, expected_text, language)))

    @server.tool(annotations=_LOOKS_ONLY, structured_output=False)
    def find_text(
        title: Annotated[str, Field(description="Title or first line; errors do not matter")],
        author: str | None = None,
        language: OfText = None,
    ) -> StandardText:
        """Find a well-known poem or passage in its usual wording."""
        found = _told(lambda: find(title, author, language))
        if found is None:
            raise ToolError(str(UnknownTextError(title)))
        return found

    return server


def _told(action: Callable[[], _Result]) -> _Result:
    """The result, or a tool error with the text that is meant for who calls."""
    try:
        return action()
    except RecitationError as error:
        raise ToolError(str(error)) from error
