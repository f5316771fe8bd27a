"""A Word document as a piece of HTML: enough to see what it says and how it is laid out."""

import base64
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from .namespaces import MC, A, R, W
from .office_package import DOCUMENT, WORD, Package

_MAX_BLOCKS = 5_000
_MAX_PICTURE = 2**20
_PICTURES = {"png": "png", "jpg": "jpeg", "jpeg": "jpeg", "gif": "gif"}
_ALIGNED = {"center": "center", "right": "right", "end": "right", "both": "justify"}
_TAGS = {"b": "strong", "i": "em", "u": "u", "strike": "s"}


def preview(path: Path) -> str:
    """The body of a document."""
    package = Package(path, WORD)
    parts = {identifier: part for identifier, _, part in package.relations(DOCUMENT)}
    body = package.root(DOCUMENT).find(f"{W}body")
    return "\n".join(_blocks(body, package, parts))


def _blocks(parent: Any, package: Package, parts: dict[str, str]) -> Iterator[str]:
    for child in list(parent)[:_MAX_BLOCKS]:
        if child.tag == f"{W}p":
            yield _paragraph(child, package, parts)
        elif child.tag == f"{W}tbl":
            rows = "".join(_row(row, package, parts) for row in child.findall(f"{W}tr"))
            yield f"<table>{rows}</table>"
        elif child.tag == f"{W}sdt" and (content := child.find(f"{W}sdtContent")) is not None:
            yield from _blocks(content, package, parts)


def _row(row: Any, package: Package, parts: dict[str, str]) -> str:
    cells = []
    for cell in row.findall(f"{W}tc"):
        span = cell.find(f"{W}tcPr/{W}gridSpan")
        width = span.get(f"{W}val", "") if span is not None else ""
        wide = f' colspan="{width}"' if width.isdigit() else ""
        cells.append(f"<td{wide}>{''.join(_blocks(cell, package, parts))}</td>")
    return f"<tr>{''.join(cells)}</tr>"


def _paragraph(element: Any, package: Package, parts: dict[str, str]) -> str:
    inner = "".join(_inline(element, package, parts))
    style = element.find(f"{W}pPr/{W}pStyle")
    name = (style.get(f"{W}val") or "") if style is not None else ""
    aligned = element.find(f"{W}pPr/{W}jc")
    way = _ALIGNED.get(aligned.get(f"{W}val", "") if aligned is not None else "")
    look = f' style="text-align: {way}"' if way else ""
    if name == "Title" or (name.startswith("Heading") and name[7:].isdigit()):
        level = min(int(name[7:] or 1), 6) if name != "Title" else 1
        return f"<h{level}{look}>{inner}</h{level}>"
    if name.startswith("List") or element.find(f"{W}pPr/{W}numPr") is not None:
        return f"<ul><li>{inner}</li></ul>"
    return f"<p{look}>{inner}</p>"


def _inline(element: Any, package: Package, parts: dict[str, str]) -> Iterator[str]:
    for run in element.iter(f"{W}r"):
        if next(run.iterancestors(f"{MC}Fallback", f"{W}del"), None) is not None:
            continue
        text = ""
        for child in run:
            if child.tag == f"{W}t":
                text += escape(child.text or "")
            elif child.tag in (f"{W}tab", f"{W}br"):
                text += " " if child.tag == f"{W}tab" else "<br>"
            elif child.tag == f"{W}drawing":
                text += "".join(_pictures(child, package, parts))
        yield _marked(text, run.find(f"{W}rPr"))


def _marked(text: str, look: Any) -> str:
    if look is None or not text:
        return text
    for name, tag in _TAGS.items():
        found = look.find(f"{W}{name}")
        if found is not None and found.get(f"{W}val") not in ("0", "false", "none"):
            text = f"<{tag}>{text}</{tag}>"
    color = look.find(f"{W}color")
    value = color.get(f"{W}val", "") if color is not None else ""
    is_color = len(value) == 6 and value.isalnum()
    return f'<span style="color: #{value}">{text}</span>' if is_color else text


def _pictures(drawing: Any, package: Package, parts: dict[str, str]) -> Iterator[str]:
    for blip in drawing.iter(f"{A}blip"):
        part = parts.get(blip.get(f"{R}embed"), "")
        kind = _PICTURES.get(part.rpartition(".")[2].lower())
        if kind and package.has(part) and package.size(part) <= _MAX_PICTURE:
            data = base64.b64encode(package.read(part)).decode()
            yield f'<img alt="" src="data:image/{kind};base64,{data}">'
