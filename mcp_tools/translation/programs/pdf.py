"""A PDF: each paragraph is taken out of its page and set anew in its place; all else stays."""

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pdfminer.pdfdocument import PDFDocument, PDFPasswordIncorrect
from pdfminer.pdfpage import PDFPage
from pdfminer.pdfparser import PDFParser, PDFSyntaxError
from pypdf import PageObject, PdfReader, PdfWriter
from reportlab.pdfgen.canvas import Canvas

from .failure import UnreadableError
from .found import Found
from .pdf_blocks import Block, find_blocks
from .pdf_fonts import Fonts
from .pdf_lines import Edges
from .pdf_overlay import lay_over
from .pdf_page import PageContent, ShowId, read_page
from .pdf_removal import TextRemoval
from .pdf_setting import draw, find_room, set_text
from .spans import Atom, MarkedText, has_words

MAX_PAGES = 500


@dataclass(frozen=True)
class _Page:
    content: PageContent
    blocks: list[Block]


@dataclass(frozen=True)
class _New:
    """A block with its new text."""

    block: Block
    atoms: list[Atom]


class PdfDocument:
    """An opened .pdf."""

    def __init__(self, path: Path) -> None:
        """Open it; raises `UnreadableError`."""
        self._path = path
        self._pages = list(_read(path))
        self._writer: PdfWriter | None = None

    def segments(self) -> list[Found]:
        """The paragraphs with words, page by page."""
        return [
            {"id": identifier, "text": marked.text, "context": context}
            for number, page in enumerate(self._pages, start=1)
            for identifier, _, marked, context in _segments(number, page)
        ]

    def apply(self, translations: Mapping[str, str]) -> list[str]:
        """Replace paragraphs by their ids."""
        writer = PdfWriter(clone_from=PdfReader(self._path))
        new = [
            list(_new_blocks(number, page, translations))
            for number, page in enumerate(self._pages, start=1)
        ]
        fonts = Fonts(
            (atom.text or "", atom.source) for page in new for one in page for atom in one.atoms
        )
        small: list[str] = []
        data = io.BytesIO()
        canvas = Canvas(data)
        drawn: list[PageObject] = []
        for number, (page, blocks) in enumerate(zip(self._pages, new, strict=True), start=1):
            if not blocks:
                continue
            drawn.append(writer.pages[number - 1])
            if not _redraw(writer, drawn[-1], page, blocks, fonts, canvas):
                small.append(str(number))
        if drawn:
            canvas.save()
            for target, overlay in zip(drawn, PdfReader(data).pages, strict=True):
                lay_over(writer, target, overlay)
        self._writer = writer
        return list(self._notes(small, fonts))

    def save(self, path: Path) -> None:
        """Write the document."""
        assert self._writer is not None
        self._writer.compress_identical_objects(remove_unreferenced=True)
        with path.open("wb") as file:
            self._writer.write(file)

    def _notes(self, small: list[str], fonts: Fonts) -> Iterator[str]:
        if small:
            yield f"too little room for the text on pages {', '.join(small)}; shorten it there"
        turned = [
            str(number) for number, page in enumerate(self._pages, start=1) if page.content.turned
        ]
        if turned:
            yield f"turned text on pages {', '.join(turned)} is left as it is"
        if fonts.missing:
            yield f"no font has these letters: {''.join(sorted(fonts.missing))[:50]}"


def _read(path: Path) -> Iterator[_Page]:
    with path.open("rb") as file:
        try:
            document = PDFDocument(PDFParser(file))
        except PDFPasswordIncorrect as error:
            raise UnreadableError("encrypted") from error
        except PDFSyntaxError as error:
            raise UnreadableError("broken") from error
        for number, page in enumerate(PDFPage.create_pages(document), start=1):
            if number > MAX_PAGES:
                raise UnreadableError("too_large")
            content = read_page(page)
            yield _Page(content, find_blocks(content))


def _segments(number: int, page: _Page) -> Iterator[tuple[str, Block, MarkedText, str]]:
    for index, block in enumerate(page.blocks):
        marked = block.marked()
        if block.is_readable and has_words(marked.text):
            x0, y0, x1, y1 = (round(edge) for edge in block.box)
            size = block.lines[0].size
            context = f"page {number}, {size:g} pt, at {x0},{y0} to {x1},{y1}"
            yield f"page{number}:{index}", block, marked, context


def _new_blocks(number: int, page: _Page, translations: Mapping[str, str]) -> Iterator[_New]:
    """Translated blocks, and those that share an operator with one: they are drawn anew as well."""
    known = {id(block): (key, marked) for key, block, marked, _ in _segments(number, page)}
    chosen = {
        id(block)
        for block in page.blocks
        if id(block) in known and known[id(block)][0] in translations
    }
    removed: set[ShowId] = set()
    while True:
        removed |= {show for block in page.blocks if id(block) in chosen for show in block.shows}
        also = {id(block) for block in page.blocks if block.shows & removed} - chosen
        if not also:
            break
        chosen |= also
    for block in page.blocks:
        if id(block) in chosen:
            key, marked = known.get(id(block), ("", block.marked()))
            yield _New(block, marked.read(translations.get(key, marked.text)))


def _redraw(
    writer: PdfWriter,
    target: PageObject,
    page: _Page,
    blocks: list[_New],
    fonts: Fonts,
    canvas: Canvas,
) -> bool:
    """Take the old texts out, and draw the new ones on a page of a canvas; returns if all fit."""
    target.transfer_rotation_to_content()
    wanted = {show for new in blocks for show in new.block.shows}
    removal = TextRemoval(writer, wanted, page.content.shown)
    removal.apply(target)
    canvas.setPageSize((page.content.width, page.content.height))
    edges = Edges(page.content.shapes)
    all_fit = True
    for new in blocks:
        if not new.block.is_visible or not new.block.shows <= removal.done:
            _cover(canvas, new.block)
        room = find_room(new.block, page.blocks, edges, page.content.width)
        setting = set_text(new.atoms, new.block, room, fonts)
        draw(canvas, setting, new.block, room, fonts)
        all_fit = all_fit and setting.fits
    canvas.showPage()
    return all_fit


def _cover(canvas: Canvas, block: Block) -> None:
    """White where the old text cannot be taken out, as in a scan."""
    x0, y0, x1, y1 = block.box
    canvas.setFillGray(1)
    canvas.rect(x0 - 1, y0, x1 - x0 + 2, y1 - y0, stroke=0, fill=1)
