"""Words that anybody could write of themselves, where a deed or a tool should stand."""

import re
from collections.abc import Iterator

from pydantic import JsonValue

from mcp_tools.resume.diagnosis.defects import Defect
from mcp_tools.resume.diagnosis.measures import measures
from mcp_tools.resume.diagnosis.reading import Line, Reading, length, statements
from mcp_tools.resume.diagnosis.vocabulary import words

_MOSTLY = 0.34
"""The part of a text's words from which it is empty."""
_SHORTEST = {"en": 6, "zh": 10}
"""Words or characters that are to be told instead."""
_FEWEST_SKILLS = 2
_LITTLE = re.compile(
    r"\b(?:a|an|the|and|or|of|in|to|with|for|my|i|am|is|who|that|by|on|at|as)\b", re.IGNORECASE
)


def buzzwords(reading: Reading) -> Iterator[Defect]:
    """Find a summary, jobs and projects of empty words, and skills that name no tool."""
    summary = reading.basic("summary")
    empty = [*statements("basics.summary", "summary", summary)]
    if empty and is_empty(summary):
        yield _defect(reading, "basics", None, [Line("basics.summary", "summary", summary)])
    for section in ("work", "volunteer", "projects"):
        for entry in reading.filled(section):
            if lines := [line for line in entry.lines if is_empty(line.text)]:
                yield _defect(reading, section, entry.index, lines)
    skills = reading.filled("skills")
    named = [item for skill in skills for item in (skill.title, *skill.texts("keywords")) if item]
    if len(named) >= _FEWEST_SKILLS and all(words().soft_skills.search(item) for item in named):
        yield Defect(
            kind="buzzwords",
            section="skills",
            detail={"lines": [], "texts": [*named], "what": "skills"},
        )


def is_empty(text: str) -> bool:
    """Tell whether a text is made of words that anybody could write, and measures nothing."""
    if measures(text):
        return False
    found = [match[0] for match in words().buzz.finditer(text)]
    said = length(_LITTLE.sub(" ", text))
    taken = sum(length(_LITTLE.sub(" ", one)) for one in found)
    return bool(found) and said > 0 and taken >= _MOSTLY * said


def _defect(reading: Reading, section: str, entry: int | None, lines: list[Line]) -> Defect:
    told: list[JsonValue] = [{"path": line.path, "line": line.text} for line in lines]
    found = (match[0] for line in lines for match in words().buzz.finditer(line.text))
    detail = {
        "lines": told,
        "texts": [*dict.fromkeys(found)],
        "limit": _SHORTEST[reading.language],
        "what": "summary" if section == "basics" else "lines",
    }
    return Defect.model_validate(
        {"kind": "buzzwords", "section": section, "entry": entry, "detail": detail}
    )
