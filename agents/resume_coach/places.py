"""Which task a person means who wants to be somewhere else."""

import re
from collections.abc import Sequence

from mcp_tools.resume import title_field
from mcp_tools.resume.diagnosis import Task
from mcp_tools.resume.importing.vocabulary import headings

from .state import CoachState

_NUMBERED = re.compile(
    r"(?:第|task|no\.?|#)?\s*(?P<number>\d{1,3}|[一二三四五六七八九十]{1,2})\s*[个项条步号]?(?:任务)?"
)
_NUMERALS = {numeral: number for number, numeral in enumerate("一二三四五六七八九十", 1)}
_LAST = re.compile(r"|previous|last|上一[个项条步](?:任务)?")


def task_meant(target: str, state: CoachState) -> Task | None:
    """Return the task that a person refers to.

    Args:
        target: A number, the name of a section, the name of an entry, a task's id, or "" for the
            task before the current one.

    Returns:
        Of several tasks an unfinished one if possible, else the first; None without a match.
    """
    said = target.strip().lower()
    if _LAST.fullmatch(said):
        return _before(state)
    if number := _NUMBERED.fullmatch(said):
        index = _number(number["number"]) - 1
        return state.tasks[index] if 0 <= index < len(state.tasks) else None
    meant = [task for task in state.tasks if said in _names(task, state)]
    return next((task for task in meant if task.status in ("pending", "active")), None) or next(
        iter(meant), None
    )


def _before(state: CoachState) -> Task | None:
    ids = [task.id for task in state.tasks]
    index = ids.index(state.current_task) if state.current_task in ids else len(ids)
    return state.tasks[index - 1] if index > 0 else None


def _number(said: str) -> int:
    if said.isdigit():
        return int(said)
    return sum(_NUMERALS[numeral] for numeral in said)


def _names(task: Task, state: CoachState) -> Sequence[str]:
    """Return the names of a task, in lower case."""
    sections = [word for word, section in headings().sections.items() if section == task.section]
    names = [task.id, task.section, *sections]
    if task.entry is not None:
        entries = state.resume.get(task.section)
        entry = (
            entries[task.entry] if isinstance(entries, list) and task.entry < len(entries) else None
        )
        title = entry.get(title_field(task.section) or "") if isinstance(entry, dict) else None
        names += [title] if isinstance(title, str) else []
    return [name.lower() for name in names if name]
