"""Slides of an outline, drawn with python-pptx."""

from collections.abc import Sequence
from io import BytesIO
from typing import Any

from PIL.Image import DecompressionBombError
from pptx import Presentation
from pptx.enum.text import MSO_ANCHOR, PP_ALIGN
from pptx.slide import Slide as PptxSlide
from pptx.util import Pt

from . import paging
from .drawing import (
    ACCENT,
    DARK,
    INK,
    MIST,
    MONOSPACED,
    PALE,
    QUIET,
    SHADE,
    WHITE,
    bar,
    label,
    mark,
    move,
    paint,
    plain,
    run,
    write,
)
from .outline import Outline, Picture, Section, Table, Text
from .paging import Slide, slides_of
from .typesetting import text_width, wrap

_TITLE_LAYOUT, _CONTENT_LAYOUT, _TITLE_ONLY_LAYOUT = 0, 1, 5
"""Layouts of python-pptx's default template."""
_COVER_SIZES = (44.0, 40.0, 36.0, 32.0)
_COVER_WIDTH = 800.0
_CAPTION = 30.0


class Deck:
    """A presentation of an outline."""

    def __init__(self, outline: Outline) -> None:
        self._file = Presentation()
        self._file.slide_width, self._file.slide_height = Pt(paging.WIDTH), Pt(paging.HEIGHT)
        self._file.core_properties.title = outline.title[:255]
        self._file.core_properties.author = ""
        self._cover(outline)
        for section in outline.sections:
            self._section(section)

    def to_pptx(self) -> bytes:
        """The file."""
        file = BytesIO()
        self._file.save(file)
        return file.getvalue()

    def _cover(self, outline: Outline) -> None:
        slide = self._new(_TITLE_LAYOUT)
        paint(slide.background.fill, DARK)
        bar(slide, (paging.MARGIN, 140, 60, 6), PALE)
        place = (paging.MARGIN, 160, _COVER_WIDTH, 180)
        write(
            slide.shapes.title, outline.title, _cover_size(outline.title), place, WHITE, bold=True
        )
        subtitle = slide.placeholders[1]
        if outline.subtitle:
            write(subtitle, outline.subtitle, 20, (paging.MARGIN, 350, 760, 110), MIST)
            subtitle.text_frame.vertical_anchor = MSO_ANCHOR.TOP
        else:
            subtitle._element.getparent().remove(subtitle._element)

    def _section(self, section: Section) -> None:
        slides = slides_of(section)
        if slides[0].is_empty:
            self._divider(section.title, slides[0].notes)
            return
        for number, slide in enumerate(slides, 1):
            part = f" ({number}/{len(slides)})" if len(slides) > 1 else ""
            self._content(slide, f"{section.title}{part}")

    def _divider(self, title: str, notes: str) -> None:
        slide = self._new(_TITLE_ONLY_LAYOUT)
        paint(slide.background.fill, DARK)
        bar(slide, (paging.MARGIN, 180, 60, 6), PALE)
        write(slide.shapes.title, title, 38, (paging.MARGIN, 196, 850, 130), WHITE, bold=True)
        _add_notes(slide, notes)

    def _content(self, content: Slide, title: str) -> None:
        slide = self._new(_CONTENT_LAYOUT if content.texts else _TITLE_ONLY_LAYOUT)
        size = 30 if text_width(title) * 30 < paging.BODY_WIDTH else 23
        place = (paging.MARGIN, 36, paging.BODY_WIDTH, 62)
        write(slide.shapes.title, title, size, place, DARK, bold=True)
        bar(slide, (paging.MARGIN, 102, 48, 4), ACCENT)
        text_height = content.text_height() if content.texts else 0.0
        if content.texts:
            height = text_height + 10 if content.table else paging.BODY_HEIGHT
            body = slide.placeholders[1]
            move(body, (paging.MARGIN, paging.BODY_TOP, content.text_width, height))
            _write_texts(body, content.texts, content.size)
        if content.table:
            _draw_table(slide, content.table, paging.BODY_TOP + text_height)
        if content.picture:
            left = paging.MARGIN + (content.text_width + 28 if content.texts else 0)
            _draw_picture(slide, content.picture, left, paging.WIDTH - paging.MARGIN - left)
        number = str(len(self._file.slides))
        place = (paging.WIDTH - paging.MARGIN - 60, 506, 60, 18)
        label(slide, number, 11, place, QUIET, align=PP_ALIGN.RIGHT)
        _add_notes(slide, content.notes)

    def _new(self, layout: int) -> PptxSlide:
        slide: PptxSlide = self._file.slides.add_slide(self._file.slide_layouts[layout])
        return slide


