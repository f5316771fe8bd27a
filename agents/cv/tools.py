"""The agent's tools, which read and write the resume in the session state.

`ResumeDesk` implements them; the MCP server shares it. The changes of one answer are carried out
together (`batch`); an export beside them has them in it. An edit is committed with the event that
carries its result, so a call that is repeated because its result was lost has had no effect yet:
the tools are idempotent. They run in threads because a large resume takes a while to process.
"""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from google.adk.tools.tool_context import ToolContext

from mcp_tools.resume import (
    InvalidValueError,
    JsonObject,
    Language,
    NothingThereError,
    Resume,
    ResumeDesk,
    ResumeError,
    described_by,
    refusal,
)
from mcp_tools.resume.diagnosis import diagnose, plan
from mcp_tools.resume.export import Format, render
from oda import idempotent

from .batch import changed_by, changes_settled
from .files import file_name, keep_file
from .memory import Memory

_FORMATS: Mapping[str, Format] = {
    "pdf": "pdf",
    "docx": "docx",
    "word": "docx",
    "markdown": "md",
    "md": "md",
    "html": "html",
    "json": "json",
}


@idempotent
@described_by(ResumeDesk.read)
async def CVReader(path: str, tool_context: ToolContext) -> dict[str, Any]:
    return await asyncio.to_thread(ResumeDesk(Memory(tool_context.state)).read, path)


@idempotent
@described_by(ResumeDesk.edit)
async def CVEditor(
    path: str,
    action: Literal["add", "update", "delete", "move"],
    tool_context: ToolContext,
    value: str | int | float | bool | list[Any] | dict[str, Any] | None = None,
) -> dict[str, Any]:
    args = {"path": path, "action": action, "value": value}
    return await changed_by(tool_context, "CVEditor", args)


@idempotent
@described_by(ResumeDesk.undo)
async def CVUndo(tool_context: ToolContext) -> dict[str, Any]:
    return await changed_by(tool_context, "CVUndo", {})


@idempotent
async def CVExport(
    format: Literal["pdf", "docx", "markdown", "html", "json"],
    tool_context: ToolContext,
    translation: Literal["", "zh", "en"] = "",
) -> dict[str, Any]:
    """Makes a file of the user's whole resume, which the user can download.

    Args:
        format: "pdf", "docx" (Word), "markdown", "html" or "json".
        translation: "zh" or "en" for the translation that CVTranslate has kept, "" for the resume.

    Returns:
        {"success": true, "path": "", "value": {"name", "link", "media_type", "size"}}, or
        {"success": false, "path", "error"}. Tell the user the name and the link as they are.
    """
    await changes_settled(tool_context)
    memory = Memory(tool_context.state)
    language = memory.language
    try:
        resume = memory.translation(translation) if translation else memory.resume
        if resume is None:
            raise NothingThereError(path=f"translation {translation}")
        rendered = await asyncio.to_thread(render, resume, _format(format))
    except ResumeError as error:
        return refusal(error, language)
    what = f"resume-{translation}" if translation else "resume"
    name = file_name(resume, what, rendered.suffix)
    kept = await keep_file(tool_context, name, rendered.content, rendered.media_type)
    return {"success": True, "path": "", "value": kept.to_json()}


@idempotent
async def CVDiagnose(tool_context: ToolContext) -> dict[str, Any]:
    """Finds what a recruiter would object to in the user's resume, the most urgent first.

    Returns:
        {"success": true, "path": "", "value": [{"section", "priority", "finding", "goal"}]}; the
        list is empty if nothing was found.
    """
    await changes_settled(tool_context)
    memory = Memory(tool_context.state)
    try:
        resume = memory.resume
    except ResumeError as error:
        return refusal(error, memory.language)
    found = await asyncio.to_thread(_findings, resume, memory.language)
    return {"success": True, "path": "", "value": found}


def _format(name: str) -> Format:
    found = _FORMATS.get(name.strip().lower().removeprefix("."))
    if found is None:
        accepted = ", ".join(dict.fromkeys(_FORMATS.values()))
        raise InvalidValueError(path="format", expected={"zh": accepted, "en": accepted})
    return found


def _findings(resume: Resume, language: Language) -> list[JsonObject]:
    defects = diagnose(resume, today=datetime.now(tz=UTC).date(), language=None)
    return [
        {
            "section": task.section,
            "priority": task.priority,
            "finding": task.diagnosis,
            "goal": task.goal,
        }
        for task in plan(defects, resume, language=language)
    ]
