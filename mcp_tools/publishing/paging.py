"""How much fits on a slide, and how sections are split (pure). Lengths are in points."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil

from .outline import Block, Picture, Run, Section, Table, Text
from .typesetting import text_width, wrap

WIDTH, HEIGHT = 960.0, 540.0
MARGIN = 52.0
BODY_TOP = 122.0
BODY_WIDTH = WIDTH - 2 * MARGIN
BODY_HEIGHT = 366.0
TEXT_BESIDE_PICTURE = 400.0
TABLE_SIZE = 14.0
CODE_SIZE = 13.0
INDENT = 26.0
LEADING = 1.3
GAP = 11.0
CELL_PADDING = 12.0
_SIZES = (26.0, 24.0, 22.0, 20.0, 18.0)
"""Text sizes, in order of preference."""
_ROWS_TOGETHER = 3
"""A table begins on a slide where at least so many of its rows fit."""


@dataclass
class Slide:
    """Texts, and below them a table or beside them a picture."""

    size: float
    """Text size."""
    texts: list[Text] = field(default_factory=list)
    table: Table | None = None
    picture: Picture | None = None
    notes: str = ""

    @property
    def is_empty(self) -> bool:
        return not (self.texts or self.table or self.picture)

    @property
    def text_width(self) -> float:
        return TEXT_BESIDE_PICTURE if self.picture else BODY_WIDTH

    def text_height(self, *more: Text, width: float | None = None) -> float:
        """How high its texts are, with some more of them."""
        return sum(
            _height(text, self.size, width or self.text_width) for text in (*self.texts, *more)
        )


def slides_of(section: Section) -> list[Slide]:
    """The slides of a section, in the largest letters that need as few as the smallest."""
    laid = [_lay(section, size) for size in _SIZES]
    fewest = min(map(len, laid))
    slides = next(one for one in laid if len(one) == fewest)
    slides[0].notes = "\n\n".join(section.notes)
    return slides


def letters(text: Text, size: float) -> float:
    """The size of a text where the largest is `size`; inner lists are smaller."""
    return size - 2 * min(text.level, 2)


def row_height(row: Sequence[str], columns: Sequence[float], size: float = TABLE_SIZE) -> float:
    """How high a row of a table is."""
    lines = max(
        len(wrap(cell, (width - 2 * CELL_PADDING) / size)) or 1
        for cell, width in zip(row, columns, strict=True)
    )
    return lines * size * LEADING + CELL_PADDING


def column_widths(table: Table) -> list[float]:
    """Widths by what is in the columns, none of them very narrow."""
    longest = [
        min(22.0, max(4.0, *(text_width(row[at]) for row in table.rows)))
        for at in range(len(table.rows[0]))
    ]
    return [BODY_WIDTH * one / sum(longest) for one in longest]


def _lay(section: Section, size: float) -> list[Slide]:
    slides = [Slide(size)]
    for block in section.blocks:
        for piece in _pieces(block, size):
            _place(piece, slides)
    return slides


def _pieces(block: Block, size: float) -> Iterator[Block]:
    """A text that fills more than a slide, in parts."""
    if not isinstance(block, Text) or _height(block, size, BODY_WIDTH) <= BODY_HEIGHT:
        yield block
        return
    lines = wrap(block.words, _room(block, BODY_WIDTH) / letters(block, size))
    most = int(BODY_HEIGHT / (letters(block, size) * LEADING)) - 1
    begin = 0
    for number in range(0, len(lines), most):
        length = sum(len("".join(line.split())) for line in lines[number : number + most])
        end = _after(block.words, begin, length)
        yield replace(block, runs=tuple(_cut(block.runs, begin, end)))
        begin = end


def _after(text: str, begin: int, letters_wanted: int) -> int:
    """Return the position after a number of letters from `begin`; blanks are not counted."""
    at = begin
    while at < len(text) and (letters_wanted or text[at].isspace()):
        letters_wanted -= not text[at].isspace()
        at += 1
    return at


def _cut(runs: Sequence[Run], begin: int, end: int) -> Iterator[Run]:
    """Yield the parts of the runs between two positions of their text."""
    start = 0
    for run in runs:
        text = run.text[max(0, begin - start) : max(0, end - start)]
        start += len(run.text)
        if text:
            yield replace(run, text=text)


def _place(block: Block, slides: list[Slide]) -> None:
    """Put a block on the last slide, or on a new one."""
    slide = slides[-1]
    match block:
        case Text():
            full = slide.text_height(block) > BODY_HEIGHT or slide.table is not None
            target = _next(slides) if full and not slide.is_empty else slide
            target.texts.append(block)
        case Picture():
            beside = slide.text_height(width=TEXT_BESIDE_PICTURE) <= BODY_HEIGHT
            free = slide.table is None and slide.picture is None and beside
            target = slide if free else _next(slides)
            target.picture = block
        case Table():
            _place_table(block, slides)


def _place_table(table: Table, slides: list[Slide]) -> None:
    head, *rows = table.rows
    columns = column_widths(table)
    while True:
        slide = slides[-1]
        left = BODY_HEIGHT - slide.text_height() - row_height(head, columns)
        fitting = _fitting(rows, columns, left)
        taken = slide.table is not None or slide.picture is not None
        if (taken or fitting < min(_ROWS_TOGETHER, len(rows))) and not slide.is_empty:
            _next(slides)
            continue
        fitting = max(1, fitting)
        slide.table = Table((head, *rows[:fitting]))
        rows = rows[fitting:]
        if not rows:
            return


def _fitting(rows: Sequence[Sequence[str]], columns: Sequence[float], left: float) -> int:
    for number, row in enumerate(rows):
        left -= row_height(row, columns)
        if left < 0:
            return number
    return len(rows)


def _next(slides: list[Slide]) -> Slide:
    """Append a continuation slide; move a heading at the end of the previous slide to it."""
    before = slides[-1]
    slide = Slide(before.size)
    while len(before.texts) > 1 and before.texts[-1].kind == "heading" and not before.table:
        slide.texts.insert(0, before.texts.pop())
    slides.append(slide)
    return slide


def _height(text: Text, size: float, width: float) -> float:
    if text.kind == "code":
        return CODE_SIZE * LEADING * max(1, ceil(len(text.words) * 0.6 * CODE_SIZE / width))
    lines = len(wrap(text.words, _room(text, width) / letters(text, size))) or 1
    return lines * letters(text, size) * LEADING + GAP


def _room(text: Text, width: float) -> float:
    is_item = text.kind in ("bullet", "number")
    return (width - INDENT * (text.level + is_item)) * 0.96
