"""The lines of a page, found by where its characters stand."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from .pdf_page import Box, Character, Look, PageContent

WIDE_GAP = 1.0
"""A wider gap, in sizes of the font, parts two columns."""
_WORD_GAP = 0.15
_RULED_GAP = 0.3
"""In a wider gap a vertical rule may stand."""
_MAX_EDGES = 4_000


@dataclass
class Line:
    """Characters on one baseline without a wide gap."""

    characters: list[Character]

    @cached_property
    def x0(self) -> float:
        return self.characters[0].x0

    @cached_property
    def x1(self) -> float:
        return max(character.x1 for character in self.characters)

    @cached_property
    def baseline(self) -> float:
        """That of its largest letters, not of an exponent."""
        return max(self.characters, key=lambda character: character.look.size).baseline

    @cached_property
    def size(self) -> float:
        return max(character.look.size for character in self.characters)

    @cached_property
    def look(self) -> Look | None:
        """How all of it looks, if it looks the same."""
        looks = {character.look for character in self.characters if character.text.strip()}
        return looks.pop() if len(looks) == 1 else None

    @cached_property
    def text(self) -> str:
        return "".join(text for text, _ in self.pieces())

    @cached_property
    def first_word(self) -> float:
        """The width of its first word."""
        for character in self.characters:
            if not character.text.strip() or is_wide(character.text):
                return character.x1 - self.x0
        return self.x1 - self.x0

    def pieces(self) -> Iterator[tuple[str, Look]]:
        """Its texts; gaps between words are blanks."""
        last: Character | None = None
        for character in self.characters:
            if last is not None and _is_gap(last, character):
                yield " ", last.look
            yield character.text, character.look
            last = character


def _is_gap(last: Character, character: Character) -> bool:
    gap = character.x0 - last.x1 > _WORD_GAP * character.look.size
    return gap and not last.text.isspace() and not character.text.isspace()


def is_wide(text: str) -> bool:
    """Return whether it is Chinese, Japanese or Korean, which is written without spaces."""
    return any("\u2e80" <= char <= "\ud7af" or "\uf900" <= char <= "\uffef" for char in text)


class Edges:
    """Vertical and horizontal edges of shapes, which part cells from each other."""

    def __init__(self, shapes: Sequence[Box]) -> None:
        kept = shapes[:_MAX_EDGES]
        self._vertical = [(x, y0, y1) for x0, y0, x1, y1 in kept for x in {x0, x1}]
        self._horizontal = [(y, x0, x1) for x0, y0, x1, y1 in kept for y in {y0, y1}]

    def part_columns(self, left: float, right: float, y: float) -> bool:
        """Return whether a rule separates two positions in a line."""
        return any(left - 1 <= x <= right + 1 and y0 <= y <= y1 for x, y0, y1 in self._vertical)

    def part_rows(self, above: Line, below: Line) -> bool:
        """Return whether a rule, other than an underline, runs between two lines."""
        top, bottom = above.baseline, below.baseline + 0.5 * below.size
        return any(
            bottom <= y <= top and x0 <= above.x0 - 1 and x1 >= above.x1 + 1
            for y, x0, x1 in self._horizontal
        )

    def around(self, box: Box) -> Box:
        """The nearest edges to the left, below, to the right and above, or infinity."""
        x0, y0, x1, y1 = box
        middle = (y0 + y1) / 2
        beside = [x for x, low, high in self._vertical if low <= middle <= high]
        over = [y for y, low, high in self._horizontal if low < x1 and high > x0]
        return (
            max((x for x in beside if x <= x0 + 1), default=float("-inf")),
            max((y for y in over if y <= y0 + 0.1 * (y1 - y0)), default=float("-inf")),
            min((x for x in beside if x >= x1 - 1), default=float("inf")),
            min((y for y in over if y >= y1), default=float("inf")),
        )


def find_lines(page: PageContent, edges: Edges) -> list[Line]:
    """The lines of a page, from its top to its bottom."""
    pieces: list[list[Character]] = []
    for character in page.characters:
        if pieces and _goes_on(pieces[-1][-1], character, edges):
            pieces[-1].append(character)
        else:
            pieces.append([character])
    fragments = [Line(piece) for piece in pieces]
    fragments.sort(key=lambda line: (-round(line.baseline), line.x0))
    rows: list[list[Character]] = []
    for fragment in fragments:
        if rows and _goes_on(rows[-1][-1], fragment.characters[0], edges):
            rows[-1].extend(fragment.characters)
        else:
            rows.append(list(fragment.characters))
    lines = [Line(row) for row in rows]
    return [line for line in lines if line.text.strip()]


def _goes_on(last: Character, character: Character, edges: Edges) -> bool:
    size = max(last.look.size, character.look.size)
    gap = character.x0 - last.x1
    shift = abs(character.baseline - last.baseline)
    is_raised = character.look.size != last.look.size and -0.3 * size < gap < 0.3 * size
    if shift > (0.5 if is_raised else 0.15) * size or not -0.6 * size < gap < WIDE_GAP * size:
        return False
    return gap < _RULED_GAP * size or not edges.part_columns(last.x1, character.x0, last.baseline)
