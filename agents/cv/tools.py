"""The agent's tools, which read and write the resume in the session state.

`ResumeDesk` implements them; the MCP server shares it. An edit is committed with the event that
carries its result, so a call that is repeated because its result was lost has had no effect yet:
the tools are idempotent. They run in threads because a large resume takes a while to process.
"""

import asyncio
from typing import Any, Literal

from google.adk.tools.tool_context import ToolContext

from mcp_tools.resume import ResumeDesk, described_by
from oda import idempotent

from .memory import Memory


@idempotent
@described_by(ResumeDesk.read)
async def CVReader(path: str, tool_context: ToolContext) -> dict[str, Any]:
    return await asyncio.to_thread(ResumeDesk(Memory(tool_context.state)).read, path)


@idempotent
@described_by(ResumeDesk.edit)
async def CVEditor(
    path: str,
    action: Literal["add", "update", "delete"],
    tool_context: ToolContext,
    value: str | int | float | bool | list[Any] | dict[str, Any] | None = None,
) -> dict[str, Any]:
    desk = ResumeDesk(Memory(tool_context.state))
    return await asyncio.to_thread(desk.edit, path, action, value)


@idempotent
@described_by(ResumeDesk.undo)
async def CVUndo(tool_context: ToolContext) -> dict[str, Any]:
    return await asyncio.to_thread(ResumeDesk(Memory(tool_context.state)).undo)
