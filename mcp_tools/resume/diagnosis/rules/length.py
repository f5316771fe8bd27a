"""Texts that are too long to be read, or too short to say anything."""

from collections.abc import Iterator

from mcp_tools.resume.access import texts_in
from mcp_tools.resume.diagnosis.defects import Defect, Severity
from mcp_tools.resume.diagnosis.reading import PROSE, Entry, Reading, length
from mcp_tools.resume.labels import Language

_LONGEST: dict[str, dict[Language, int]] = {
    "summary": {"en": 120, "zh": 260},
    "field": {"en": 150, "zh": 350},
    "highlight": {"en": 50, "zh": 130},
    "resume": {"en": 1200, "zh": 2600},
}
_MOST_HIGHLIGHTS = 10
_SHORTEST: dict[str, dict[Language, int]] = {
    "summary": {"en": 5, "zh": 8},
    "entry": {"en": 5, "zh": 8},
    "resume": {"en": 40, "zh": 60},
}
_LONG_AGO = 10 * 12
"""Months after which an entry may be a mere line."""


def too_long(reading: Reading) -> Iterator[Defect]:
    """Find texts that are longer than a reader has patience."""
    language = reading.language
    summary = length(reading.basic("summary"))
    if summary > _LONGEST["summary"][language]:
        yield _defect("too_long", "basics", None, "basics.summary", summary, "summary", language)
    for section in PROSE:
        for entry in reading.filled(section):
            yield from _long_texts(entry, language)
    whole = _length_of_all(reading)
    if whole > _LONGEST["resume"][language]:
        yield _defect("too_long", "", None, "", whole, "resume", language)


def _long_texts(entry: Entry, language: Language) -> Iterator[Defect]:
    for name in PROSE[entry.section]:
        if (found := length(entry.text(name))) > _LONGEST["field"][language]:
            path = f"{entry.path}.{name}"
            yield _defect(
                "too_long", entry.section, entry.index, path, found, "field", language, "low"
            )
    highlights = entry.texts("highlights")
    for number, text in enumerate(highlights):
        if (found := length(text)) > _LONGEST["highlight"][language]:
            path = f"{entry.path}.highlights[{number}]"
            yield _defect(
                "too_long", entry.section, entry.index, path, found, "highlight", language, "low"
            )
    if len(highlights) > _MOST_HIGHLIGHTS:
        yield Defect(
            kind="too_long",
            section=entry.section,
            entry=entry.index,
            detail={
                "path": f"{entry.path}.highlights",
                "length": len(highlights),
                "limit": _MOST_HIGHLIGHTS,
                "what": "highlights",
            },
            severity="low",
        )


def too_short(reading: Reading) -> Iterator[Defect]:
    """Find a summary, a job or a project of a few words, and a resume that is next to empty."""
    language = reading.language
    summary = length(reading.basic("summary"))
    if 0 < summary < _SHORTEST["summary"][language]:
        yield _defect(
            "too_short", "basics", None, "basics.summary", summary, "summary", language, "low"
        )
    for section in ("work", "projects"):
        for entry in reading.filled(section):
            told = length(entry.prose)
            if told < _SHORTEST["entry"][language] and not _may_be_short(entry, reading):
                severity: Severity = "medium" if section == "work" else "low"
                yield _defect(
                    "too_short", section, entry.index, entry.path, told, "entry", language, severity
                )
    whole = _length_of_all(reading)
    if whole < _SHORTEST["resume"][language]:
        yield _defect("too_short", "", None, "", whole, "resume", language)


def _may_be_short(entry: Entry, reading: Reading) -> bool:
    old = entry.end is not None and entry.end.last < reading.now.first - _LONG_AGO
    return old or entry.is_break


def _length_of_all(reading: Reading) -> int:
    """Count what a reader reads; addresses and the like are a word each."""
    document = reading.resume.to_json()
    return sum(
        length(text) for name in document if name != "meta" for text in texts_in(document[name])
    )


def _defect(
    kind: str,
    section: str,
    entry: int | None,
    path: str,
    found: int,
    what: str,
    language: Language,
    severity: Severity = "medium",
) -> Defect:
    limits = _LONGEST if kind == "too_long" else _SHORTEST
    detail = {"path": path, "length": found, "limit": limits[what][language], "what": what}
    return Defect.model_validate(
        {
            "kind": kind,
            "section": section,
            "entry": entry,
            "detail": detail,
            "severity": severity,
        }
    )
