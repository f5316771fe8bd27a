"""Tasks followed through changes of the resume: entries move, and some defects go with others."""

from collections.abc import Iterable, Sequence
from datetime import date

from mcp_tools.resume.document import JsonObject, Resume, title_field
from mcp_tools.resume.labels import Language

from .defects import Defect
from .diagnose import diagnose
from .planning import Task, task_of


def followed(
    tasks: Iterable[Task], before: Resume, after: Resume, *, today: date, language: Language
) -> list[Task]:
    """Return the tasks as they stand after an edit.

    A task that is still open points to where its entry is now and names the defects that are left;
    it is done when none of them is. Ids and the other tasks stay as they are.
    """
    found = diagnose(after, today=today)
    return [
        task
        if task.status in ("done", "skipped")
        else _followed(task, found, before, after, language)
        for task in tasks
    ]


def _followed(
    task: Task, found: Sequence[Defect], before: Resume, after: Resume, language: Language
) -> Task:
    entry = task.entry if task.entry is None else _moved(task.section, task.entry, before, after)
    left = [defect for defect in found if _belongs(defect, task, entry)]
    if not left or (task.entry is not None and entry is None):
        return task.model_copy(update={"status": "done"})
    renewed = task_of(left, after, language)
    kept = {"id": task.id, "priority": task.priority, "status": task.status}
    return renewed.model_copy(update=kept)


def _belongs(defect: Defect, task: Task, entry: int | None) -> bool:
    if defect.kind != task.kind or (task.section and defect.section != task.section):
        return False
    if task.kind in ("spelling", "duplicate", "unsupported_skill"):
        return True
    if defect.entry != entry:
        return False
    return task.kind != "gap" or defect.detail["start"] == task.defects[0].detail["start"]


def _moved(section: str, index: int, before: Resume, after: Resume) -> int | None:
    """Return where an entry stands now: the same one, or else the one of its name and beginning."""
    old, new = _entries(before, section), _entries(after, section)
    if index >= len(old):
        return None
    entry = old[index]
    if index < len(new) and new[index] == entry:
        return index
    if entry in new:
        return new.index(entry)
    name = title_field(section) or ""
    alike = [n for n, other in enumerate(new) if other.get(name) == entry.get(name)]
    if index in alike:
        return index
    return alike[0] if alike else (index if len(new) == len(old) else None)


def _entries(resume: Resume, section: str) -> list[JsonObject]:
    found = resume.to_json().get(section)
    entries = found if isinstance(found, list) else []
    return [entry if isinstance(entry, dict) else {} for entry in entries]
