"""A workbook: each sheet as a table with its row numbers and column letters."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from openpyxl import load_workbook
from openpyxl.utils import get_column_letter

from .pieces import table

MAX_ROWS = 1_000
"""Most rows of a sheet that are shown."""
MAX_COLUMNS = 60
MAX_CELLS = 3_000_000
"""Cells of a sheet, empty ones included, after which its size is no longer counted."""
MAX_FORMULAS = 20
"""Formulas of a sheet that are shown beside their values."""
_AT_ONCE = 50


def pieces(path: Path) -> Iterator[str]:
    """The sheets, each in pieces of some rows."""
    values = load_workbook(path, read_only=True, data_only=True)
    formulas = load_workbook(path, read_only=True)
    try:
        names = [f"{sheet.title!r}{_hidden(sheet)}" for sheet in values]
        yield f"Workbook with {len(names)} sheets: {', '.join(names)}"
        for sheet, with_formulas in zip(values.worksheets, formulas.worksheets, strict=True):
            yield from _sheet(sheet, with_formulas)
    finally:
        values.close()
        formulas.close()


def _hidden(sheet: Any) -> str:
    return "" if sheet.sheet_state == "visible" else " (hidden)"


def _sheet(sheet: Any, with_formulas: Any) -> Iterator[str]:
    sheet.reset_dimensions()  # the size that a file declares may be wrong
    with_formulas.reset_dimensions()
    rows: list[list[str]] = []
    found: list[str] = []
    seen = shown = last_row = last_column = 0
    is_whole = True
    head = f"## Sheet {sheet.title!r}{_hidden(sheet)}"
    columns = zip(sheet.iter_rows(), with_formulas.iter_rows(), strict=False)
    for number, (values, sources) in enumerate(columns, start=1):
        seen += max(len(values), 1)
        if seen > MAX_CELLS:
            is_whole = False
            break
        filled = [index for index, cell in enumerate(sources, start=1) if cell.value is not None]
        if not filled:
            continue
        last_row, last_column = number, max(last_column, filled[-1])
        if shown >= MAX_ROWS:
            continue
        shown += 1
        rows.append([str(number), *_texts(values, sources, found)])
        if len(rows) == _AT_ONCE:
            yield from _rows(head, rows)
            head = ""
    yield from _rows(head, rows)
    yield _summary(last_row, last_column, shown, is_whole)
    if found:
        yield "Formulas: " + ", ".join(found)


def _texts(values: Any, sources: Any, found: list[str]) -> list[str]:
    texts = []
    for value, source in list(zip(values, sources, strict=False))[:MAX_COLUMNS]:
        formula = _formula(source.value)
        if formula and len(found) < MAX_FORMULAS:
            found.append(f"{source.coordinate} `{formula}`")
        shown = value.value if value.value is not None else formula or source.value
        texts.append("" if shown is None else _shown(shown))
    return texts


def _formula(value: object) -> str:
    text = getattr(value, "text", value)  # an array formula is an object
    return text if isinstance(text, str) and text.startswith("=") else ""


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.10g}"
    return str(value)


def _rows(head: str, rows: list[list[str]]) -> Iterator[str]:
    if head:
        yield head
    if rows:
        width = max(len(row) for row in rows)
        letters = [get_column_letter(index) for index in range(1, width)]
        yield table([["", *letters], *rows])
        rows.clear()


def _summary(last_row: int, last_column: int, shown: int, is_whole: bool) -> str:
    if not last_row:
        return "[empty sheet]"
    at_least = "" if is_whole else " or more"
    size = f"{last_row} rows{at_least} × {last_column} columns"
    area = f"A1:{get_column_letter(last_column)}{last_row}"
    left_out = []
    if shown >= MAX_ROWS and last_row > shown:
        left_out.append(f"only the first {shown} filled rows are shown")
    if last_column > MAX_COLUMNS:
        left_out.append(f"only the first {MAX_COLUMNS} columns are shown")
    hint = "; analyse it with code for the rest" if left_out else ""
    return f"[{area}: {', '.join([size, *left_out])}{hint}]"
