"""A Word document: headings, lists, tables, links, notes; pictures are named."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docx
from docx.oxml import parse_xml
from docx.oxml.ns import qn

from .docx_text import text_of
from .pieces import table

MAX_ROWS = 2_000
_HEADINGS = {"Title": 1, "Subtitle": 2}
_NOTES = ("footnotes", "endnotes", "comments")


def pieces(path: Path) -> Iterator[str]:
    """The document, piece by piece, as Markdown."""
    document = docx.Document(str(path))
    parts = {rel.target_part for rel in document.part.rels.values() if not rel.is_external}
    for kind in ("header", "footer"):
        yield from _edge(document, kind)
    yield from _blocks(document.element.body, document.part)
    for name in _NOTES:
        for part in parts:
            if str(part.partname).endswith(f"/{name}.xml"):
                yield from _notes(part, name)


def _edge(document: Any, kind: str) -> Iterator[str]:
    """Yield the headers or footers of the pages; repeated ones once."""
    seen = set()
    for section in document.sections:
        edge = getattr(section, kind)
        text = " ".join(paragraph.text for paragraph in edge.paragraphs).strip()
        if not edge.is_linked_to_previous and text and text not in seen:
            seen.add(text)
            yield f"*{kind.capitalize()}: {text}*"


def _blocks(parent: Any, part: Any) -> Iterator[str]:
    items: list[str] = []
    for child in parent:
        if child.tag == qn("w:p"):
            text, is_item = _paragraph(child, part)
            if is_item:
                items.append(text)
                continue
            yield from _list(items)
            yield text
        elif child.tag == qn("w:tbl"):
            yield from _list(items)
            yield _table(child, part)
        elif child.tag == qn("w:sdt"):
            content = child.find(qn("w:sdtContent"))
            if content is not None:
                yield from _blocks(content, part)
    yield from _list(items)


def _list(items: list[str]) -> Iterator[str]:
    if items:
        yield "\n".join(items)
        items.clear()


def _paragraph(element: Any, part: Any) -> tuple[str, bool]:
    """Its text, and whether it is an item of a list."""
    text = text_of(element, part).strip()
    style = _style_name(element, part)
    level = _heading_level(style)
    if not text:
        return "", False
    if level:
        return f"{'#' * level} {text}", False
    depth = _list_depth(element, style)
    if depth is None:
        return text, False
    mark = "1." if "Number" in style else "-"
    return f"{'  ' * depth}{mark} {text}", True


def _style_name(element: Any, part: Any) -> str:
    identifier = element.style
    if identifier is None:
        return ""
    found = part.styles.element.get_by_id(identifier)
    return str(found.name_val or "") if found is not None else str(identifier)


def _heading_level(style: str) -> int:
    if style.lower().startswith("heading ") and style[8:].isdecimal():
        return min(int(style[8:]), 6)
    return _HEADINGS.get(style, 0)


def _list_depth(element: Any, style: str) -> int | None:
    numbering = element.find(f"{qn('w:pPr')}/{qn('w:numPr')}")
    if numbering is not None:
        level = numbering.find(qn("w:ilvl"))
        return min(int(level.get(qn("w:val"), "0")), 8) if level is not None else 0
    if style.startswith("List "):
        return int(style[-1]) - 1 if style[-1].isdecimal() else 0
    return None


def _table(element: Any, part: Any) -> str:
    rows = element.findall(qn("w:tr"))
    shown = [_row(row, part) for row in rows[:MAX_ROWS]]
    left_out = f"\n\n[{len(rows) - MAX_ROWS} more rows are left out]" if rows[MAX_ROWS:] else ""
    return table(shown) + left_out


def _row(element: Any, part: Any) -> list[str]:
    """A merged cell is shown once; the places that it covers are empty."""
    cells: list[str] = []
    for cell in element.findall(qn("w:tc")):
        merge = cell.find(f"{qn('w:tcPr')}/{qn('w:vMerge')}")
        goes_on = merge is not None and merge.get(qn("w:val")) != "restart"
        text = "" if goes_on else " ".join(_blocks(cell, part))
        cells.extend([text, *[""] * (min(cell.grid_span, 64) - 1)])
    return cells


def _notes(part: Any, name: str) -> Iterator[str]:
    tag = qn(f"w:{name[:-1]}")
    for note in parse_xml(part.blob).iter(tag):
        text = "".join(found.text or "" for found in note.iter(qn("w:t"))).strip()
        if text and note.get(qn("w:type")) not in ("separator", "continuationSeparator"):
            label = "comment" if name == "comments" else ""
            yield f"[^{label}{note.get(qn('w:id'))}]: {text}"
