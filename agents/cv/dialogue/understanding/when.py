"""When: the dates and spans of time in a message, in Chinese and English."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date

from mcp_tools.resume import DATE_PATTERN, InvalidDateError, iso_date

from .months import Piece, in_same_year, lone_months, with_year
from .relative import MONTH_WORD, month_number, relative_dates
from .tokens import Role, When
from .vocabulary import vocabulary

_AHEAD = 10
"""Years from now; what lies further ahead was in the last century."""
_DATE = re.compile(DATE_PATTERN, re.IGNORECASE)
_SHORT_YEARS = re.compile(
    r"(?<!\d)((?:19|20)\d\d)\s*(?:-|–|—|~|到|至)\s*(\d\d)(?:年)?(?![\d./月-])"
)
_DOTTED = re.compile(
    r"(?<![\d.])(?P<year>\d\d)\.(?P<month>1[0-2]|0?[1-9])(?![\d.])"
    r"(?:(?<=[到至~\-–—]\d{2}\.\d)|(?<=[到至~\-–—]\d{2}\.\d{2})|(?=\s*(?:到|至|起|开始|[-–—~])))"
)
"""A year of two digits and a month: "21.7", only where it is a part of a span."""
_MONTH_FIRST = re.compile(r"(?<![\d.-])(?P<month>\d{1,2})[.-](?P<year>(?:19|20)\d\d)(?![\d.])")
_COUNTED = re.compile(
    r"\s?[名人个家万元次台位条件套辆本份]|\+?\s(?!(?:as|is|was|has|plus|does|this|us|years|ends"
    r"|starts|begins|always|perhaps|versus|courses|news|onwards|afterwards)\b)[a-z]{2,}s\b(?!')"
)
"""Follows a number that is no year."""
_BEFORE_MONTHS = re.compile(r"\s*[,;:(]?\s*(?:from\s)?\s*", re.IGNORECASE)
"""May stand between a year and its months."""
_MONTH_BEFORE = re.compile(rf"(?<![a-z])(?P<word>{MONTH_WORD})\.?(?: of)? $", re.IGNORECASE)


def find_whens(text: str, *, today: date, year: str | None = None) -> list[When]:
    """Return what a text says about time, in order.

    `today` gives relative years a meaning, and `year`, which was spoken of last, lone months.
    """
    found = list(_short_year_spans(text))
    covered = [(when.begin, when.stop) for when in found]
    pieces = [piece for piece in _pieces(text, today) if not _inside(piece, covered)]
    pieces = [with_year(text, piece, today) for piece in in_same_year(text, pieces, year)]
    found += _joined(text, pieces)
    return sorted((_with_context(text, when) for when in found), key=lambda when: when.begin)


def _short_year_spans(text: str) -> Iterator[When]:
    for match in _SHORT_YEARS.finditer(text):
        first, second = int(match[1]), int(match[2])
        if second > 12 and second >= first % 100:
            century = first // 100 * 100
            yield When(match.start(), match.end(), start=match[1], end=str(century + second))


def _pieces(text: str, today: date) -> Iterator[Piece]:
    """Yield single dates, and months without a year as partial pieces."""
    end = 0
    candidates = [
        *(Piece(match.start(), match.end(), _absolute(match)) for match in _DATE.finditer(text)),
        *(_month_first(match) for match in _MONTH_FIRST.finditer(text)),
        *(_dotted(match, today) for match in _DOTTED.finditer(text)),
        *(Piece(*found) for found in relative_dates(text, today=today)),
    ]
    full = sorted(candidates, key=lambda piece: (piece.begin, -piece.stop))
    full = [_with_month(text, piece) for piece in full]
    full = [piece for piece in full if not _counts_something(text, piece)]
    spans = [(piece.begin, piece.stop) for piece in full]
    for piece in full:
        if piece.begin >= end:
            yield piece
            end = piece.stop
    yield from (piece for piece in lone_months(text) if not _inside(piece, spans))


def _counts_something(text: str, piece: Piece) -> bool:
    """Tell whether four digits are how many there are of something: "2000 users", "2000名用户"."""
    digits = text[piece.begin : piece.stop]
    return digits.isdigit() and _COUNTED.match(text, piece.stop) is not None


def _with_month(text: str, year: Piece) -> Piece:
    """Take in the month before "last year" and the like."""
    month = _MONTH_BEFORE.search(text, 0, year.begin)
    if month is None or year.iso is None or len(year.iso) > 4:
        return year
    number = month_number(month["word"])
    return Piece(month.start(), year.stop, f"{year.iso}-{number:02d}")


def _absolute(match: re.Match[str]) -> str | None:
    try:
        return iso_date(match)
    except InvalidDateError:
        return None


def _month_first(match: re.Match[str]) -> Piece:
    """Read "03.2019"."""
    month = int(match["month"])
    iso = f"{match['year']}-{month:02d}" if 1 <= month <= 12 else None
    return Piece(match.start(), match.end(), iso)


def _dotted(match: re.Match[str], today: date) -> Piece:
    """Read "21.7": the year lies in this century unless it would be far ahead."""
    year = today.year // 100 * 100 + int(match["year"])
    year -= 100 if year > today.year + _AHEAD else 0
    return Piece(match.start(), match.end(), f"{year}-{int(match['month']):02d}")


def _inside(piece: Piece, spans: list[tuple[int, int]]) -> bool:
    return any(begin < piece.stop and piece.begin < stop for begin, stop in spans)


def _joined(text: str, pieces: list[Piece]) -> Iterator[When]:
    """Join neighbours that a "to" connects; drop months that no neighbour gives a year."""
    words = vocabulary().time
    pending = sorted(pieces, key=lambda piece: piece.begin)
    while pending:
        first, *pending = pending
        second = pending[0] if pending else None
        if span := _months_of_year(text, first, pending):
            pending = pending[2:]
            yield span
        elif second and words.to.fullmatch(text[first.stop : second.begin].strip()):
            pending.pop(0)
            if span := _span(first, second):
                yield span
        elif not first.partial and (match := words.until_now.match(text[first.stop :])):
            yield When(first.begin, first.stop + match.end(), start=first.iso, open=True)
        elif not first.partial:
            yield _point(first)


def _months_of_year(text: str, year: Piece, following: list[Piece]) -> When | None:
    """Return the span of "2016, June to September"."""
    first, second = following[:2] if len(following) > 1 else (None, None)
    if not (first and second and first.partial and second.partial and year.iso):
        return None
    led = _BEFORE_MONTHS.fullmatch(text[year.stop : first.begin])
    joined = vocabulary().time.to.fullmatch(text[first.stop : second.begin].strip())
    if len(year.iso) != 4 or not (led and joined and first.iso and second.iso):
        return None
    start, end = f"{year.iso}-{first.iso}", f"{year.iso}-{second.iso}"
    return When(year.begin, second.stop, start=start, end=end)


def _span(first: Piece, second: Piece) -> When | None:
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


def _point(piece: Piece) -> When:
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
    clause = (_clause_end(text[:begin]) or _clause_before(text[:begin]), _clause_start(text[stop:]))
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


def _clause_before(text: str) -> str:
    """Return the clause before the last one, if it has no date itself: "离职了，上个月"."""
    clauses = re.split(r"[,;。，；\n]", text)
    before = clauses[-2] if len(clauses) > 1 else ""
    return "" if re.search(r"[\d年月]", before) else before


def _clause_start(text: str) -> str:
    return re.split(r"[,;。，；\n]", text)[0]