def _cover_size(title: str) -> float:
    """The largest letters that need no more lines than the smallest."""
    lines = [len(wrap(title, _COVER_WIDTH * 0.96 / size)) for size in _COVER_SIZES]
    return _COVER_SIZES[lines.index(min(lines))]


def _write_texts(body: Any, texts: Sequence[Text], size: float) -> None:
    frame = body.text_frame
    plain(frame)
    for at, text in enumerate(texts):
        paragraph = frame.paragraphs[0] if at == 0 else frame.add_paragraph()
        in_code = text.kind == "code" and texts[at + 1 : at + 2] and texts[at + 1].kind == "code"
        paragraph.level = min(text.level, 4)
        paragraph.line_spacing = 1.08
        paragraph.space_before = Pt(0)
        paragraph.space_after = Pt(0 if in_code else paging.GAP)
        bullet = ("•" if text.level == 0 else "–") if text.kind == "bullet" else ""
        number = max(1, text.number) if text.kind == "number" else 0
        mark(paragraph, level=text.level, bullet=bullet, number=number)
        _write_runs(paragraph, text, size)


def _write_runs(paragraph: Any, text: Text, size: float) -> None:
    is_heading, is_code = text.kind == "heading", text.kind == "code"
    letters = paging.CODE_SIZE if is_code else paging.letters(text, size)
    colour = {"heading": ACCENT, "quote": QUIET}.get(text.kind, INK)
    for one in text.runs:
        added = run(paragraph, one.text, letters, colour, bold=one.bold or is_heading)
        if is_code:
            added.font.name = MONOSPACED
        if one.link:
            added.hyperlink.address = one.link


def _draw_table(slide: PptxSlide, table: Table, top: float) -> None:
    columns = paging.column_widths(table)
    heights = [paging.row_height(row, columns) for row in table.rows]
    place = map(Pt, (paging.MARGIN, top, paging.BODY_WIDTH, sum(heights)))
    grid: Any = slide.shapes.add_table(len(table.rows), len(columns), *place).table
    for column, width in zip(grid.columns, columns, strict=True):
        column.width = Pt(width)
    for at, (row, texts) in enumerate(zip(grid.rows, table.rows, strict=True)):
        row.height = Pt(heights[at])
        for cell, text in zip(row.cells, texts, strict=True):
            paint(cell.fill, DARK if at == 0 else SHADE if at % 2 == 0 else WHITE)
            cell.vertical_anchor = MSO_ANCHOR.MIDDLE
            cell.margin_left = cell.margin_right = Pt(paging.CELL_PADDING)
            paragraph = cell.text_frame.paragraphs[0]
            run(paragraph, text, paging.TABLE_SIZE, WHITE if at == 0 else INK, bold=at == 0)


def _draw_picture(slide: PptxSlide, picture: Picture, left: float, width: float) -> None:
    """A picture as large as there is room, or what it shows if it cannot be read."""
    top, room = paging.BODY_TOP, paging.BODY_HEIGHT - (_CAPTION if picture.caption else 0)
    try:
        shape: Any = slide.shapes.add_picture(BytesIO(picture.data), Pt(left), Pt(top))
    except (OSError, ValueError, SyntaxError, KeyError, DecompressionBombError):
        place = (left, top, width, 40.0)
        label(slide, f"[{picture.alt}]", 16, place, QUIET, align=PP_ALIGN.LEFT)
        return
    scale = min(Pt(width) / shape.width, Pt(room) / shape.height)
    shape.width, shape.height = int(shape.width * scale), int(shape.height * scale)
    shape.left = int(Pt(left) + (Pt(width) - shape.width) / 2)
    shape._element.nvPicPr.cNvPr.set("descr", picture.alt)
    if picture.caption:
        below = top + shape.height / Pt(1) + 8
        place = (left, below, width, _CAPTION)
        label(slide, picture.caption, 14, place, QUIET, align=PP_ALIGN.CENTER)


def _add_notes(slide: PptxSlide, notes: str) -> None:
    if notes and (frame := slide.notes_slide.notes_text_frame) is not None:
        frame.text = notes
