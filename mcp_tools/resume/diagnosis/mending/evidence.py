"""Whether a statement answers what was asked: what shows that it is meant for the resume.

A date answers the question for a date. What is told in free words must look like it: a deed, a
school, a list of skills. What does not is neither taken nor thrown away; the person is asked.
"""

import itertools
import re
from collections.abc import Callable, Mapping

from mcp_tools.resume.dates import DATE_PATTERN
from mcp_tools.resume.diagnosis.measures import measures
from mcp_tools.resume.diagnosis.planning import Task
from mcp_tools.resume.diagnosis.reading import length
from mcp_tools.resume.diagnosis.verbs import opening_of
from mcp_tools.resume.diagnosis.vocabulary import names, words
from mcp_tools.resume.document import Resume

from .edits import text_at
from .gathering import gather
from .needs import Need, needs

_LONGEST_DATE = 120
_FEWEST_WORDS = 3
_FEWEST_SIGNS = 4
_FEWEST_MEASURED = 6
"""Words or characters of a line that is no deed, but has a figure."""
_HAN = re.compile(r"[\u3400-\u9fff]")
_PARTICIPLE = re.compile(r"[A-Za-z-]{3,}(?:ed|ing)\b")
_POINTING = re.compile(r"(?:it|this|that|them|me|us|so)\b|these$|those$", re.IGNORECASE)
_DATE = re.compile(DATE_PATTERN, re.IGNORECASE)
_LIST = re.compile(r"[,，、;；/\n]|\s+and\s+|和|以及")
_NAME = re.compile(r"(?:[\u3400-\u9fff]{2,4}(?:·[\u3400-\u9fff]{1,8})?|(?:[A-Z][\w.'-]*\s?){1,5})")
_ALIKE = 0.4
"""The part of its words that a shorter version of a text shares with it at least."""


def is_answer(task: Task, resume: Resume, message: str) -> bool:
    """Tell whether a statement is evidently an answer to the questions of a task."""
    asked = {need.key: need for need in needs(task, resume)}
    told = gather(task, resume, message, {})
    return bool(told) and all(_is_evident(asked[key], text, resume) for key, text in told.items())


def tells_deed(text: str) -> bool:
    """Tell whether a text says what somebody has done, as a line of a resume does."""
    said = words().first_person.sub("", text.strip())
    if _HAN.search(said):
        return len(_HAN.findall(said)) >= _FEWEST_SIGNS and bool(words().deed_zh.search(said))
    tokens = said.split()
    if len(tokens) < _FEWEST_WORDS:
        return False
    opening = opening_of(said)
    if opening is None:
        return bool(_PARTICIPLE.match(said)) and not words().no_deed_en.match(said)
    if _POINTING.match(said[opening.stop :].lstrip()):
        return False
    is_order = opening.tense == "present" and opening.is_plain and said == text.strip()
    return not (is_order and words().orders_en.match(said))


def _is_evident(need: Need, text: str, resume: Resume) -> bool:
    check = _CHECKS.get(need.topic)
    return check is None or check(text, need, resume)


def _is_dated(text: str, *_: object) -> bool:
    return len(text) <= _LONGEST_DATE


def _is_name(text: str, *_: object) -> bool:
    return bool(_NAME.fullmatch(text))


def _is_school(text: str, *_: object) -> bool:
    return bool(words().schools.search(text) or _DATE.search(text))


def _are_skills(text: str, *_: object) -> bool:
    bare = words().lead_in.sub("", text.strip())
    items = [item.strip() for item in _LIST.split(bare) if item.strip()]
    known = any(map(_is_tool, items))
    short = all(length(item) <= 8 for item in items)
    return bare != text.strip() or known or (len(items) > 1 and short)


def _is_tool(item: str) -> bool:
    return names().is_known(item) or (length(item) <= 2 and bool(names().typed.search(item)))


def _is_deed(text: str, *_: object) -> bool:
    return tells_deed(text) or (measures(text) and length(text) >= _FEWEST_MEASURED)


def _is_result(text: str, *_: object) -> bool:
    return measures(text)


def _is_reason(text: str, *_: object) -> bool:
    patterns = (words().breaks, words().studied, words().volunteered, words().occupied)
    return tells_deed(text) or any(pattern.search(text) for pattern in patterns)


def _introduces(text: str, *_: object) -> bool:
    return length(text) >= 2 * _FEWEST_SIGNS and (
        tells_deed(text) or bool(words().introduced.search(text))
    )


def _is_rewritten(text: str, need: Need, resume: Resume) -> bool:
    """Tell whether a text is a version of the one that is too long."""
    before = _pieces(text_at(resume, str(need.about.detail["path"])))
    pieces = _pieces(text)
    return bool(pieces) and len(pieces & before) >= _ALIKE * len(pieces)


def _pieces(text: str) -> set[str]:
    signs = _HAN.findall(text)
    long_ones = re.findall(r"[a-z\d]{3,}", text.lower())
    return {*long_ones, *map("".join, itertools.pairwise(signs))}


def _drops(text: str, need: Need, resume: Resume) -> bool:
    if re.search(r"\d|[一二三四五六七八九十]", text):
        return True
    titles = (
        str(entry.get("name") or entry.get("institution") or entry.get("organization") or "")
        for section in ("work", "projects", "volunteer", "education")
        for entry in resume.entries(section)
    )
    return any(title and title.lower() in text.lower() for title in titles)


_CHECKS: Mapping[str, Callable[[str, Need, Resume], bool]] = {
    **dict.fromkeys(("startDate", "endDate", "date", "releaseDate"), _is_dated),
    "name": _is_name,
    "education": _is_school,
    "skills": _are_skills,
    "reason": _is_reason,
    **dict.fromkeys(("line", "did", "where", "asked", "instead"), _is_deed),
    "result": _is_result,
    "more": _introduces,
    "text": _is_rewritten,
    "drop": _drops,
}
