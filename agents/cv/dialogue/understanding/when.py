"""When: the dates and spans of time in a message, in Chinese and English."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from functools import cache

from mcp_tools.resume import DATE_PATTERN, MONTHS, InvalidDateError, iso_date

from .tokens import Role, When
from .vocabulary import vocabulary


@dataclass(frozen=True, slots=True)
class _Piece:
    begin: int
    stop: int
    iso: str | None
    partial: bool = False


_DATE = re.compile(DATE_PATTERN, re.IGNORECASE)
_SHORT_YEARS = re.compile(
    r"(?<!\d)((?:19|20)\d\d)\s*(?:-|–|—|~|到|至)\s*(\d\d)(?:年)?(?![\d./月-])"
)
_MONTH = re.compile(
    rf"(?<![\d年])(?P<number>\d{{1,2}})月份?|(?<![a-z])(?P<word>{'|'.join(MONTHS)})[a-z]*\.?(?![a-z])",
    re.IGNORECASE,
)


def find_whens(text: str, *, today: date) -> list[When]:
    """Return what a text says about time, in order; `today` gives relative years a meaning."""
    found = list(_short_year_spans(text))
    covered = [(when.begin, when.stop) for when in found]
    pieces = [piece for piece in _pieces(text, today) if not _inside(piece, covered)]
    found += _joined(text, pieces)
    return sorted((_with_context(text, when) for when in found), key=lambda when: when.begin)


def _short_year_spans(text: str) -> Iterator[When]:
    for match in _SHORT_YEARS.finditer(text):
        first, second = int(match[1]), int(match[2])
        if second > 12 and second >= first % 100:
            century = first // 100 * 100
            yield When(match.start(), match.end(), start=match[1], end=str(century + second))


def _pieces(text: str, today: date) -> Iterator[_Piece]:
    """Yield single dates, and months without a year as partial pieces."""
    end = 0
    candidates = [
        *((match, _absolute(match)) for match in _DATE.finditer(text)),
        *((match, _relative(match, today)) for match in _relative_pattern().finditer(text)),
    ]
    full = sorted(candidates, key=lambda item: (item[0].start(), -item[0].end()))
    spans = [(match.start(), match.end()) for match, _ in full]
    for match, iso in full:
        if match.start() >= end:
            yield _Piece(match.start(), match.end(), iso)
            end = match.end()
    for match in _MONTH.finditer(text):
        piece = _Piece(match.start(), match.end(), _month_number(match), partial=True)
        if not _inside(piece, spans):
            yield piece


def _absolute(match: re.Match[str]) -> str | None:
    try:
        return iso_date(match)
    except InvalidDateError:
        return None


def _relative(match: re.Match[str], today: date) -> str | None:
    offset = int((match.lastgroup or "").removeprefix("back"))
    year = str(today.year - offset)
    month = re.search(r"\d{1,2}(?=月)", match[0])
    return f"{year}-{int(month[0]):02d}" if month and 1 <= int(month[0]) <= 12 else year


def _month_number(match: re.Match[str]) -> str | None:
    if match["word"]:
        return f"{MONTHS.index(match['word'].lower()) + 1:02d}"
    number = int(match["number"])
    return f"{number:02d}" if 1 <= number <= 12 else None


def _inside(piece: _Piece, spans: list[tuple[int, int]]) -> bool:
    return any(begin < piece.stop and piece.begin < stop for begin, stop in spans)


def _joined(text: str, pieces: list[_Piece]) -> Iterator[When]:
    """Join neighbours that a "to" connects; drop months that no neighbour gives a year."""
    words = vocabulary().time
    pending = sorted(pieces, key=lambda piece: piece.begin)
    while pending:
        first, *pending = pending
        second = pending[0] if pending else None
        if second and words.to.fullmatch(text[first.stop : second.begin].strip()):
            pending.pop(0)
            if span := _span(first, second):
                yield span
        elif not first.partial and (match := words.until_now.match(text[first.stop :])):
            yield When(first.begin, first.stop + match.end(), start=first.iso, open=True)
        elif not first.partial:
            yield _point(first)


def _span(first: _Piece, second: _Piece) -> When | None:
    if first.partial and second.partial:
        return None
    start, end = first.iso, second.iso
    if start and end and first.partial:
        start = f"{end[:4]}-{start}"
    if start and end and second.partial:
        end = f"{start[:4]}-{end}"
    return When(
        first.begin, second.stop, start=start, end=end, invalid=start is None or end is None
    )


def _point(piece: _Piece) -> When:
    return When(piece.begin, piece.stop, point=piece.iso, invalid=piece.iso is None)


def _with_context(text: str, when: When) -> When:
    """Take in the words around a date that belong to it, and what they say about its role."""
    words = vocabulary().time
    before, after = text[: when.begin], text[when.stop :]
    if since := words.since_before.search(before):
        opened = replace(when, start=when.point, point=None, open=True) if when.point else when
        return replace(opened, begin=since.start())
    if when.point and (onwards := words.since_after.match(after)):
        return replace(
            when, start=when.point, point=None, open=True, stop=when.stop + onwards.end()
        )
    role: Role | None = None
    begin, stop = when.begin, when.stop
    if match := words.from_before.search(before):
        begin, role = match.start(), "start"
    elif match := words.until_before.search(before):
        begin, role = match.start(), "end"
    elif match := words.at_before.search(before):
        begin = match.start()
    if match := words.after.match(after):
        stop += match.end()
    if when.point is None:
        return replace(when, begin=begin, stop=stop)
    clause = (_clause_end(before), _clause_start(text[stop:]))
    return replace(when, begin=begin, stop=stop, role=role or _role(*clause))


def _role(before: str, after: str) -> Role | None:
    words = vocabulary().time
    for pattern, role in ((words.ended, "end"), (words.started, "start")):
        if pattern.match(after):
            return "start" if role == "start" else "end"
    starts = [match.end() for match in words.started.finditer(before)]
    ends = [match.end() for match in words.ended.finditer(before)]
    if not starts and not ends:
        return None
    return "start" if max(starts, default=-1) > max(ends, default=-1) else "end"


def _clause_end(text: str) -> str:
    return re.split(r"[,;。，；\n]", text)[-1]


def _clause_start(text: str) -> str:
    return re.split(r"[,;。，；\n]", text)[0]


@cache
def _relative_pattern() -> re.Pattern[str]:
    years = vocabulary().time.years
    alternatives = (f"(?P<back{back}>{words.pattern})" for back, words in years.items())
    return re.compile("|".join(alternatives), re.IGNORECASE)
