"""Tasks followed through changes of the resume: entries move, and some defects go with others."""

from collections.abc import Iterable, Sequence
from datetime import date

from mcp_tools.resume.document import JsonObject, Resume, title_field
from mcp_tools.resume.labels import Language

from .defects import Defect, Kind
from .diagnose import diagnose
from .objections import objection
from .planning import Task, task_of
from .wording import mended_text

_ANSWERED_ANEW: frozenset[Kind] = frozenset(
    {
        *("missing_dates", "impossible_dates", "missing_contact", "missing_section"),
        *("no_metrics", "too_short", "unsupported_skill", "relevance"),
    }
)
"""Kinds that another answer mends in another way; of the others nothing is left once it is done."""


def followed(
    tasks: Iterable[Task],
    before: Resume,
    after: Resume,
    *,
    today: date,
    language: Language,
    job: str = "",
) -> list[Task]:
    """Return the tasks as they stand after an edit.

    Every task points to where its entry is now. One that is still open names the defects that are
    left; it is done when none of them is. All else stays as it is.
    """
    found = diagnose(after, today=today, job=job)
    return [
        _kept(task, before, after)
        if task.status in ("done", "skipped")
        else _followed(task, found, before, after, language)
        for task in tasks
    ]


def reopened(task: Task, resume: Resume, *, today: date, language: Language, job: str = "") -> Task:
    """Return a completed task for the current resume.

    If no defects are left it says so, and keeps only defects that can be edited again.
    """
    found = diagnose(resume, today=today, job=job)
    if left := [defect for defect in found if _belongs(defect, task, task.entry)]:
        return _renewed(task, left, resume, language)
    kept = task.defects if task.kind in _ANSWERED_ANEW else ()
    said = mended_text(task.section, task.entry, resume, language)
    return task.model_copy(update={"defects": kept, "diagnosis": said})


def _followed(
    task: Task, found: Sequence[Defect], before: Resume, after: Resume, language: Language
) -> Task:
    entry = task.entry if task.entry is None else _moved(task.section, task.entry, before, after)
    if task.kind == "content":
        kept = _kept(task, before, after)
        stands = tuple(filter(None, (_stands(defect, after) for defect in kept.defects)))
        return kept.model_copy(update={"defects": stands} if stands else {"status": "done"})
    left = [defect for defect in found if _belongs(defect, task, entry)]
    if not left or (task.entry is not None and entry is None):
        return _kept(task, before, after).model_copy(update={"status": "done"})
    return _renewed(task, left, after, language)


def _stands(defect: Defect, resume: Resume) -> Defect | None:
    """Return the defect where the words now stand that are objected to; None if they are gone."""
    entry = "" if defect.entry is None else f"[{defect.entry}]"
    return objection(resume, f"{defect.section}{entry}", str(defect.detail["line"]))


def _kept(task: Task, before: Resume, after: Resume) -> Task:
    """A task with its defects as they were, at the place where its entry is now."""
    if task.entry is None:
        return task
    entry = _moved(task.section, task.entry, before, after)
    if entry is None:
        return task.model_copy(update={"entry": None, "defects": ()})
    moved = (defect.model_copy(update={"entry": entry}) for defect in task.defects)
    return task.model_copy(update={"entry": entry, "defects": tuple(moved)})


def _renewed(task: Task, left: Sequence[Defect], resume: Resume, language: Language) -> Task:
    kept = {"id": task.id, "priority": task.priority, "status": task.status}
    return task_of(left, resume, language).model_copy(update=kept)


def _belongs(defect: Defect, task: Task, entry: int | None) -> bool:
    if defect.kind != task.kind or (task.section and defect.section != task.section):
        return False
    if task.kind in ("spelling", "duplicate", "unsupported_skill", "relevance"):
        return True
    if defect.entry != entry:
        return False
    starts = [known.detail.get("start") for known in task.defects]
    return task.kind != "gap" or defect.detail["start"] in starts


def _moved(section: str, index: int, before: Resume, after: Resume) -> int | None:
    """Return an entry's current index: of the same one, or the one of its name and beginning."""
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
