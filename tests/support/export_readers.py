"""Readers of exported resumes: the text and the link targets that are in a file."""

import io
import re
from dataclasses import dataclass
from html.parser import HTMLParser

import docx
import pdfplumber
import pypdfium2  # type: ignore[import-untyped]
from docx.opc.constants import RELATIONSHIP_TYPE
from markdown_it import MarkdownIt
from markdown_it.token import Token

from mcp_tools.resume.export import Format

WITHOUT_SPACES = re.compile(r"[\s\u200b\xad]+")


class Html(HTMLParser):
    """The elements of a page, the text of its body, and where its links lead."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.links: set[str] = set()
        self._in_body = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._in_body = self._in_body or tag == "body"
        self.attributes += [(name, value or "") for name, value in attrs]
        self.links |= {value or "" for name, value in attrs if name == "href"}

    def handle_data(self, data: str) -> None:
        if self._in_body:
            self.text += data


def read_html(content: bytes) -> tuple[str, set[str]]:
    page = Html(content.decode())
    return page.text, page.links


def markdown_tokens(content: bytes) -> list[Token]:
    """Every block and inline token of a CommonMark document."""
    blocks = MarkdownIt("commonmark").parse(content.decode())
    return [token for block in blocks for token in (block, *(block.children or ()))]


def read_markdown(content: bytes) -> tuple[str, set[str]]:
    tokens = markdown_tokens(content)
    text = "".join(token.content for token in tokens if token.type == "text")
    return text, {str(token.attrs["href"]) for token in tokens if token.type == "link_open"}


def read_docx(content: bytes) -> tuple[str, set[str]]:
    document = docx.Document(io.BytesIO(content))
    links = {
        relation.target_ref
        for relation in document.part.rels.values()
        if relation.reltype == RELATIONSHIP_TYPE.HYPERLINK
    }
    return "\n".join(paragraph.text for paragraph in document.paragraphs), links


@dataclass(frozen=True)
class PdfPage:
    """The text of a page, its width, and how far its characters reach to both sides, in points."""

    text: str
    width: float
    left: float
    right: float


def pdf_pages(content: bytes) -> list[PdfPage]:
    """Read the pages; PDFium gives a hyphen at the end of a line as U+0002."""
    pages = []
    for page in pypdfium2.PdfDocument(content):
        text = page.get_textpage()
        boxes = [text.get_charbox(index) for index in range(text.count_chars())]
        left, right = min(box[0] for box in boxes), max(box[2] for box in boxes)
        pages.append(
            PdfPage(text.get_text_bounded().replace("\x02", "-"), page.get_width(), left, right)
        )
    return pages


def read_pdf(content: bytes) -> tuple[str, set[str]]:
    text = "\n".join(page.text for page in pdf_pages(content))
    with pdfplumber.open(io.BytesIO(content)) as pdf:
        return text, {link["uri"] for page in pdf.pages for link in page.hyperlinks}


READERS = {"html": read_html, "md": read_markdown, "docx": read_docx, "pdf": read_pdf}


def read(format: Format, content: bytes) -> tuple[str, set[str]]:
    """Return the text of a file without any white space, and where its links lead."""
    text, links = READERS[format](content)
    return WITHOUT_SPACES.sub("", text), links
