"""Times about which a resume says nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mcp_tools.resume.diagnosis.defects import Defect
from mcp_tools.resume.diagnosis.months import Months, month_text, written_date
from mcp_tools.resume.diagnosis.reading import Entry, Reading, statements
from mcp_tools.resume.diagnosis.vocabulary import words
from mcp_tools.resume.document import JsonObject, Section
from mcp_tools.resume.importing.spans import find_span

_LONGEST_GAP = 6
"""Longest gap that is not reported, in months."""
_FORGOTTEN = 10 * 12
"""Age from which a gap is not reported, in months."""
_LONGEST_STUDY = 5 * 12
"""Months that may be taken by what has only one date."""
_MAIN: tuple[Section, ...] = ("work", "education")
_BESIDES: tuple[Section, ...] = ("volunteer", "projects")

Stretch = tuple[int, int]
"""The first and the last month."""


@dataclass(frozen=True, slots=True)
class _Told:
    first: int
    last: int
    entry: Entry


def gaps(reading: Reading) -> Iterator[Defect]:
    """Find more than `_LONGEST_GAP` months between jobs and studies, or since the last one.

    Unpaid work, projects and a statement about a break that has dates fill what they can. What has
    no readable start or end tells of the time up to its neighbour.
    """
    besides = sorted([*_besides(reading), *_breaks(reading)])
    before: _Told | None = None
    for told in sorted(_main(reading), key=lambda told: (told.first, told.last)):
        if before is not None and (free := _free(before.last + 1, told.first - 1, besides)):
            yield from _gap(free, before, told, reading)
        if before is None or told.last >= before.last:
            before = told
    if before is not None and reading.filled("work"):
        now = reading.now.first
        if free := _free(before.last + 1, now, besides):
            yield from _gap(free, before, before, reading)


def _gap(free: Stretch, before: _Told, at: _Told, reading: Reading) -> Iterator[Defect]:
    first, last = free
    recent = last >= reading.now.first - _FORGOTTEN
    if not recent or _may_be_told(before.entry, at.entry, reading):
        return
    detail: JsonObject = {
        "months": last - first + 1,
        "start": month_text(first),
        "end": None if last == reading.now.first else month_text(last),
    }
    yield Defect(kind="gap", section=at.entry.section, entry=at.entry.index, detail=detail)


def _free(first: int, last: int, besides: Sequence[Stretch]) -> Stretch | None:
    """Return the longest uncovered stretch between two months, if it is long enough to be a gap.

    `besides` must be sorted.
    """
    free: list[Stretch] = []
    for begin, end in besides:
        if begin > last:
            break
        if begin > first:
            free.append((first, min(begin - 1, last)))
        first = max(first, end + 1)
    free.append((first, last))
    longest = max(free, key=lambda stretch: stretch[1] - stretch[0])
    return longest if longest[1] - longest[0] + 1 > _LONGEST_GAP else None


def _main(reading: Reading) -> Iterator[_Told]:
    for section in _MAIN:
        for entry in reading.filled(section):
            if (span := _span(entry, reading)) is not None:
                yield _Told(*span, entry)


def _besides(reading: Reading) -> Iterator[Stretch]:
    entries = (entry for section in _BESIDES for entry in reading.filled(section))
    spans = (_span(entry, reading) for entry in entries)
    return (span for span in spans if span is not None)


def _breaks(reading: Reading) -> Iterator[Stretch]:
    for line in statements("basics.summary", "summary", reading.basic("summary")):
        if words().breaks.search(line.text) and (span := _told_span(line.text, reading)):
            yield span


def _span(entry: Entry, reading: Reading) -> tuple[int, int] | None:
    """Return the first and the last month covered by an entry."""
    start, end, now = entry.start, entry.end, reading.now.first
    if start is None:
        return (_end_before(entry, end, reading), min(end.last, now)) if end else None
    return min(start.first, now), min(_last_month(entry, start, end, reading), now)


def _last_month(entry: Entry, start: Months, end: Months | None, reading: Reading) -> int:
    """Return the month of the end; a wrong one is taken to reach to what came next."""
    if end is not None and not entry.is_backwards:
        return end.last
    if entry.text("endDate"):
        starts = (other.start for other in reading.filled(entry.section))
        later = [other.first for other in starts if other and other.first > start.last]
        return min(later, default=reading.now.first)
    if entry.section == "projects":
        return start.last
    return start.last + _LONGEST_STUDY if entry.section == "education" else reading.now.first


def _end_before(entry: Entry, end: Months, reading: Reading) -> int:
    """Return the earliest month in which something may have begun that has only an end."""
    ends = (other.end for other in reading.filled(entry.section))
    earlier = [other.last for other in ends if other and other.last < end.first]
    return max(earlier, default=end.first - _LONGEST_STUDY)


def _told_span(text: str, reading: Reading) -> tuple[int, int] | None:
    dated = find_span(text)
    if dated is None:
        return None
    start = written_date(dated.span.start).months if dated.span.start else None
    end = written_date(dated.span.end).months if dated.span.end else None
    last = reading.now if dated.span.open else (end or start)
    first = start or end
    return (first.first, last.last) if first and last else None


def _may_be_told(before: Entry, at: Entry, reading: Reading) -> bool:
    """Return whether an undated job between the two may fill the gap."""
    undated = [entry.index for entry in reading.filled("work") if not entry.start and not entry.end]
    if not undated:
        return False
    if before.section != "work" or at.section != "work":
        return True
    low, high = sorted((before.index, at.index))
    return low == high or any(low < index < high for index in undated)
