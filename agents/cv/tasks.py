"""Tools for whole tasks: files that were attached, a job description, a translation, a letter."""

import asyncio
import re
from datetime import UTC, datetime
from typing import Any, Literal

from google.adk.tools.tool_context import ToolContext

from mcp_tools.resume import (
    Answer,
    JsonObject,
    Operation,
    Resume,
    ResumeError,
    diff,
    exchange,
    load_resume,
    record,
    refusal,
)
from mcp_tools.resume.errors import NothingFoundError, TranslationDiffersError
from mcp_tools.resume.export import Format, render
from mcp_tools.resume.facts import unsaid_by
from mcp_tools.resume.fit import fit, job_in
from mcp_tools.resume.importing import import_resume, read_text
from oda import idempotent, read_apart, untrusted

from .batch import changes_settled, noted_before
from .files import attached, file_name, keep_file
from .guard import UNSAID, known_facts, unsaid_error
from .memory import Memory, current_turn

_LONGEST_TEXT = 20_000
_SALUTATION = re.compile(
    r"\W*(?:(?:dear|to|hi|hello|sincerely|best|kind|warm|yours|regards)\b|尊敬的|敬爱的|此致|敬礼|您好)"
    r"[^.。]{0,60}$|#+ ",
    re.IGNORECASE,
)
"""A line of a letter that states nothing: who is greeted, how it ends, a heading."""


@idempotent
@untrusted
async def CVFile(name: str, tool_context: ToolContext) -> Answer:
    """Reads the text of a file of this conversation (PDF, DOCX, Markdown, text or JSON).

    Args:
        name: The file's name, as it was attached.

    Returns:
        {"success": true, "path": "", "value": its text}, or {"success": false, "error"}.
    """
    try:
        text = await _text_of(tool_context, name)
    except ResumeError as error:
        return refusal(error, Memory(tool_context.state).language)
    return {"success": True, "path": "", "value": text[:_LONGEST_TEXT]}


@idempotent
async def CVImport(name: str, tool_context: ToolContext) -> Answer:
    """Makes an attached file (PDF, DOCX, Markdown, text or JSON) the user's resume.

    It takes the place of what is there, as one edit that can be undone.

    Args:
        name: The file's name, as it was attached.

    Returns:
        {"success": true, "path": "", "value": {"name", "format", "sections": how many entries of
        each, "not_understood": [what could not be placed]}}. Tell the user what was not understood.
    """
    await changes_settled(tool_context)
    memory = Memory(tool_context.state)
    try:
        content = await attached(tool_context, name)
        imported = await import_resume(content, filename=name, read=read_apart)
    except ResumeError as error:
        return refusal(error, memory.language)
    await asyncio.to_thread(_replace, memory, tool_context, imported.resume)
    value: JsonObject = {
        "name": name,
        "format": imported.format,
        "sections": _counts(imported.resume),
        "not_understood": list(imported.warnings),
    }
    return {"success": True, "path": "", "value": value}


@idempotent
async def CVFit(tool_context: ToolContext, file: str = "") -> Answer:
    """Compares the user's resume with the job description that the user has pasted or attached.

    Args:
        file: The name of the attached file; "" for the description in the user's messages.

    Returns:
        {"success": true, "path": "", "value": {"asked": [{"term", "shown": [paths]}], "missing":
        [terms]}}. Never add to the resume what is missing: ask the user whether they have it.
    """
    memory = Memory(tool_context.state)
    try:
        job = await _text_of(tool_context, file) if file else _job_said(tool_context)
        found = await asyncio.to_thread(fit, memory.resume, job)
    except ResumeError as error:
        return refusal(error, memory.language)
    value: JsonObject = {
        "asked": [{"term": one.term, "shown": list(one.shown)} for one in found],
        "missing": [one.term for one in found if not one.shown],
    }
    return {"success": True, "path": "", "value": value}


