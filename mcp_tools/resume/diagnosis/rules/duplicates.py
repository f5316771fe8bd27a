"""Content that occurs twice."""

import json
import re
from collections.abc import Iterator

from mcp_tools.resume.diagnosis.defects import Defect
from mcp_tools.resume.diagnosis.reading import Entry, Reading, length
from mcp_tools.resume.diagnosis.vocabulary import names
from mcp_tools.resume.document import Section

_IDENTITY: dict[Section, tuple[str, ...]] = {
    "work": ("name", "position"),
    "volunteer": ("organization", "position"),
    "education": ("institution", "area", "studyType"),
    "projects": ("name",),
    "awards": ("title", "awarder"),
    "certificates": ("name", "issuer"),
    "publications": ("name",),
    "skills": ("name",),
    "languages": ("language",),
    "interests": ("name",),
    "references": ("name", "reference"),
}
_TIMES = ("startDate", "endDate", "date", "releaseDate")
_SHORTEST_LINE = 4
"""Words or characters; shorter lines may well be the same."""


def duplicates(reading: Reading) -> Iterator[Defect]:
    """Find entries, highlights and keywords that stand for a second time."""
    doubled: set[str] = set()
    for section in _IDENTITY:
        for defect, entry in _same_entries(reading.filled(section)):
            doubled.add(entry.path)
            yield defect
    yield from _same_lines(reading, doubled)
    for section in ("skills", "interests", "projects"):
        yield from _same_keywords(reading.filled(section), section, doubled)


def _same_entries(entries: list[Entry]) -> Iterator[tuple[Defect, Entry]]:
    kept: dict[tuple[str, ...], list[Entry]] = {}
    for entry in entries:
        alike = kept.setdefault(_identity(entry), [])
        first = next((other for other in alike if _may_be_same_time(other, entry)), None)
        if first is None:
            alike.append(entry)
        else:
            yield _defect(entry, entry.path, first.path, entry.title), entry


def _identity(entry: Entry) -> tuple[str, ...]:
    """Return what is equal for two tellings of one thing; all of an entry without a title."""
    fields = _IDENTITY[entry.section]
    if not entry.text(fields[0]):
        return (json.dumps(entry.content, sort_keys=True),)
    return tuple(names().same(entry.text(name)) for name in fields)


def _may_be_same_time(one: Entry, other: Entry) -> bool:
    pairs = ((one.text(name), other.text(name)) for name in _TIMES)
    return all(not ours or not theirs or ours == theirs for ours, theirs in pairs)


def _same_lines(reading: Reading, doubled: set[str]) -> Iterator[Defect]:
    seen: dict[str, str] = {}
    for section in ("work", "volunteer", "projects"):
        for entry in reading.filled(section):
            for number, text in enumerate(entry.texts("highlights")):
                path, plain = f"{entry.path}.highlights[{number}]", _plain(text)
                if length(text) < _SHORTEST_LINE or entry.path in doubled:
                    continue
                if plain in seen:
                    yield _defect(entry, path, seen[plain], text)
                seen.setdefault(plain, path)


def _same_keywords(entries: list[Entry], section: Section, doubled: set[str]) -> Iterator[Defect]:
    """Find keywords that stand twice in an entry; skills tell each of them only once in all."""
    seen: dict[str, str] = {}
    for entry in entries:
        if entry.path in doubled:
            continue
        if section != "skills":
            seen = {}
        for number, keyword in enumerate(entry.texts("keywords")):
            path, same = f"{entry.path}.keywords[{number}]", names().same(keyword)
            if same and same in seen:
                yield _defect(entry, path, seen[same], keyword)
            seen.setdefault(same, path)


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()


def _defect(entry: Entry, path: str, first: str, text: str) -> Defect:
    return Defect(
        kind="duplicate",
        section=entry.section,
        entry=entry.index,
        detail={"path": path, "first": first, "text": text},
        severity="low" if path != entry.path or entry.section == "skills" else "medium",
    )
