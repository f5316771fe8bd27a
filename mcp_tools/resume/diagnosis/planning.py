"""A plan: defects made into tasks that a person can go through one by one."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from mcp_tools.resume.document import SECTIONS, Resume
from mcp_tools.resume.labels import Language

from .defects import KINDS, SEVERITIES, Defect, Kind, Severity
from .intent import Focus, focus_of
from .wording import diagnosis_text, goal_text

Status = Literal["pending", "active", "done", "skipped"]
MAX_TASKS = 12
"""Maximum number of tasks: a person would not go through more in one sitting."""
_MAX_OF_A_KIND = 4
_MAX_OF_CONTENT = 5
"""Of what only a model has seen."""

_ONE_TASK: Mapping[Kind, Literal["resume", "section"]] = {
    "spelling": "resume",
    "duplicate": "section",
    "unsupported_skill": "section",
    "relevance": "section",
}
"""Kinds of defects that form one task for the whole resume or section."""


class Task(BaseModel):
    """One thing to mend; `defects` are of one kind, and none is left once all is mended for good.

    `section` is "" for the resume as a whole, or for defects all over it; `entry` is `None` where
    it is not about one entry.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    section: str
    entry: int | None
    kind: Kind
    diagnosis: str
    goal: str
    priority: Severity
    status: Status = "pending"
    defects: tuple[Defect, ...]


def plan(
    defects: Iterable[Defect], resume: Resume, *, intent: str = "", language: Language
) -> list[Task]:
    """Make at most `MAX_TASKS` tasks, what the intent names first, then by priority.

    Args:
        defects: As `diagnose` has found them in the resume.
        resume: Their resume.
        intent: What the person wants; may name sections, kinds of defects, or what to leave alone.
        language: Of diagnosis and goal.
    """
    focus = focus_of(intent)
    groups = [group for group in _grouped(defects) if _is_wanted(group, focus)]
    ordered = sorted(groups, key=lambda group: _rank(group, focus))
    return [
        task_of(group, resume, language, is_named=_is_named(group, focus))
        for group in _capped(ordered)
    ]


def task_of(
    defects: Sequence[Defect], resume: Resume, language: Language, *, is_named: bool = False
) -> Task:
    """Make a task of defects of one kind; what the person has named is a step more urgent."""
    first = defects[0]
    section, entry = _place(defects)
    return Task(
        id=_id(first, section, entry),
        section=section,
        entry=entry,
        kind=first.kind,
        diagnosis=diagnosis_text(defects, section, entry, resume, language),
        goal=goal_text(first.kind, language),
        priority=_priority(defects, is_named=is_named),
        defects=tuple(defects),
    )


def _id(defect: Defect, section: str, entry: int | None) -> str:
    """Name a task by what and where: "weak_verbs:work[0]"."""
    place = f"{section or 'resume'}{'' if entry is None else f'[{entry}]'}"
    if each := _each(defect):
        place = f"{place}:{each}" if defect.kind == "gap" else each
    return f"{defect.kind}:{place}"


def _grouped(defects: Iterable[Defect]) -> Iterator[list[Defect]]:
    groups: dict[tuple[object, ...], list[Defect]] = {}
    for defect in defects:
        groups.setdefault(_group_key(defect), []).append(defect)
    empty = {key[1:] for key in groups if key[0] == "buzzwords"}
    missing = any(kind == "missing_section" for kind, *_ in groups)
    for key, group in groups.items():
        is_said = key[0] in ("no_metrics", "weak_verbs") and key[1:3] in empty
        if not is_said and not (missing and key[:2] == ("too_short", "")):
            yield group


def _group_key(defect: Defect) -> tuple[object, ...]:
    scope = _ONE_TASK.get(defect.kind)
    if scope == "resume":
        return (defect.kind,)
    if scope == "section":
        return (defect.kind, defect.section)
    key = (defect.kind, defect.section, defect.entry)
    return (*key, each) if (each := _each(defect)) else key


def _each(defect: Defect) -> str:
    """Return what tells apart several tasks of one kind in one place."""
    told = {"too_long": "path", "gap": "start", "content": "path"}.get(defect.kind, "")
    return str(defect.detail.get(told) or "")


def _place(defects: Sequence[Defect]) -> tuple[str, int | None]:
    sections = {defect.section for defect in defects}
    entries = {defect.entry for defect in defects}
    if len(sections) > 1:
        return "", None
    return sections.pop(), entries.pop() if len(entries) == 1 else None


def _priority(defects: Sequence[Defect], *, is_named: bool) -> Severity:
    worst = min(SEVERITIES.index(defect.severity) for defect in defects)
    return SEVERITIES[max(worst - is_named, 0)]


def _is_named(group: Sequence[Defect], focus: Focus) -> bool:
    return group[0].kind in focus.kinds or any(d.section in focus.sections for d in group)


def _is_wanted(group: Sequence[Defect], focus: Focus) -> bool:
    if all(defect.section in focus.avoided for defect in group):
        return False
    return _is_named(group, focus) or not (focus.only and focus.is_named)


def _rank(group: Sequence[Defect], focus: Focus) -> tuple[int, ...]:
    """Named ones first, then the urgent ones, then in the order of the page, newest entry first."""
    section, entry = _place(group)
    return (
        not _is_named(group, focus),
        SEVERITIES.index(_priority(group, is_named=False)),
        ("", *SECTIONS).index(section) if section in SECTIONS else len(SECTIONS),
        -1 if entry is None else entry,
        KINDS.index(group[0].kind),
    )


def _capped(groups: Iterable[list[Defect]]) -> list[list[Defect]]:
    counts: Counter[Kind] = Counter()
    kept: list[list[Defect]] = []
    for group in groups:
        kind = group[0].kind
        counts[kind] += 1
        most = _MAX_OF_CONTENT if kind == "content" else _MAX_OF_A_KIND
        if counts[kind] <= most and len(kept) < MAX_TASKS:
            kept.append(group)
    return kept