@idempotent
async def CVTranslate(
    language: Literal["zh", "en"], document: dict[str, Any], tool_context: ToolContext
) -> Answer:
    """Keeps a translation of the whole resume as a second document; the resume stays as it is.

    Args:
        language: The language of the translation.
        document: The translated resume (JSON Resume): the same entries in the same order, with the
            same dates and numbers.

    Returns:
        {"success": true, "path": "", "value": [{"name", "link", …} of files with it]}. Tell the
        user the names and links as they are. CVExport makes other files of it.
    """
    memory = Memory(tool_context.state)
    try:
        translated = load_resume(document)
        _check_alike(memory.resume, translated)
    except ResumeError as error:
        return refusal(error, memory.language)
    unsaid = await asyncio.to_thread(_unsaid_in_translation, memory, tool_context, translated)
    if unsaid is not None:
        return _invented(unsaid)
    memory.keep_translation(language, translated)
    files = []
    formats: tuple[Format, ...] = ("md", "json")
    for format in formats:
        rendered = await asyncio.to_thread(render, translated, format, language=language)
        name = file_name(translated, f"resume-{language}", rendered.suffix)
        kept = await keep_file(tool_context, name, rendered.content, rendered.media_type)
        files.append(kept.to_json())
    return {"success": True, "path": "", "value": files}


@idempotent
async def CVWrite(
    kind: Literal["cover_letter", "summary"],
    text: str,
    tool_context: ToolContext,
    addressed_to: str = "",
) -> Answer:
    """Keeps a cover letter or a summary that you have written from the resume as a file.

    Args:
        kind: What it is.
        text: The whole text, in Markdown, with nothing in it that the resume or the user has not
            said.
        addressed_to: Of a cover letter: company and position that it is for.

    Returns:
        {"success": true, "path": "", "value": {"name", "link", "media_type", "size"}}. Tell the
        user the name and the link as they are.
    """
    memory = Memory(tool_context.state)
    unsaid = await asyncio.to_thread(_unsaid_in_text, memory, tool_context, text, addressed_to)
    if unsaid is not None:
        return _invented(unsaid)
    name = file_name(memory.resume, kind.replace("_", "-"), ".md")
    kept = await keep_file(tool_context, name, text.encode(), "text/markdown; charset=utf-8")
    return {"success": True, "path": "", "value": kept.to_json()}


async def _text_of(context: ToolContext, name: str) -> str:
    return await read_text(await attached(context, name), filename=name, read=read_apart)


def _job_said(context: ToolContext) -> str:
    """Return the job description that was pasted last.

    Raises:
        NothingFoundError: there is none.
    """
    said = [event.content for event in context.session.events if event.author == "user"]
    for content in (context.user_content, *reversed(said)):
        for part in (content and content.parts) or []:
            if part.text and (job := job_in(part.text)[1]):
                return job
    raise NothingFoundError(
        reason={"zh": "消息里没有职位描述", "en": "there is no job description in the messages"}
    )


def _replace(memory: Memory, context: ToolContext, imported: Resume) -> None:
    noted_before(memory, current_turn(context))
    edited = exchange(memory.resume, imported)
    memory.history = record(memory.history, edited)
    memory.resume = edited.resume


def _counts(resume: Resume) -> JsonObject:
    document = resume.to_json()
    return {
        name: len(value) if isinstance(value, list) else 1
        for name, value in document.items()
        if value and name != "meta"
    }


def _check_alike(original: Resume, translated: Resume) -> None:
    """Check that a translation has the entries of the original.

    Raises:
        TranslationDiffersError: it has more or fewer in a section.
    """
    one, other = _counts(original), _counts(translated)
    for section in {**one, **other}:
        if one.get(section, 0) != other.get(section, 0):
            raise TranslationDiffersError(
                section=section, has=other.get(section, 0), should=one.get(section, 0)
            )


def _unsaid_in_translation(memory: Memory, context: ToolContext, translated: Resume) -> str | None:
    before, after = memory.resume.to_json(), translated.to_json()
    for document in (before, after):
        document.pop("meta", None)
    facts = unsaid_by(diff(before, after), known_facts(memory, context), before=before)
    return unsaid_error(facts, memory.language)


def _unsaid_in_text(
    memory: Memory, context: ToolContext, text: str, addressed_to: str
) -> str | None:
    today = datetime.now(tz=UTC).date()
    known = known_facts(memory, context, addressed_to, today.isoformat())
    body = "\n".join(line for line in text.splitlines() if not _SALUTATION.match(line))
    change: Operation = {"op": "add", "path": "/basics/summary", "value": body}
    return unsaid_error(unsaid_by([change], known), memory.language)


def _invented(error: str) -> Answer:
    return {"success": False, "path": "", "value": None, "error": error, "code": UNSAID}
