"""Setting a translated paragraph in the room of the old one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .pdf_blocks import Block
from .pdf_fonts import Fonts
from .pdf_lines import Edges, is_wide
from .pdf_page import Box, Look
from .spans import Atom

_STEP = 0.95
_SMALLEST = 0.4
"""How much smaller than the old text the new one may become."""
_NOT_FIRST = "，。、；：？！）》」』】”’,.;:?!)]}%"
"""Signs that must not begin a line."""


@dataclass(frozen=True)
class Word:
    """An unbreakable unit: a word with the spaces after it, or one Chinese character."""

    pieces: tuple[tuple[str, Look], ...]

    @property
    def is_break(self) -> bool:
        return any("\n" in text for text, _ in self.pieces)


@dataclass(frozen=True)
class Setting:
    """Lines of a paragraph at a scale of its size."""

    lines: tuple[tuple[Word, ...], ...]
    scale: float
    leading: float
    fits: bool


def set_text(atoms: Sequence[Atom], block: Block, room: Box, fonts: Fonts) -> Setting:
    """Break a text into lines, as large as it fits into a room."""
    words = list(_words(atoms))
    scale = 1.0
    while True:
        lines = tuple(_broken(words, room[2] - room[0], fonts, scale))
        leading = block.leading * scale
        below = block.lines[0].baseline - (len(lines) - 1) * leading - 0.25 * block.lines[0].size
        width = max((_width(line, fonts, scale) for line in lines), default=0.0)
        fits = below >= room[1] - 0.5 and width <= room[2] - room[0] + 0.5
        if fits or scale * _STEP < _SMALLEST:
            return Setting(lines, scale, leading, fits)
        scale *= _STEP


def draw(canvas: Any, setting: Setting, block: Block, room: Box, fonts: Fonts) -> None:
    """Draw the lines from the old first baseline on."""
    y = block.lines[0].baseline
    for line in setting.lines:
        spare = room[2] - room[0] - _width(line, fonts, setting.scale)
        x = room[0] + {"left": 0.0, "center": spare / 2, "right": spare}[block.alignment]
        for font, text, look in _runs(line, fonts):
            size = look.size * setting.scale
            _fill(canvas, look.color)
            canvas.setFont(font, size)
            canvas.drawString(x, y, text)
            x += canvas.stringWidth(text, font, size)
        y -= setting.leading


def find_room(block: Block, blocks: Sequence[Block], edges: Edges, page_width: float) -> Box:
    """Return the area for a paragraph: its own, extended by free space beside and below it."""
    x0, y0, x1, y1 = block.box
    left, bottom, right, _ = edges.around(block.box)
    margin = min([other.box[0] for other in blocks], default=x0)
    left, right = max(left + 2, margin), min(right - 2, page_width - margin)
    bottom = max(bottom + 1, 18.0, y0 - 2 * block.leading)
    for other in blocks:
        if other is block:
            continue
        ox0, oy0, ox1, oy1 = other.box
        if oy0 < y1 and oy1 > y0:  # beside it
            if ox0 >= x1 - 1:
                right = min(right, ox0 - 4)
            elif ox1 <= x0 + 1:
                left = max(left, ox1 + 4)
        elif oy1 <= y0 + 1 and ox0 < x1 and ox1 > x0:  # below it
            bottom = max(bottom, oy1 + 1)
    bottom = min(bottom, y0)
    if len(block.lines) > 1:  # a paragraph keeps its width
        return x0, bottom, max(x1, min(right, x1 + block.lines[0].size)), y1
    match block.alignment:
        case "left":
            return x0, bottom, max(x1, right), y1
        case "right":
            return min(x0, left), bottom, x1, y1
        case "center":
            spare = max(0.0, min(x0 - left, right - x1))
            return x0 - spare, bottom, x1 + spare, y1


def _words(atoms: Sequence[Atom]) -> Iterator[Word]:
    pieces: list[tuple[str, Look]] = []
    blank = False
    for atom in atoms:
        for char in atom.text or "":
            starts = (blank and not char.isspace()) or (
                bool(pieces) and _may_part(pieces[-1][0][-1], char)
            )
            if pieces and (starts or char == "\n"):
                yield Word(tuple(pieces))
                pieces = []
            if pieces and pieces[-1][1] == atom.source:
                pieces[-1] = (pieces[-1][0] + char, atom.source)
            else:
                pieces.append((char, atom.source))
            blank = char.isspace()
    if pieces:
        yield Word(tuple(pieces))


def _may_part(before: str, char: str) -> bool:
    return (is_wide(before) or is_wide(char)) and char not in _NOT_FIRST and not char.isspace()


def _broken(
    words: Sequence[Word], width: float, fonts: Fonts, scale: float
) -> Iterator[tuple[Word, ...]]:
    line: list[Word] = []
    used = 0.0
    for word in words:
        own = _width([word], fonts, scale, stripped=False)
        wide = used + _width([word], fonts, scale)
        if line and (wide > width + 0.01 or word.is_break):
            yield tuple(line)
            line, used = [], 0.0
        line.append(word)
        used += own
    if line:
        yield tuple(line)


def _width(line: Sequence[Word], fonts: Fonts, scale: float, *, stripped: bool = True) -> float:
    return sum(
        fonts.width(text, look, look.size * scale) for text, look in _texts(line, stripped=stripped)
    )


def _texts(line: Sequence[Word], *, stripped: bool) -> list[tuple[str, Look]]:
    texts = [(text.replace("\n", ""), look) for word in line for text, look in word.pieces]
    if texts and stripped:
        texts[-1] = (texts[-1][0].rstrip(), texts[-1][1])
    return texts


def _runs(line: Sequence[Word], fonts: Fonts) -> Iterator[tuple[str, str, Look]]:
    for text, look in _texts(line, stripped=True):
        for font, piece in fonts.runs(text, look):
            yield font, piece, look


def _fill(canvas: Any, color: tuple[float, ...]) -> None:
    match color:
        case (gray,):
            canvas.setFillGray(gray)
        case (red, green, blue):
            canvas.setFillColorRGB(red, green, blue)
        case _:
            canvas.setFillColorCMYK(*color)
