"""The tools of the agent: they read and write the resume in the session state.

An edit commits with the event that carries its result, so a call that is repeated because its
result was lost has not happened before: the tools are idempotent.
"""

import json
from collections.abc import Callable
from typing import Any, Literal

from google.adk.tools.tool_context import ToolContext
from pydantic import JsonValue

from mcp_tools.resume import ResumeError, edit, read, record, undo
from oda import idempotent

from .memory import Memory


@idempotent
async def CVReader(path: str, tool_context: ToolContext) -> dict[str, Any]:
    """Reads a section, an entry or a field of the user's resume (JSON Resume).

    Args:
        path: What to read: "work", "work[0]", "work[0].position", "basics.name"; "" for all of it.

    Returns:
        {"success": true, "path", "value"}, or {"success": false, "path", "error"}.
    """
    memory = Memory(tool_context.state)
    return _answered(memory, path, lambda: (path, read(memory.resume, path)))


@idempotent
async def CVEditor(
    path: str,
    action: Literal["add", "update", "delete"],
    tool_context: ToolContext,
    value: str | int | float | bool | list[Any] | dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Edits the user's resume (JSON Resume).

    Args:
        path: Where: "work" to add a job, "work[0]" or "work[0].position" to change one,
            "basics.name", "skills".
        action: "add" appends an entry to a section, "update" sets a field or merges the fields of
            an entry, "delete" takes an entry or a field away.
        value: The entry, as an object with JSON Resume's field names, or the value of the field.
            Dates are "2021", "2021-07" or "2021-07-01"; leave endDate out for "until now".

    Returns:
        {"success": true, "path", "value"}, or {"success": false, "path", "error"}.
    """
    memory = Memory(tool_context.state)

    def change() -> tuple[str, JsonValue]:
        edited = edit(memory.resume, path, action, _decoded(value))
        memory.history = record(memory.history, edited)
        memory.resume = edited.resume
        return edited.path, edited.value

    return _answered(memory, path, change)


@idempotent
async def CVUndo(tool_context: ToolContext) -> dict[str, Any]:
    """Takes back the last edit of the user's resume; can be called several times.

    Returns:
        {"success": true, "path", "undone": the action taken back}, or {"success": false, "error"}.
    """
    memory = Memory(tool_context.state)
    taken: dict[str, str] = {}

    def take_back() -> tuple[str, JsonValue]:
        undone = undo(memory.resume, memory.history)
        memory.history = undone.history
        memory.resume = undone.resume
        taken["undone"] = undone.record["action"]
        return undone.record["path"], None

    return _answered(memory, "", take_back) | taken


def _answered(
    memory: Memory, path: str, operation: Callable[[], tuple[str, JsonValue]]
) -> dict[str, Any]:
    """Run an operation; what is wrong with it becomes a friendly answer in the user's language."""
    try:
        where, value = operation()
    except ResumeError as error:
        message = error.message(memory.language)
        return {
            "success": False,
            "path": path,
            "value": None,
            "error": message,
            "code": error.code,
        }
    return {"success": True, "path": where, "value": value}


def _decoded(value: JsonValue) -> JsonValue:
    """Models sometimes send an object as its JSON text."""
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        try:
            decoded: JsonValue = json.loads(value)
        except ValueError:
            return value
        return decoded
    return value
