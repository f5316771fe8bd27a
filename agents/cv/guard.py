"""Checks and bookkeeping around each tool call.

Before an edit of the model: facts of hard kinds that were never given cause a refusal
(`mcp_tools.resume.facts`). After a success: the pending state changes with the edit, in the event
that carries its result, so that neither can be stored without the other.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from google.adk.events import Event
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from pydantic import JsonValue

from mcp_tools.resume import (
    EditRecord,
    JsonObject,
    Language,
    Operation,
    Path,
    Resume,
    ResumeDesk,
    title_field,
)
from mcp_tools.resume.access import texts_in
from mcp_tools.resume.facts import Known, unsaid_by

from .dialogue.pending import Pending, PendingEntry
from .dialogue.phrases import joined, phrase
from .memory import Memory, current_turn

Answer = dict[str, Any]

UNSAID = "unsaid"
"""The code of the refusal."""
_MOST_TOLD = 8


async def nothing_invented(
    tool: BaseTool, args: dict[str, Any], tool_context: ToolContext
) -> Answer | None:
    """Refuse an edit of the model that states what neither the person nor the resume has said."""
    memory = Memory(tool_context.state)
    turn = current_turn(tool_context)
    if turn is None or turn.layer != "llm" or tool.name == "CVReader":
        return None
    before = turn.before if turn.before is not None else memory.resume.to_json()
    facts: list[str] = []
    if tool.name == "CVEditor":
        facts = await asyncio.to_thread(_unsaid, memory, tool_context, args)
    kind = "clarify" if facts else turn.type
    memory.turn = turn.model_copy(update={"before": before, "type": kind})
    if not facts:
        return None
    told = joined((f"“{fact}”" for fact in facts[:_MOST_TOLD]), memory.language)
    error = phrase("unsaid", memory.language, facts=told)
    path = str(args.get("path", ""))
    return {"success": False, "path": path, "value": None, "error": error, "code": UNSAID}


async def pending_with_its_edit(
    tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, tool_response: Answer
) -> None:
    """After a call: commit what it has left pending, if it has succeeded."""
    memory = Memory(tool_context.state)
    turn = current_turn(tool_context)
    if turn is None or not isinstance(tool_response, Mapping) or not tool_response.get("success"):
        return
    if turn.layer == "rules" and turn.left is not None and not turn.results:
        memory.pending = turn.left
    elif turn.layer == "llm" and tool.name == "CVEditor" and args.get("action") == "add":
        pending = memory.pending
        left = _without_added(pending, str(tool_response["path"]), tool_response.get("value"))
        if left != pending:
            memory.pending = left


def _unsaid(memory: Memory, context: ToolContext, args: Mapping[str, Any]) -> list[str]:
    """Return the facts in an edit that were never given."""
    return unsaid_by(_operations(memory, args), _known(memory, context))


@dataclass
class _Draft:
    """A resume on which an edit is tried."""

    resume: Resume
    language: Language
    history: list[EditRecord] = field(default_factory=list)


def _operations(memory: Memory, args: Mapping[str, Any]) -> list[Operation]:
    """Return the changes of an edit; empty if it cannot be made, which the tool will report."""
    draft = _Draft(memory.resume, memory.language)
    desk = ResumeDesk(draft)
    desk.edit(str(args.get("path", "")), args.get("action", "update"), args.get("value"))
    return [operation for record in draft.history for operation in record["patch"]]


def _known(memory: Memory, context: ToolContext) -> Known:
    said = [
        *_said(context.session.events),
        *_said_now(context),
        *(text for item in memory.pending for text in texts_in(item.model_dump(mode="json"))),
        *_texts_of_edits(memory),
    ]
    return Known.beside(memory.resume, said, today=datetime.now(tz=UTC).date())


def _said(events: Sequence[Event]) -> Iterator[str]:
    """The person's own words, as far back as the session is loaded."""
    for event in events:
        if event.author == "user" and event.content and not event.actions.compaction:
            yield from (part.text for part in event.content.parts or [] if part.text)


def _said_now(context: ToolContext) -> Iterator[str]:
    content = context.user_content
    yield from (part.text for part in (content and content.parts) or [] if part.text)


def _texts_of_edits(memory: Memory) -> Iterator[str]:
    """Yield earlier texts of the resume, which a person may want back."""
    for edit in memory.history:
        for operation in (*edit["patch"], *edit["inverse"]):
            yield from texts_in(operation.get("value"))


def _without_added(
    pending: tuple[Pending, ...], path: str, value: JsonValue
) -> tuple[Pending, ...]:
    """Drop the unfinished entries that the model has added, and the choices that it made stale."""
    section = Path.parse(path).section
    added = value if isinstance(value, list) else [value]
    return tuple(
        item
        for item in pending
        if not isinstance(item, PendingEntry)
        or item.section != section
        or not any(_is_same(item, entry) for entry in added if isinstance(entry, dict))
    )


def _is_same(item: PendingEntry, entry: JsonObject) -> bool:
    title = title_field(item.section) or "name"
    one, other = (str(data.get(title) or "").casefold() for data in (item.data, entry))
    return not one or (bool(other) and (one in other or other in one))
