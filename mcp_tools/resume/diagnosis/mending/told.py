"""Drafts made from the person's answers only."""

import re
from collections.abc import Iterator

from pydantic import JsonValue

from mcp_tools.resume.dates import is_present, parse_date
from mcp_tools.resume.diagnosis.defects import Defect
from mcp_tools.resume.diagnosis.planning import Task
from mcp_tools.resume.diagnosis.vocabulary import words
from mcp_tools.resume.diagnosis.wording import read_entry
from mcp_tools.resume.document import JsonObject, Resume
from mcp_tools.resume.export.text import language_of
from mcp_tools.resume.importing.spans import find_span

from .edits import ProposedEdit, added_lines, replaced, text_at
from .needs import Answers, deed_for, needs, shorter
from .phrasing import as_line, as_lines, joined
from .told_entries import told_entries


def dates_draft(task: Task, answers: Answers) -> list[ProposedEdit]:
    """Set the given dates; "until now" removes an end."""
    defect = task.defects[0]
    changes: JsonObject = {
        name: None if is_present(answers[name]) else parse_date(answers[name])
        for name in _names(defect)
        if answers.get(name)
    }
    return [ProposedEdit(path=f"{defect.section}[{defect.entry}]", action="update", value=changes)]


def gap_draft(task: Task, resume: Resume, answers: Answers) -> list[ProposedEdit]:
    """Add an entry for the time of the gap, called what the person has called it."""
    defect, said = task.defects[0], answers["reason"]
    dated = find_span(said)
    start: JsonValue = defect.detail["start"]
    end: JsonValue = defect.detail["end"]
    if dated is not None and dated.span.start and not dated.span.alone:
        start, end = dated.span.start, dated.span.end
        said = dated.rest
    entry: JsonObject = {"startDate": start, **({"endDate": end} if end else {})}
    name = as_line(said.replace("\t", " "))
    if words().studied.search(said):
        return [_added("education", {"institution": name, **entry}, start, resume)]
    if words().volunteered.search(said):
        return [_added("volunteer", {"organization": name, **entry}, start, resume)]
    return [_added("work", {"name": name, **entry}, start, resume)]


def contact_draft(task: Task, answers: Answers) -> list[ProposedEdit]:
    """Set the given name, e-mail address and phone."""
    return [
        ProposedEdit(path=f"basics.{name}", action="update", value=answers[name])
        for name in _names(task.defects[0])
    ]


def section_draft(task: Task, answers: Answers) -> list[ProposedEdit]:
    """Add the given entries."""
    entries: list[JsonValue] = [*told_entries(task.section, answers[task.section])]
    return [ProposedEdit(path=task.section, action="add", value=entries)]


def weak_verbs_draft(task: Task, resume: Resume, answers: Answers) -> list[ProposedEdit]:
    """Replace every weak line by the deed in it, or by what the person has said instead."""
    changes = []
    for defect in task.defects:
        line = str(defect.detail["line"])
        said = deed_for(defect, resume) or _one_line(answers[line])
        changes.append((str(defect.detail["path"]), line, said))
    return replaced(resume, changes)


def lines_draft(task: Task, answer: str) -> list[ProposedEdit]:
    """Add what was said to the highlights of the entry."""
    return added_lines(f"{task.section}[{task.entry}]", as_lines(answer))


def too_short_draft(task: Task, resume: Resume, answers: Answers) -> list[ProposedEdit]:
    """Add to the entry, or to the summary."""
    if "did" in answers:
        return lines_draft(task, answers["did"])
    said, language = answers["more"].strip(), language_of([answers["more"]])
    before = "" if task.section else text_at(resume, "basics.summary")
    text = joined(before, said, language)
    return [ProposedEdit(path="basics.summary", action="update", value=text)]


def too_long_draft(task: Task, resume: Resume, answers: Answers) -> list[ProposedEdit]:
    """Keep the first sentences, part a line, or do what the person has written or named."""
    defect = task.defects[0]
    path = str(defect.detail["path"])
    if "drop" in answers:
        return list(_dropped(defect, resume, answers["drop"]))
    fitting = [answers["text"].strip()] if "text" in answers else shorter(defect, resume)
    if not fitting:
        return []
    if len(fitting) == 1:
        return [ProposedEdit(path=path, action="update", value=fitting[0])]
    holder, _, index = path.rpartition("[")
    place = int(index.rstrip("]"))
    return [
        ProposedEdit(path=path, action="update", value=fitting[0]),
        *(
            ProposedEdit(path=f"{holder}[{place + n}]", action="add", value=line)
            for n, line in enumerate(fitting[1:], start=1)
        ),
    ]


