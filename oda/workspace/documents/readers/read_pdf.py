"""A PDF: text and ruled tables, page by page."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pdfplumber
from pdfminer.pdfdocument import PDFPasswordIncorrect
from pdfplumber.utils.exceptions import PdfminerException

from .pieces import UnreadableError, table

MAX_PAGES = 1_000
MAX_CHARACTERS = 60_000
"""A page with more, or with more lines, is a drawing; its tables are not looked for."""
MAX_LINES = 3_000
MAX_TABLES = 20


def pieces(path: Path) -> Iterator[str]:
    """The pages, each as text followed by its tables.

    Raises:
        UnreadableError: `encrypted`, `empty` or `broken`.
    """
    try:
        document = pdfplumber.open(path)
    except PdfminerException as error:
        locked = any(isinstance(cause, PDFPasswordIncorrect) for cause in error.args)
        raise UnreadableError("encrypted" if locked else "broken") from error
    with document:
        count = len(document.pages)
        if not count:
            raise UnreadableError("empty")
        yield f"PDF with {count} pages"
        for page in document.pages[:MAX_PAGES]:
            yield f"## Page {page.page_number}"
            yield from _page(page)
            page.close()
        if count > MAX_PAGES:
            yield f"[{count - MAX_PAGES} more pages are left out]"


def _page(page: Any) -> Iterator[str]:
    if len(page.chars) > MAX_CHARACTERS or len(page.edges) > MAX_LINES:
        yield page.extract_text()[:MAX_CHARACTERS]
        return
    tables = [found for found in page.find_tables()[:MAX_TABLES] if _is_table(found)]
    boxes = [found.bbox for found in tables]
    beside = page.filter(lambda thing: not any(_inside(thing, box) for box in boxes))
    text = beside.extract_text()
    if text:
        yield text
    for found in tables:
        yield table([[cell or "" for cell in row] for row in found.extract()])
    if page.images:
        yield f"[{len(page.images)} pictures]"
    if not text and not tables:
        yield "[no text on this page: it may be a scan]"


def _is_table(found: Any) -> bool:
    return len(found.rows) > 1 and any(len(row.cells) > 1 for row in found.rows)


def _inside(thing: Any, box: tuple[float, float, float, float]) -> bool:
    if thing["object_type"] != "char":
        return False
    x, y = (thing["x0"] + thing["x1"]) / 2, (thing["top"] + thing["bottom"]) / 2
    return bool(box[0] <= x <= box[2] and box[1] <= y <= box[3])
