"""A workbook as a piece of HTML: the first rows of each sheet, with merged cells, bold and fill."""

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from openpyxl import load_workbook

from .office_package import EXCEL, Package

_MAX_SHEETS = 20
_MAX_ROWS = 200
_MAX_COLUMNS = 40
_MAX_BYTES = 20 * 2**20
"""Larger workbooks are not shown: styles are read for all cells at once."""


def preview(path: Path) -> str:
    """All sheets, each under its name."""
    Package(path, EXCEL)  # refuses what is unsafe
    if path.stat().st_size > _MAX_BYTES:
        return "<p>The workbook is too large for a preview.</p>"
    values = load_workbook(path, data_only=True)
    formulas = load_workbook(path)
    sheets = zip(values.worksheets[:_MAX_SHEETS], formulas.worksheets, strict=False)
    return "\n".join(
        f"<h2>{escape(sheet.title)}</h2>\n<table>{''.join(_rows(sheet, written))}</table>"
        for sheet, written in sheets
    )


def _rows(sheet: Any, written: Any) -> Iterator[str]:
    spans = {(area.min_row, area.min_col): area for area in sheet.merged_cells.ranges}
    last_row, last_column = min(sheet.max_row, _MAX_ROWS), min(sheet.max_column, _MAX_COLUMNS)
    for row in range(1, last_row + 1):
        cells = []
        for column in range(1, last_column + 1):
            cell = sheet.cell(row, column)
            if type(cell).__name__ == "MergedCell":
                continue
            value = cell.value if cell.value is not None else written.cell(row, column).value
            cells.append(_cell(cell, value, spans.get((row, column))))
        yield f"<tr>{''.join(cells)}</tr>"


def _cell(cell: Any, value: object, span: Any) -> str:
    text = escape("" if value is None else str(value)).replace("\n", "<br>")
    if cell.font is not None and cell.font.bold:
        text = f"<strong>{text}</strong>"
    wide = ""
    if span is not None:
        wide = f' colspan="{span.max_col - span.min_col + 1}"'
        wide += f' rowspan="{span.max_row - span.min_row + 1}"'
    look = "".join(_look(cell))
    return f'<td{wide} style="{look}">{text}</td>' if look else f"<td{wide}>{text}</td>"


def _look(cell: Any) -> Iterator[str]:
    fill = cell.fill.fgColor if cell.fill is not None and cell.fill.fill_type == "solid" else None
    for name, color in (("background", fill), ("color", cell.font.color if cell.font else None)):
        value = color.rgb if color is not None and color.type == "rgb" else None
        if isinstance(value, str) and len(value) == 8 and value.isalnum():
            yield f"{name}: #{value[2:]};"