def skills_draft(task: Task, resume: Resume, answers: Answers) -> list[ProposedEdit]:
    """Tell where a skill was used, or take its level away where the person knows it less well."""
    edits: list[ProposedEdit] = []
    for need in needs(task, resume):
        skill, said = need.about.detail.get("skill"), answers[need.key]
        if words().declined.search(said):
            if need.about.entry is not None:
                path = f"skills[{need.about.entry}].level"
                edits.append(ProposedEdit(path=path, action="update", value=None))
            continue
        line = as_line(said)
        if skill and str(skill).lower() not in line.lower():
            line = f"{skill}：{line}" if language_of([line]) == "zh" else f"{skill}: {line}"
        edits += added_lines(_where(said, resume), [line])
    return edits


def asked_draft(task: Task, resume: Resume, answers: Answers) -> list[ProposedEdit]:
    """Tell where a thing was used that a job asks for, and list what was named of it."""
    said = answers["where"]
    if words().declined.search(said):
        return []
    asked = [str(item) for item in _items(task.defects[0].detail.get("skills"))]
    named = [item for item in asked if item.lower() in said.lower()]
    listed = [ProposedEdit(path="skills", action="add", value=[{"name": one} for one in named])]
    return [*added_lines(_where(said, resume), as_lines(said)), *(listed if named else [])]


def instead_draft(task: Task, answers: Answers, resume: Resume) -> list[ProposedEdit]:
    """Put what was told in the place of words that say nothing."""
    if task.section == "skills":
        entries: list[JsonValue] = [*told_entries("skills", answers["skills"])]
        return [ProposedEdit(path="skills", action="add", value=entries)]
    said = answers.get("more") or answers["instead"]
    lines = _line_details(task.defects[0])
    if task.section == "basics":
        return [ProposedEdit(path=lines[0]["path"], action="update", value=said.strip())]
    first, *others = lines
    whole = [one["path"] for one in others if one["path"].endswith("]")]
    parts = [(one["path"], one["line"], "") for one in others if one["path"] not in whole]
    gone = [ProposedEdit(path=path, action="delete") for path in reversed(whole)]
    return [*replaced(resume, [(first["path"], first["line"], _one_line(said)), *parts]), *gone]


def content_draft(task: Task, resume: Resume, answers: Answers) -> list[ProposedEdit]:
    """Put what was told in the place of the line that is objected to."""
    changes = []
    for defect in task.defects:
        line = str(defect.detail["line"])
        changes.append((str(defect.detail["path"]), line, _one_line(answers[line])))
    return replaced(resume, changes)


def _line_details(defect: Defect) -> list[dict[str, str]]:
    lines = [one for one in _items(defect.detail.get("lines")) if isinstance(one, dict)]
    return [{key: str(value) for key, value in one.items()} for one in lines]


def _items(value: JsonValue | None) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _where(said: str, resume: Resume) -> str:
    """Return the path of the job or project that is named, or else of the first one."""
    for section in ("work", "projects"):
        for number, entry in enumerate(resume.entries(section)):
            title = entry.get("name")
            if isinstance(title, str) and title and title.lower() in said.lower():
                return f"{section}[{number}]"
    return "work[0]" if resume.entries("work") else "projects[0]"


def _dropped(defect: Defect, resume: Resume, said: str) -> Iterator[ProposedEdit]:
    """Take away the lines or entries that are named, by number or by title, the last first."""
    numbers = {int(number) - 1 for number in re.findall(r"(?<!\d)\d{1,2}(?!\d)", said)}
    if defect.detail["what"] == "highlights":
        entry = read_entry(resume, defect.section, defect.entry or 0)
        lines = entry.get("highlights")
        count = len(lines) if isinstance(lines, list) else 0
        for number in sorted(numbers & {*range(count)}, reverse=True):
            yield ProposedEdit(path=f"{defect.detail['path']}[{number}]", action="delete")
        return
    for section in ("work", "projects", "volunteer", "education"):
        for number, entry in reversed(list(enumerate(resume.entries(section)))):
            title = entry.get("name") or entry.get("institution") or entry.get("organization")
            if isinstance(title, str) and title and title.lower() in said.lower():
                yield ProposedEdit(path=f"{section}[{number}]", action="delete")


def _added(section: str, entry: JsonObject, start: JsonValue, resume: Resume) -> ProposedEdit:
    """Add an entry before the first one that began earlier."""
    entries = resume.to_json().get(section)
    starts = [
        str(other.get("startDate") or "") if isinstance(other, dict) else ""
        for other in (entries if isinstance(entries, list) else [])
    ]
    place = next((n for n, other in enumerate(starts) if other and other < str(start)), len(starts))
    if not starts:
        return ProposedEdit(path=section, action="add", value=entry)
    return ProposedEdit(path=f"{section}[{place}]", action="add", value=entry)


def _one_line(answer: str) -> str:
    lines = as_lines(answer)
    return ("；" if language_of(lines) == "zh" else "; ").join(lines)


def _names(defect: Defect) -> list[str]:
    found = defect.detail.get("fields")
    return [str(name) for name in found] if isinstance(found, list) else []
