"""The tools of the agent: they read and write the resume in the session state.

What they do and say is `ResumeDesk`'s, which the MCP server shares. An edit commits with the event
that carries its result, so a call that is repeated because its result was lost has not happened
before: the tools are idempotent.
"""

from typing import Any, Literal

from google.adk.tools.tool_context import ToolContext

from mcp_tools.resume import ResumeDesk, described_by
from oda import idempotent

from .memory import Memory


@idempotent
@described_by(ResumeDesk.read)
async def CVReader(path: str, tool_context: ToolContext) -> dict[str, Any]:
    return ResumeDesk(Memory(tool_context.state)).read(path)


@idempotent
@described_by(ResumeDesk.edit)
async def CVEditor(
    path: str,
    action: Literal["add", "update", "delete"],
    tool_context: ToolContext,
    value: str | int | float | bool | list[Any] | dict[str, Any] | None = None,
) -> dict[str, Any]:
    return ResumeDesk(Memory(tool_context.state)).edit(path, action, value)


@idempotent
@described_by(ResumeDesk.undo)
async def CVUndo(tool_context: ToolContext) -> dict[str, Any]:
    return ResumeDesk(Memory(tool_context.state)).undo()
