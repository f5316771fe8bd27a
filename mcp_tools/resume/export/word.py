"""A resume as DOCX, with real styles, so that it stays easy to edit in a word processor."""

from io import BytesIO
from typing import TYPE_CHECKING
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from .errors import MissingExtraError
from .links import Link
from .page import Item, Page, Part

if TYPE_CHECKING:
    from docx.document import Document
    from docx.text.paragraph import Paragraph


def to_docx(page: Page, template: str) -> bytes:
    """Write a page as DOCX; `template` names a set of styles.

    Raises:
        MissingExtraError: python-docx is not installed.
    """
    try:
        from .word_styles import styled_document
    except ImportError as error:
        raise MissingExtraError(format="DOCX") from error
    document = styled_document(page, template)
    _head(document, page)
    if page.summary:
        document.add_paragraph(page.about, "Heading 1")
        for paragraph in page.summary:
            document.add_paragraph(paragraph)
    for part in page.parts:
        _part(document, part, page)
    return _packed(document)


def _head(document: "Document", page: Page) -> None:
    document.add_paragraph(page.heading, "Title")
    if page.label:
        document.add_paragraph(page.label, "Subtitle")
    if page.contacts:
        paragraph = document.add_paragraph(style="Contact")
        for index, contact in enumerate(page.contacts):
            if index:
                paragraph.add_run(" | ")
            if contact.needs_label:
                paragraph.add_run(contact.label + page.colon, "Quiet")
            _link(paragraph, contact.link)


def _part(document: "Document", part: Part, page: Page) -> None:
    document.add_paragraph(part.heading, "Heading 1")
    write = _line if part.layout == "compact" else _entry
    for item in part.items:
        write(document, item, page)


def _line(document: "Document", item: Item, page: Page) -> None:
    paragraph = document.add_paragraph()
    if item.title:
        paragraph.add_run(item.title, "Strong")
    if item.subtitle:
        paragraph.add_run(f" {item.subtitle}" if item.title else item.subtitle, "Quiet")
    if item.tags:
        paragraph.add_run((page.colon if paragraph.runs else "") + page.comma.join(item.tags))


def _entry(document: "Document", item: Item, page: Page) -> None:
    _two_sided(document, "Heading 2", item.title, item.period)
    _two_sided(document, "Entry Detail", item.subtitle, item.place)
    for text in item.paragraphs:
        document.add_paragraph(text)
    for bullet in item.bullets:
        document.add_paragraph(bullet, "List Bullet")
    for fact in item.facts:
        paragraph = document.add_paragraph()
        paragraph.add_run(fact.label + page.colon, "Quiet")
        paragraph.add_run(fact.text)
    if item.link:
        _link(document.add_paragraph(), item.link)


def _two_sided(document: "Document", style: str, left: str, right: str) -> None:
    """Put text at both margins; the tab stop of the style holds the right one."""
    if left or right:
        paragraph = document.add_paragraph(left, style)
        if right:
            paragraph.add_run(f"\t{right}" if left else right, "Quiet")


def _link(paragraph: "Paragraph", link: Link) -> None:
    from docx.opc.constants import RELATIONSHIP_TYPE
    from docx.oxml.ns import qn
    from docx.oxml.parser import OxmlElement

    run = paragraph.add_run(link.text, "Hyperlink" if link.url else None)
    if link.url:
        hyperlink = OxmlElement("w:hyperlink")
        target = paragraph.part.relate_to(link.url, RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
        hyperlink.set(qn("r:id"), target)
        run._r.addprevious(hyperlink)
        hyperlink.append(run._r)


def _packed(document: "Document") -> bytes:
    """Write the file; its entries bear no time of day, so that equal documents are equal files."""
    written, fixed = BytesIO(), BytesIO()
    document.save(written)
    with ZipFile(written) as source, ZipFile(fixed, "w", ZIP_DEFLATED) as target:
        for name in source.namelist():
            entry = ZipInfo(name)
            entry.compress_type = ZIP_DEFLATED
            target.writestr(entry, source.read(name))
    return fixed.getvalue()
