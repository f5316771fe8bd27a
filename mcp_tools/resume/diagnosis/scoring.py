"""How good a resume is: what it measures, each from 0 to 100, and one number of all of it.

Only what tells something counts: a line that says neither what was done nor what came of it adds
nothing, and neither do words that anybody could write. So no score rises by padding.
"""

from collections.abc import Iterable, Mapping
from datetime import date
from math import prod
from typing import Literal

from pydantic import BaseModel, ConfigDict

from mcp_tools.resume.document import Resume

from .defects import Defect, Kind, Severity
from .diagnose import diagnose
from .measures import measures
from .mending import tells_deed
from .reading import Entry, Reading, length
from .relevance import fit
from .rules.buzzwords import is_empty
from .rules.statements import weak_opening

Part = Literal["completeness", "evidence", "relevance", "form"]

_KEPT: Mapping[Severity, float] = {"high": 0.7, "medium": 0.85, "low": 0.95}
"""What is left of a part after one defect; so no defect can be made up by another."""
_WEIGHTS: Mapping[Part, int] = {"completeness": 30, "evidence": 35, "relevance": 20, "form": 15}
_OF_FORM: frozenset[Kind] = frozenset(
    {"impossible_dates", "order", "too_long", "inconsistent_tense", "duplicate", "spelling"}
)
_OF_EVIDENCE: frozenset[Kind] = frozenset({"buzzwords", "weak_verbs", "no_metrics"})
_LONG_AGO = 10 * 12
_DEED, _MEASURED = 0.6, 1.0
"""What a line is worth that tells a deed, and one that measures it as well."""
_ENOUGH_OF_ENTRY = 3.0
_ENOUGH: Mapping[str, float] = {"experienced": 5.0, "beginning": 2.0}
"""What the lines of all entries together are worth in a resume that leaves nothing to wish."""
_FEWEST_WORDS = {"en": 4, "zh": 6}


class Rating(BaseModel):
    """A resume's score and its parts; `relevance` is None where there is no job to compare with."""

    model_config = ConfigDict(frozen=True)

    score: int
    completeness: int
    evidence: int
    relevance: int | None
    form: int


def rate(resume: Resume, *, today: date, job: str = "") -> Rating:
    """Rate a resume, for a job if there is one: its description, or what the person says of it."""
    reading = Reading.of(resume, today=today, job=job)
    defects = diagnose(resume, today=today, job=job)
    beside = fit(reading) if job else None
    complete = _kept(
        one for one in defects if one.kind not in _OF_FORM | _OF_EVIDENCE | {"relevance"}
    )
    parts: dict[Part, float | None] = {
        "completeness": complete * (0.6 + 0.4 * _told(reading)),
        "evidence": _told(reading)
        * _share_told(reading)
        * _kept(one for one in defects if one.kind == "buzzwords"),
        "relevance": None if beside is None else beside.share,
        "form": _kept(one for one in defects if one.kind in _OF_FORM),
    }
    counted = {name: part for name, part in parts.items() if part is not None}
    weight = sum(_WEIGHTS[name] for name in counted)
    whole = sum(_WEIGHTS[name] * part for name, part in counted.items()) / weight
    hundred = {name: None if part is None else round(100 * part) for name, part in parts.items()}
    best = 100 if not defects else 99
    return Rating.model_validate({"score": min(best, round(100 * whole)), **hundred})


def score(resume: Resume, *, today: date, job: str = "") -> int:
    """Rate a resume from 0 to 100."""
    return rate(resume, today=today, job=job).score


def _kept(defects: Iterable[Defect]) -> float:
    return prod(_KEPT[defect.severity] for defect in defects)


def _told(reading: Reading) -> float:
    """Return how much a resume tells of what was done, of what is enough."""
    values = (min(_ENOUGH_OF_ENTRY, sum(map(worth, _lines(entry)))) for entry in _entries(reading))
    enough = _ENOUGH["beginning" if reading.is_student else "experienced"]
    return min(1.0, sum(values) / enough)


def _share_told(reading: Reading) -> float:
    """Return a factor for lines that tell nothing, and for entries without a measure."""
    recent = [entry for entry in _entries(reading) if not _is_old(entry, reading)]
    lines = [line for entry in recent for line in _lines(entry)]
    if not lines:
        return 0.0 if reading.filled("work") or reading.filled("projects") else 0.5
    telling = sum(worth(line) > 0 for line in lines) / len(lines)
    measured = sum(any(map(measures, _lines(entry))) for entry in recent) / len(recent)
    return (0.5 + 0.5 * telling) * (0.7 + 0.3 * measured)


def _entries(reading: Reading) -> list[Entry]:
    sections: tuple[Literal["work", "projects", "volunteer"], ...] = (
        "work",
        "projects",
        "volunteer",
    )
    return [one for section in sections for one in reading.filled(section) if not one.is_break]


def _lines(entry: Entry) -> list[str]:
    has_highlights = bool(entry.texts("highlights"))
    told = (line for line in entry.lines if line.field == "highlights" or not has_highlights)
    return [*dict.fromkeys(line.text for line in told)]


def worth(line: str) -> float:
    """Return what a line adds; nothing where it says neither what was done nor what came of it."""
    language = "zh" if any("\u4e00" <= sign <= "\u9fff" for sign in line) else "en"
    if length(line) < _FEWEST_WORDS[language] or is_empty(line) or weak_opening(line):
        return 0.0
    if measures(line):
        return _MEASURED
    return _DEED if tells_deed(line) else 0.0


def _is_old(entry: Entry, reading: Reading) -> bool:
    return entry.end is not None and entry.end.last < reading.now.first - _LONG_AGO
