"""A presentation: titles, texts, tables, charts' data and speaker's notes; pictures are named."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pptx
from pptx.enum.shapes import MSO_SHAPE_TYPE

from .pieces import table

MAX_SLIDES = 500
MAX_DEPTH = 8
"""Groups in groups."""
MAX_POINTS = 200


def pieces(path: Path) -> Iterator[str]:
    """The slides in order."""
    slides = list(pptx.Presentation(str(path)).slides)
    yield f"Presentation with {len(slides)} slides"
    for number, slide in enumerate(slides[:MAX_SLIDES], start=1):
        title = slide.shapes.title
        name = " ".join(title.text_frame.text.split()) if title is not None else ""
        hidden = " (hidden)" if slide._element.get("show") == "0" else ""
        yield f"## Slide {number}{': ' if name else ''}{name}{hidden}"
        for shape in slide.shapes:
            if title is None or shape.shape_id != title.shape_id:
                yield from _shape(shape, 0)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            notes = slide.notes_slide.notes_text_frame.text.strip()
            if notes:
                yield f"> Notes: {notes}".replace("\n", "\n> ")
    if len(slides) > MAX_SLIDES:
        yield f"[{len(slides) - MAX_SLIDES} more slides are left out]"


def _shape(shape: Any, depth: int) -> Iterator[str]:
    if shape.shape_type == MSO_SHAPE_TYPE.GROUP and depth < MAX_DEPTH:
        for inner in shape.shapes:
            yield from _shape(inner, depth + 1)
    elif shape.has_text_frame:
        yield "\n".join(_lines(shape.text_frame))
    elif getattr(shape, "has_table", False):
        yield table([[cell.text for cell in row.cells] for row in shape.table.rows])
    elif getattr(shape, "has_chart", False):
        yield from _chart(shape.chart)
    elif shape.shape_type == MSO_SHAPE_TYPE.PICTURE:
        described = shape._element.nvPicPr.cNvPr.get("descr") or shape.name
        yield f"![picture: {described}]"


def _lines(frame: Any) -> Iterator[str]:
    for paragraph in frame.paragraphs:
        text = "".join(run.text for run in paragraph.runs).strip()
        if text:
            yield f"{'  ' * paragraph.level}- {text}"


def _chart(chart: Any) -> Iterator[str]:
    title = chart.chart_title.text_frame.text if chart.has_title else ""
    yield f"[chart: {title}]" if title else "[chart]"
    for plot in chart.plots:
        categories = [str(category) for category in plot.categories][:MAX_POINTS]
        rows = [
            [str(series.name), *(_number(value) for value in list(series.values)[:MAX_POINTS])]
            for series in plot.series
        ]
        yield table([["", *categories], *rows])


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.10g}"
