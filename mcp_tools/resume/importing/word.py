"""A Word document as lines, in the order in which it is read; pictures are never opened."""

import io
from collections import Counter
from collections.abc import Iterator, Sequence

from docx import Document
from docx.document import Document as WordDocument
from docx.oxml.ns import qn
from docx.oxml.xmlchemy import BaseOxmlElement
from docx.text.hyperlink import Hyperlink
from docx.text.paragraph import Paragraph
from docx.text.run import Run

from .lines import Line, clean, take_bullet

_HEADING_STYLES = ("heading", "标题")
_OPEN = (":", "：", ",", "，", "、", "(", "（")
_LIST_STYLES = ("list", "列表", "bullet")


def docx_lines(content: bytes) -> list[Line]:
    """Return the lines of a DOCX: header, body with tables and text boxes."""
    document = Document(io.BytesIO(content))
    blocks = [*_header(document), *_blocks(document.element.body, document)]
    sizes = Counter[float]()
    for paragraph in blocks:
        if paragraph is not None and not isinstance(paragraph, str):
            sizes[_size(paragraph)] += len(paragraph.text)
    body_size = sizes.most_common(1)[0][0] if sizes else 0.0
    return list(_with_gaps(blocks, body_size))


_Block = Paragraph | str | None
"""A paragraph, a table's row as one text, or `None` for empty space."""


def _header(document: WordDocument) -> Iterator[_Block]:
    seen: set[str] = set()
    for section in document.sections:
        for part in (section.first_page_header, section.header):
            if part.is_linked_to_previous:
                continue
            for paragraph in part.paragraphs:
                if paragraph.text.strip() and paragraph.text not in seen:
                    seen.add(paragraph.text)
                    yield paragraph


def _blocks(container: BaseOxmlElement, document: WordDocument) -> Iterator[_Block]:
    for element in container:
        if element.tag == qn("w:p"):
            yield from _paragraph(element, document)
        elif element.tag == qn("w:tbl"):
            yield None
            yield from _table(element, document)
            yield None
        elif element.tag in (qn("w:sdt"), qn("w:sdtContent"), qn("w:txbxContent")):
            yield from _blocks(element, document)


def _paragraph(element: BaseOxmlElement, document: WordDocument) -> Iterator[_Block]:
    paragraph = Paragraph(element, document._body)
    yield paragraph if paragraph.text.strip() else None
    boxes = [
        box
        for box in element.iter(qn("w:txbxContent"))
        if not any(up.tag == _FALLBACK for up in box.iterancestors())
    ]
    for box in boxes:
        yield from _blocks(box, document)


_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"


def _table(table: BaseOxmlElement, document: WordDocument) -> Iterator[_Block]:
    """Return rows of short cells as lines with gaps; cells of several paragraphs one by one."""
    for row in table.iterchildren(qn("w:tr")):
        cells = [list(_blocks(cell, document)) for cell in row.iterchildren(qn("w:tc"))]
        filled = [[block for block in cell if block] for cell in cells]
        filled = [cell for cell in filled if cell]
        if len(filled) > 1 and all(len(cell) == 1 for cell in filled):
            yield "\t".join(_text(cell[0]) for cell in filled)
        else:
            for cell in cells:
                yield from cell


def _text(block: _Block) -> str:
    return block.text if isinstance(block, Paragraph) else block or ""


def _with_gaps(blocks: Sequence[_Block], body_size: float) -> Iterator[Line]:
    gap = False
    for block in blocks:
        if block is None:
            gap = True
            continue
        for line in _lines(block, body_size):
            yield line._replace(gap=gap)
            gap = False


def _lines(block: Paragraph | str, body_size: float) -> Iterator[Line]:
    if isinstance(block, str):
        yield Line(clean(block))
        return
    style, listed = _style(block, body_size), _is_listed(block)
    for index, part in enumerate(_marked_text(block).split("\n")):
        bulleted = take_bullet(part)
        if bulleted.text:
            yield Line(bulleted.text, bulleted.bullet or (listed and index == 0), style)


def _style(paragraph: Paragraph, body_size: float) -> str:
    name = (paragraph.style.name or "").lower() if paragraph.style else ""
    if name == "title":
        return "size:99"
    if name.startswith(_HEADING_STYLES):
        return f"#{name[-1]}"
    size = _size(paragraph)
    if body_size and size > body_size * 1.08:
        return f"size:{size:.1f}"
    runs = [run for run in paragraph.runs if run.text.strip()]
    if not runs or not _is_bold(runs[0], paragraph):
        return ""
    whole = all(_is_bold(run, paragraph) for run in runs)
    return "bold" if whole or "\t" in paragraph.text else ""


def _is_bold(run: Run, paragraph: Paragraph) -> bool:
    if run.bold is not None:
        return run.bold
    own = run.style.font.bold if run.style is not None else None
    of_paragraph = paragraph.style.font.bold if paragraph.style is not None else None
    return bool(of_paragraph if own is None else own)


def _marked_text(paragraph: Paragraph) -> str:
    """Return the text with a tab behind a name set in bold, and with the addresses of links."""
    text, bold = "", False
    for part in paragraph.iter_inner_content():
        if isinstance(part, Hyperlink):
            text += _address(part)
            continue
        is_bold = _is_bold(part, paragraph)
        ends = bold and not is_bold and not text.rstrip().endswith(_OPEN)
        text += "\t" if ends and part.text.strip() and part.text[0] in " \u3000" else ""
        text += part.text
        bold = is_bold if part.text.strip() else bold
    return text


def _address(link: Hyperlink) -> str:
    shown, address = link.text.strip(), link.address.removesuffix("/")
    return address if "://" in address and address.endswith(shown.removesuffix("/")) else link.text


def _size(paragraph: Paragraph) -> float:
    sizes = [run.font.size.pt for run in paragraph.runs if run.text.strip() and run.font.size]
    style = paragraph.style
    own = style.font.size.pt if style is not None and style.font.size else 10.5
    return max(sizes, default=own)


def _is_listed(paragraph: Paragraph) -> bool:
    name = (paragraph.style.name or "").lower() if paragraph.style else ""
    properties = paragraph._p.pPr
    numbered = properties is not None and properties.numPr is not None
    return numbered or name.startswith(_LIST_STYLES)
