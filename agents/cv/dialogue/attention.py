"""The topic of the conversation after tools have answered, i.e. the meaning of "it"."""

from collections.abc import Iterable
from dataclasses import replace

from mcp_tools.resume import Path

from .decision import ToolCall
from .reporting import ToolResult
from .understanding.focus import Focus


def focus_after(
    focus: Focus | None, answered: Iterable[tuple[ToolCall, ToolResult]]
) -> Focus | None:
    """Return the focus after some calls; those that failed or touch no place do not move it."""
    for call, result in answered:
        if result.success and call.name in ("CVReader", "CVEditor", "CVUndo"):
            focus = _touched(call, result)
    return focus


def _touched(call: ToolCall, result: ToolResult) -> Focus | None:
    """Return the place that a call has touched; of an entry that is gone, the section is left."""
    focus = Focus.at(result.path, undone=call.name == "CVUndo")
    if focus is None:
        return None
    alone = focus.index is None and isinstance(result.value, list) and len(result.value) == 1
    if call.name == "CVReader" and alone:
        return replace(focus, index=0)
    taken = result.undone == "add" or call.params.get("action") == "delete"
    is_entry = isinstance(Path.parse(result.path).steps[-1], int) and focus.field is None
    if result.undone == "delete":
        return replace(focus, taken=True)
    if not (taken and is_entry):
        return focus
    return Focus(focus.section, undone=focus.undone, taken=not focus.undone)
