"""The words of pages in reading order: rows, and columns where a page is set in two."""

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from .headings import Headings

_STEP = 3.0
_NARROWEST_GUTTER = 6.0
_LEAST_SHARE = 0.5
"""How much of a page's text must stand in its two columns."""


class Word(NamedTuple):
    """A word and its position, in points from the upper left corner."""

    text: str
    x0: float
    x1: float
    top: float
    bottom: float
    size: float
    bold: bool


Rows = list[list[Word]]


class _Gutter(NamedTuple):
    """An empty strip from top to bottom around `x`, below the first `header` rows."""

    x: float
    header: int


def columns(pages: Sequence[Sequence[Word]], headings: Headings) -> list[Rows]:
    """Return the columns in reading order, each as rows of words from top to bottom.

    A page is in two columns when an empty strip divides most of it and there are headings on both
    sides; rows above the strip come first. Later pages keep the strip of the page before.
    """
    full: list[Rows] = []
    left: Rows = []
    right: Rows = []
    gutter: _Gutter | None = None
    for page in pages:
        rows = _rows(page)
        gutter = _gutter(rows, headings) or (_kept(gutter, rows) if gutter else None)
        if gutter is None:
            full.append(rows)
            continue
        full.append(rows[: gutter.header])
        below = [word for row in rows[gutter.header :] for word in row]
        left += _rows([word for word in below if word.x1 <= gutter.x])
        right += _rows([word for word in below if word.x1 > gutter.x])
    if not left:
        return [[row for rows in full for row in rows]]
    header, *others = full
    return [part for part in (header, left, right, *others) if part]


def _rows(words: Sequence[Word]) -> Rows:
    rows: Rows = []
    for word in sorted(words, key=lambda word: (word.top + word.bottom) / 2):
        middle = (word.top + word.bottom) / 2
        row = next((row for row in rows[-3:] if _holds(row, word, middle)), None)
        if row is None:
            rows.append([word])
        else:
            row.append(word)
    return [sorted(row, key=lambda word: word.x0) for row in rows]


def _holds(row: Sequence[Word], word: Word, middle: float) -> bool:
    first = max(row, key=lambda each: each.size)
    within = first.top < middle < first.bottom
    own = word.top < (first.top + first.bottom) / 2 < word.bottom
    return within and own


def _gutter(rows: Rows, headings: Headings) -> _Gutter | None:
    if not rows:
        return None
    width = max(word.x1 for row in rows for word in row)
    found: list[tuple[int, _Gutter]] = []
    for step in range(int(width * 0.2 / _STEP), int(width * 0.8 / _STEP)):
        gutter = _below_header(rows, step * _STEP)
        if gutter and _is_set_in_columns(rows, gutter, headings):
            found.append((-gutter.header, gutter))
    best = max((header for header, _ in found), default=0)
    same = [gutter for header, gutter in found if header == best]
    return same[len(same) // 2] if same else None


def _below_header(rows: Rows, x: float) -> _Gutter | None:
    """Return the strip at `x`, below the last row that crosses it."""
    crossing = [index for index, row in enumerate(rows) if _crosses(row, x)]
    header = crossing[-1] + 1 if crossing else 0
    below = sum(len(word.text) for row in rows[header:] for word in row)
    whole = sum(len(word.text) for row in rows for word in row)
    return _Gutter(x, header) if below >= whole * _LEAST_SHARE else None


def _crosses(row: Sequence[Word], x: float) -> bool:
    half = _NARROWEST_GUTTER / 2
    return any(word.x0 < x + half and word.x1 > x - half for word in row)


def _is_set_in_columns(rows: Rows, gutter: _Gutter, headings: Headings) -> bool:
    words = [word for row in rows[gutter.header :] for word in row]
    sides = (
        _rows([word for word in words if word.x1 <= gutter.x]),
        _rows([word for word in words if word.x1 > gutter.x]),
    )
    body = median(word.size for word in words)
    return all(_has_heading(side, body, headings) for side in sides)


def _has_heading(rows: Rows, body: float, headings: Headings) -> bool:
    return any(
        headings.section_of(" ".join(word.text for word in row))
        for row in rows
        if row[0].bold or row[0].size > body * 1.08 or row[0].text.isupper()
    )


def _kept(gutter: _Gutter, rows: Rows) -> _Gutter | None:
    return _below_header(rows, gutter.x)
