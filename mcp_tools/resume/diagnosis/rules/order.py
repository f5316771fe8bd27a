"""Entries that do not stand newest first."""

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import NamedTuple

from mcp_tools.resume.dates import parse_date
from mcp_tools.resume.diagnosis.defects import Defect
from mcp_tools.resume.diagnosis.months import Months
from mcp_tools.resume.diagnosis.reading import LASTING, Entry, Reading
from mcp_tools.resume.errors import InvalidDateError


def order(reading: Reading) -> Iterator[Defect]:
    """Find sections in which an entry follows one that it should precede.

    It should precede it if it both began and ended later or at the same time; of a short job within
    a long one either may come first.
    """
    for section in LASTING:
        entries = reading.filled(section)
        dated = [
            _Dated(*times, bool(e.start)) for e in entries if (times := _times(e, reading.now))
        ]
        if any(_is_newer(later, earlier) for earlier, later in combinations(dated, 2)):
            severity = "low" if section in ("projects", "volunteer") else "medium"
            yield Defect.model_validate({"kind": "order", "section": section, "severity": severity})


def newest_first(entries: Iterable[Entry], now: Months) -> list[Entry]:
    """Return the entries whose dates are certain, in the right order."""
    dated = [(times, entry) for entry in entries if (times := _times(entry, now))]
    dated.sort(key=lambda pair: (pair[0][1].last, pair[0][0].last), reverse=True)
    return [entry for _, entry in dated]


def _times(entry: Entry, now: Months) -> tuple[Months, Months] | None:
    """Return start and end; None if a date is missing or cannot be parsed."""
    if not all(_is_plain(entry.text(name)) for name in ("startDate", "endDate")):
        return None
    start, end = entry.start, entry.end
    if entry.is_backwards and start:
        return start, start
    if start and not end:
        return start, Months(now.first + 1, now.first + 1)
    if end:
        return start or end, end
    return None


def _is_plain(text: str) -> bool:
    try:
        return not text or parse_date(text) is not None
    except InvalidDateError:
        return False


class _Dated(NamedTuple):
    start: Months
    end: Months
    has_start: bool


def _is_newer(one: _Dated, other: _Dated) -> bool:
    both_begin = one.has_start and other.has_start
    if one.end.last < other.end.last or (both_begin and one.start.last < other.start.last):
        return False
    return one.end.first > other.end.last or (both_begin and one.start.first > other.start.last)
