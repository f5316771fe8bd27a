"""Entries that do not stand newest first."""

from collections.abc import Iterable, Iterator
from itertools import combinations

from mcp_tools.resume.dates import parse_date
from mcp_tools.resume.diagnosis.defects import Defect
from mcp_tools.resume.diagnosis.months import Months
from mcp_tools.resume.diagnosis.reading import LASTING, Entry, Reading
from mcp_tools.resume.errors import InvalidDateError


def order(reading: Reading) -> Iterator[Defect]:
    """Find sections in which an entry stands behind one that it should stand before.

    It should if it both began and ended later or at the same time; of a short job within a long
    one either may come first.
    """
    for section in LASTING:
        dated = [entry for entry in reading.filled(section) if _times(entry, reading.now)]
        if any(_is_newer(later, earlier, reading.now) for earlier, later in combinations(dated, 2)):
            severity = "low" if section in ("projects", "volunteer") else "medium"
            yield Defect.model_validate({"kind": "order", "section": section, "severity": severity})


def newest_first(entries: Iterable[Entry], now: Months) -> list[Entry]:
    """Return those of the entries whose dates can be told for sure, as they should stand."""
    dated = [(times, entry) for entry in entries if (times := _times(entry, now))]
    dated.sort(key=lambda pair: (pair[0][1].last, pair[0][0].last), reverse=True)
    return [entry for _, entry in dated]


def _times(entry: Entry, now: Months) -> tuple[Months, Months] | None:
    """Return start and end; `None` where a date is missing or cannot be read as it stands."""
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


def _is_newer(one: Entry, other: Entry, now: Months) -> bool:
    ours, theirs = _times(one, now), _times(other, now)
    if ours is None or theirs is None:
        return False
    no_start = not (one.start and other.start)
    begun, ended = zip(ours, theirs, strict=True)
    if ended[0].last < ended[1].last or (not no_start and begun[0].last < begun[1].last):
        return False
    later_end = ended[0].first > ended[1].last
    return later_end or (not no_start and begun[0].first > begun[1].last)
