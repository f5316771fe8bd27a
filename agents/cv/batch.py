"""The changes of one answer, carried out together: all of its edits or none.

ADK runs the calls of one answer at once, each on the session's state, and merges what they write.
So the call that comes first carries out all of them, and each tells its own result; what is written
is stored with the one event that has the results of all. What is pending changes with it.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

from google.adk.events import Event
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai.types import FunctionCall
from pydantic import JsonValue

from mcp_tools.resume import (
    Answer,
    Edit,
    JsonObject,
    Path,
    ResumeDesk,
    title_field,
)

from .dialogue.pending import Pending, PendingEntry
from .dialogue.phrases import phrase
from .guard import invented
from .memory import Memory, Turn, current_turn

CHANGING = ("CVEditor", "CVUndo")
"""The tools that change the resume."""
_DONE_KEY = "temp:cv_done"
"""The answers to the calls of an event, while the turn runs; never stored."""

_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
"""One for each answer whose calls run now, by the id of its event."""


async def changed_by(context: ToolContext, name: str, args: Mapping[str, Any]) -> Answer:
    """Carry out the changes of the answer that a call belongs to; return the call's own result."""
    answers = await _answers(context, FunctionCall(name=name, args=dict(args)))
    return answers[context.function_call_id or ""]


async def changes_settled(context: ToolContext) -> None:
    """Carry out the changes of the answer that a call belongs to, so that it sees the result."""
    await _answers(context, None)


async def pending_with_its_edit(
    tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, tool_response: Answer
) -> None:
    """After a call by rules: commit what it has left pending, if it has succeeded."""
    turn = current_turn(tool_context)
    if turn is None or not isinstance(tool_response, Mapping) or not tool_response.get("success"):
        return
    if turn.layer == "rules" and turn.left is not None and not turn.results:
        Memory(tool_context.state).pending = turn.left


async def _answers(context: ToolContext, alone: FunctionCall | None) -> Mapping[str, Answer]:
    event = _event_of(context)
    calls = [call for call in event.get_function_calls() if call.name in CHANGING] if event else []
    if event is None and alone:  # called without a model's answer, as by a test of the tool
        calls = [alone.model_copy(update={"id": context.function_call_id or ""})]
    batch = event.id if event else context.function_call_id or ""
    async with _locks.setdefault(batch, asyncio.Lock()):
        done = context.state.get(_DONE_KEY)
        if not isinstance(done, dict) or done.get("batch") != batch:
            answers = await asyncio.to_thread(_carried_out, context, calls) if calls else []
            by_call = {call.id: answer for call, answer in zip(calls, answers, strict=True)}
            done = {"batch": batch, "answers": by_call}
            context.state[_DONE_KEY] = done
    found: Mapping[str, Answer] = done["answers"]
    return found


def _event_of(context: ToolContext) -> Event | None:
    """Return the event of the answer that has made a call."""
    for event in reversed(context.session.events):
        if any(call.id == context.function_call_id for call in event.get_function_calls()):
            return event
    return None


def _edited_before(context: ToolContext) -> bool:
    """Tell whether the last change of the resume is an edit of the same turn."""
    for event in reversed(context.session.events):
        if event.invocation_id != context.invocation_id:
            return False
        for answer in reversed(event.get_function_responses()):
            if answer.name in CHANGING and (answer.response or {}).get("success"):
                return answer.name == "CVEditor"
    return False


def _carried_out(context: ToolContext, calls: Sequence[FunctionCall]) -> Sequence[Answer]:
    memory, turn = Memory(context.state), current_turn(context)
    by_model = turn is not None and turn.layer == "llm"
    desk = ResumeDesk(memory, goes_on=_edited_before(context))
    turn = noted_before(memory, turn)
    if turn and turn.advice:
        return [_refused(phrase("only_advice", memory.language), "only_advice") for _ in calls]
    edits = [_edit_of(call.args or {}) for call in calls if call.name == "CVEditor"]
    if not edits:
        return [desk.undo() for _ in calls]
    if len(edits) < len(calls):
        return [_refused(phrase("undo_alone", memory.language), "undo_alone") for _ in calls]
    if turn and by_model and (refused := invented(edits, memory, context)):
        memory.turn = turn.model_copy(update={"type": "clarify"})
        return refused
    answers = desk.edit_all(edits)
    if by_model and all(answer["success"] for answer in answers):
        _settle_pending(memory, edits, answers)
    return answers


def noted_before(memory: Memory, turn: Turn | None) -> Turn | None:
    """Keep the resume as it was before the model's first change of a turn; return the turn."""
    if turn and turn.layer == "llm" and turn.before is None:
        turn = turn.model_copy(update={"before": memory.resume.to_json()})
        memory.turn = turn
    return turn


def _edit_of(args: Mapping[str, Any]) -> Edit:
    return Edit(str(args.get("path", "")), str(args.get("action", "")), args.get("value"))


def _refused(error: str, code: str) -> Answer:
    return {"success": False, "path": "", "value": None, "error": error, "code": code}


def _settle_pending(memory: Memory, edits: Sequence[Edit], answers: Sequence[Answer]) -> None:
    """Drop the unfinished entries that the model has added, and the choices that it made stale."""
    pending = left = memory.pending
    for edit, answer in zip(edits, answers, strict=True):
        if edit.action == "add":
            left = _without_added(left, str(answer["path"]), answer["value"])
    if left != pending:
        memory.pending = left


def _without_added(
    pending: tuple[Pending, ...], path: str, value: JsonValue
) -> tuple[Pending, ...]:
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
