"""Months that are said without a year, and the year that they take."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from .counting import number_of
from .relative import HAN_MONTH, MONTH_WORD, month_number
from .vocabulary import vocabulary

_MONTH = re.compile(
    rf"(?<!\d)(?:(?<!年)|(?<=[同当那这一]年))(?P<number>\d{{1,2}}|(?<![一二三四五六七八九十个几])(?:{HAN_MONTH}))月份?"
    rf"|(?<![a-z])(?P<word>{MONTH_WORD})\.?(?![a-z])",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A date at `begin:stop` of a text; a `partial` one is a month: "03". `None` is no date."""

    begin: int
    stop: int
    iso: str | None
    partial: bool = False


def lone_months(text: str) -> Iterator[Piece]:
    """Yield the months in a text, with or without a year beside them."""
    for match in _MONTH.finditer(text):
        yield Piece(match.start(), match.end(), _iso_month(match), partial=True)


def in_same_year(text: str, pieces: list[Piece], year: str | None) -> Iterator[Piece]:
    """Give a month that is said to be in the same year, or stands alone, the year before it."""
    words = vocabulary().time
    covered = 0
    again = [Piece(*match.span(), "", partial=True) for match in words.same_year.finditer(text)]
    for piece in sorted([*pieces, *again], key=lambda piece: piece.begin):
        if piece.begin < covered:
            continue
        if piece.iso == "":
            if year:
                yield Piece(piece.begin, piece.stop, year)
            continue
        before = words.same_year_before.search(text[: piece.begin])
        after = words.same_year_after.match(text[piece.stop :])
        if piece.partial and piece.iso and year and (before or after or _is_lone(text, piece)):
            begin = before.start() if before else piece.begin
            stop = piece.stop + (after.end() if after else 0)
            yield Piece(begin, stop, f"{year}-{piece.iso}")
            covered = stop
            continue
        if piece.iso and not piece.partial:
            year = piece.iso[:4]
        yield piece


def _is_lone(text: str, piece: Piece) -> bool:
    """Tell whether a month is a date by itself: "是3月入职", "it was June", as not in "到8月"."""
    words = vocabulary().time
    before, after = text[: piece.begin], text[piece.stop :]
    if text[piece.begin].isalpha() and text[piece.begin].isascii():
        said = words.meant_before.search(before)
        return said is not None and words.month_after.match(after) is not None
    says_role = words.started.match(after) or words.ended.match(after)
    stated = words.month_before.search(before) and words.month_after.match(after)
    return bool(says_role or stated)


def with_year(text: str, piece: Piece, today: date) -> Piece:
    """Give "since March" the year in which that month was last, unless a neighbour gives one."""
    words = vocabulary().time
    before, after = text[: piece.begin], text[piece.stop :]
    led = any(
        words_before.search(before)
        for words_before in (words.since_before, words.from_before, words.at_before)
    )
    alone = not re.match(r"\s*(?:to|until|till|through|and|-|–|—|~|/|,|\d)", after)
    if not (piece.partial and piece.iso and led and alone and text[piece.begin].isalpha()):
        return piece
    year = today.year - (int(piece.iso) > today.month)
    return Piece(piece.begin, piece.stop, f"{year}-{piece.iso}")


def _iso_month(match: re.Match[str]) -> str | None:
    if match["word"]:
        return f"{month_number(match['word']):02d}"
    number = number_of(match["number"])
    return f"{number:02d}" if 1 <= number <= 12 else None
