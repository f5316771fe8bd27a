"""The information needed to complete a task, and checks whether an answer provides it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from mcp_tools.resume.dates import is_present, parse_date
from mcp_tools.resume.diagnosis.defects import Defect
from mcp_tools.resume.diagnosis.measures import measures
from mcp_tools.resume.diagnosis.months import Months, written_date
from mcp_tools.resume.diagnosis.planning import Task
from mcp_tools.resume.diagnosis.reading import length
from mcp_tools.resume.diagnosis.rules.contents import is_contact
from mcp_tools.resume.diagnosis.rules.statements import weak_opening
from mcp_tools.resume.diagnosis.vocabulary import words
from mcp_tools.resume.diagnosis.wording import place_text, question_texts, read_entry
from mcp_tools.resume.document import Resume
from mcp_tools.resume.errors import InvalidDateError
from mcp_tools.resume.importing.spans import find_span
from mcp_tools.resume.labels import Language

from .edits import text_at
from .phrasing import as_deed, parted, shortened
from .told_entries import told_entries

Answers = Mapping[str, str]
"""The person's answers, by the key of the need."""


@dataclass(frozen=True, slots=True)
class Need:
    """Something to be asked; `about` is the defect, `topic` the name of the question."""

    key: str
    topic: str
    about: Defect


def needs(task: Task, resume: Resume) -> list[Need]:
    """Return what has to be asked for a task; nothing for a mechanical one."""
    return [need for defect in task.defects for need in _needs(defect, resume)]


def missing(task: Task, resume: Resume, answers: Answers) -> list[str]:
    """Return the keys of open questions; a draft can be made if there are none."""
    asked = needs(task, resume)
    left = [need for need in asked if not answers_need(need, answers.get(need.key, ""), resume)]
    if task.defects and task.kind in ("missing_dates", "impossible_dates"):
        return _missing_dates(task.defects[0], left, resume, answers)
    return [need.key for need in left]


def questions(
    task: Task, resume: Resume, *, language: Language, answers: Answers | None = None
) -> list[str]:
    """Return what to ask, the most needed first; nothing when all is known."""
    open_keys = missing(task, resume, answers or {})
    asked = [need for need in needs(task, resume) if need.key in open_keys]
    place = place_text(task.section, task.entry, resume, language)
    texts = [question_texts(need.topic, place, need.about, language) for need in asked]
    firsts, others = [some[0] for some in texts], [text for some in texts for text in some[1:]]
    return list(dict.fromkeys([*firsts, *others]))


def answers_need(need: Need, answer: str, resume: Resume) -> bool:
    """Tell whether an answer is one: a date for a date, a number for a result."""
    check = _CHECKS.get(need.topic)
    return bool(answer.strip()) and (check is None or check(answer, need, resume))


def deed_for(defect: Defect, resume: Resume) -> str | None:
    """Return the deed that a weak line tells already, if it does."""
    entry = read_entry(resume, defect.section, defect.entry or 0)
    end = str(entry.get("endDate") or "")
    return as_deed(str(defect.detail["line"]), "past" if end else "present")


def shorter(defect: Defect, resume: Resume) -> list[str] | None:
    """Return a text that is too long as texts that fit, if it has sentences to leave or part."""
    text, limit = text_at(resume, str(defect.detail["path"])), _number(defect.detail["limit"])
    if defect.detail["what"] == "highlight":
        return parted(text, limit)
    found = shortened(text, limit)
    return [found] if found else None


def _needs(defect: Defect, resume: Resume) -> Iterator[Need]:
    match defect.kind:
        case "missing_dates" | "impossible_dates" | "missing_contact":
            for name in _fields(defect):
                yield Need(name, name, defect)
        case "gap":
            yield Need("reason", "reason", defect)
        case "no_metrics":
            yield Need("result", "result", defect)
        case "weak_verbs" if deed_for(defect, resume) is None:
            yield Need(str(defect.detail["line"]), "line", defect)
        case "missing_section":
            yield Need(defect.section, defect.section, defect)
        case "too_long" if defect.detail["what"] in ("resume", "highlights"):
            yield Need("drop", "drop", defect)
        case "too_long" if shorter(defect, resume) is None:
            yield Need("text", "text", defect)
        case "too_short":
            topic = "did" if defect.detail["what"] == "entry" else "more"
            yield Need(topic, topic, defect)
        case "buzzwords" if defect.section == "skills":
            yield Need("skills", "skills", defect)
        case "buzzwords":
            topic = "more" if defect.section == "basics" else "instead"
            yield Need(topic, topic, defect)
        case "content":
            topic = "more" if defect.section == "basics" else "line"
            yield Need(str(defect.detail["line"]), topic, defect)
        case "relevance":
            yield Need("where", "asked", defect)
        case "unsupported_skill":
            name = str(defect.detail.get("skill", ""))
            yield Need(f"where {name}".strip(), "where", defect)
        case _:
            pass


def _is_date(answer: str, need: Need, _: Resume) -> bool:
    if need.topic == "endDate" and is_present(answer):
        return True
    try:
        return parse_date(answer) is not None
    except InvalidDateError:
        return False


def _is_weight(answer: str, need: Need, _: Resume) -> bool:
    limit = _number(need.about.detail.get("limit"))
    if need.about.kind == "too_long":
        return length(answer) <= limit
    return length(answer) >= limit


def _is_deed(answer: str, _: Need, __: Resume) -> bool:
    dated = find_span(answer)
    said = answer if dated is None else dated.rest
    has_words = any(char.isalpha() for char in said)
    return has_words and not weak_opening(answer) and not words().declined.search(answer)


def _is_contact(answer: str, need: Need, _: Resume) -> bool:
    return is_contact(need.topic, answer)


def _tells_entry(answer: str, need: Need, _: Resume) -> bool:
    return bool(told_entries(need.topic, answer))


_CHECKS: Mapping[str, Callable[[str, Need, Resume], bool]] = {
    **dict.fromkeys(("startDate", "endDate", "date", "releaseDate"), _is_date),
    **dict.fromkeys(("name", "email", "phone"), _is_contact),
    **dict.fromkeys(("work", "education", "skills"), _tells_entry),
    **dict.fromkeys(("text", "more", "did", "instead"), _is_weight),
    "line": _is_deed,
    "result": lambda answer, _, __: measures(answer),
}


def _missing_dates(defect: Defect, left: list[Need], resume: Resume, answers: Answers) -> list[str]:
    """Ask for both dates again where they do not fit; one is enough where it makes them fit."""
    fields = _fields(defect)
    entry = read_entry(resume, defect.section, defect.entry or 0)
    start, end = (
        _months(answers.get(name) or str(entry.get(name) or ""))
        for name in ("startDate", "endDate")
    )
    fits = start is None or end is None or end.last >= start.first
    if not fits:
        return fields
    one_is_enough = defect.detail.get("reason") == "end_before_start" and len(left) < len(fields)
    return [] if one_is_enough else [need.key for need in left]


def _months(text: str) -> Months | None:
    return None if is_present(text) else written_date(text).months


def _fields(defect: Defect) -> list[str]:
    found = defect.detail.get("fields")
    return [str(name) for name in found] if isinstance(found, list) else []


def _number(value: JsonValue | None) -> int:
    return value if isinstance(value, int) else 0
