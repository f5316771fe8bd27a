"""The paragraphs of a page, and the cells of its tables."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

from .pdf_lines import Edges, Line, find_lines, is_wide
from .pdf_page import Box, PageContent, ShowId
from .spans import Atom, MarkedText

Alignment = Literal["left", "center", "right"]

_ITEM = re.compile(r"(?:[•◦▪‣–·*-]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])\s")
_CUT = re.compile(r"(?<=\w)[-\u2010\u00ad]$")
_MAX_LEADING = 1.9
_CELL_LEADING = 1.3
"""Lines of narrow columns that are farther apart are rows of a table."""
_NARROW = 12
"""Narrower columns, in sizes of the font, may be a table's."""


@dataclass
class Block:
    """A paragraph, or a cell of a table."""

    lines: list[Line]
    alignment: Alignment = "left"

    @cached_property
    def box(self) -> Box:
        """Around its letters."""
        first, last = self.lines[0], self.lines[-1]
        return (
            min(line.x0 for line in self.lines),
            last.baseline - 0.25 * last.size,
            max(line.x1 for line in self.lines),
            first.baseline + 0.8 * first.size,
        )

    @cached_property
    def shows(self) -> set[ShowId]:
        """The operators that show it."""
        return {character.show for line in self.lines for character in line.characters}

    @cached_property
    def leading(self) -> float:
        """From one baseline to the next."""
        if len(self.lines) == 1:
            return 1.2 * self.lines[0].size
        return (self.lines[0].baseline - self.lines[-1].baseline) / (len(self.lines) - 1)

    @cached_property
    def is_visible(self) -> bool:
        return any(char.visible for line in self.lines for char in line.characters)

    @cached_property
    def is_readable(self) -> bool:
        """Whether all characters of the text are known."""
        return all(char.text for line in self.lines for char in line.characters)

    def marked(self) -> MarkedText:
        """Its text as one paragraph."""
        return MarkedText(list(self._atoms()))

    def _atoms(self) -> Iterator[Atom]:
        glue = ""
        for index, line in enumerate(self.lines):
            pieces = list(line.pieces())
            if glue:
                yield Atom(glue, pieces[0][1], pieces[0][1])
            text = line.text.rstrip()
            following = self.lines[index + 1].text.lstrip() if self.lines[index + 1 :] else ""
            is_cut = bool(_CUT.search(text)) and following[:1].islower()
            glue = "" if is_cut or is_wide(text[-1:] + following[:1]) else " "
            while pieces and not pieces[-1][0].strip():
                pieces.pop()
            if is_cut:
                pieces.pop()
            for text, look in pieces:
                yield Atom(text, look, look)


def find_blocks(page: PageContent) -> list[Block]:
    """The paragraphs of a page, in the order in which they were written."""
    edges = Edges(page.shapes)
    lines = find_lines(page, edges)
    blocks = [block for column in _columns(lines, edges) for block in _paragraphs(column)]
    written = {id(character): index for index, character in enumerate(page.characters)}
    blocks.sort(key=lambda block: written[id(block.lines[0].characters[0])])
    left = min((line.x0 for line in lines), default=0.0)
    right = max((line.x1 for line in lines), default=page.width)
    for block in blocks:
        block.alignment = _alignment(block, edges.around(block.box), left, right, page.width)
    return blocks


def _columns(lines: Sequence[Line], edges: Edges) -> list[list[Line]]:
    """Lines that stand under each other."""
    rows = [round(line.baseline) for line in lines]
    counts = Counter(rows)
    columns: list[list[Line]] = []
    for line, row in zip(lines, rows, strict=True):
        shares_row = counts[row] > 1
        for column in reversed(columns):
            if _goes_on(column, line, edges, shares_row=shares_row):
                column.append(line)
                break
        else:
            columns.append([line])
    return columns


def _goes_on(column: list[Line], line: Line, edges: Edges, *, shares_row: bool) -> bool:
    last = column[-1]
    size = max(last.size, line.size)
    step = last.baseline - line.baseline
    if not 0.5 * size < step < _MAX_LEADING * size or abs(last.size - line.size) > 0.1 * size:
        return False
    if len(column) > 1:
        usual = column[-2].baseline - last.baseline
        if abs(step - usual) > 0.2 * usual:
            return False
    narrow = max(line.x1 - line.x0, last.x1 - last.x0) < _NARROW * size
    if shares_row and narrow and step > _CELL_LEADING * size:
        return False
    if last.look is not None and line.look is not None and last.look != line.look:
        return False
    return _under(column, line, size) and not edges.part_rows(last, line)


def _under(column: list[Line], line: Line, size: float) -> bool:
    last = column[-1]
    if min(last.x1, line.x1) <= max(last.x0, line.x0):
        return False
    is_indented = len(column) == 1 and 0 < last.x0 - line.x0 < 4 * size
    left = abs(last.x0 - line.x0) < 1.5 * size
    center = abs(last.x0 + last.x1 - line.x0 - line.x1) < 2 * size
    return left or is_indented or center or abs(last.x1 - line.x1) < size


def _paragraphs(column: list[Line]) -> Iterator[Block]:
    """A line ends a paragraph if the next one's first word would still have had room in it."""
    left, right = min(line.x0 for line in column), max(line.x1 for line in column)
    paragraph = [column[0]]
    for last, line in pairwise(column):
        is_centered = (
            abs(last.x0 - line.x0) > 1
            and abs(last.x0 + last.x1 - line.x0 - line.x1) < 0.5 * line.size
        )
        used = last.x1 - last.x0 if is_centered else last.x1 - left
        ends = used + 0.3 * line.size + line.first_word < right - left
        if ends or _ITEM.match(line.text):
            yield Block(paragraph)
            paragraph = []
        paragraph.append(line)
    yield Block(paragraph)


def _alignment(block: Block, around: Box, left: float, right: float, width: float) -> Alignment:
    x0, _, x1, _ = block.box
    if len(block.lines) > 1:
        starts = [line.x0 for line in block.lines]
        ends = [line.x1 for line in block.lines]
        middles = [start + end for start, end in zip(starts, ends, strict=True)]
        begin = starts[1:] if len(starts) > 2 else starts  # the first may be indented
        if max(begin) - min(begin) < 2:
            return "left"
        if max(middles) - min(middles) < 4:
            return "center"
        return "right" if max(ends) - min(ends) < 2 else "left"
    before, after = x0 - around[0], around[2] - x1
    if max(before, after) < 0.8 * width:  # in a cell
        if abs(before - after) < 2 and before > 8:
            return "center"
        return "right" if before > 12 and after < 0.4 * before and after < 10 else "left"
    if abs(x0 + x1 - width) < 0.02 * width and x0 > left + 10:
        return "center"
    return "right" if abs(x1 - right) < 1 and x0 > 0.5 * width else "left"
