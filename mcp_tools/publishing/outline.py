"""An article as slides see it: sections of texts, tables and pictures."""

from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from .html import Page
from .tree import Element, parse
from .typesetting import shortened

Kind = Literal["paragraph", "bullet", "number", "heading", "quote", "code"]

_SUBTITLE_LENGTH = 120
_OVERVIEW = {"zh": "概述"}
_BLOCK_TAGS = """address article aside blockquote dd details div dl dt figcaption figure footer h3
    h4 h5 h6 header hr img li main nav ol p pre section summary table ul"""
_BLOCKS = frozenset(_BLOCK_TAGS.split())
_SHOWN_PICTURES = ("data:image/png;", "data:image/jpeg;", "data:image/gif;")


@dataclass(frozen=True)
class Run:
    """Some words that look the same."""

    text: str
    bold: bool = False
    link: str | None = None


@dataclass(frozen=True)
class Text:
    """A paragraph; `number` is the place in a list, `level` how deep that list lies."""

    runs: tuple[Run, ...]
    kind: Kind = "paragraph"
    level: int = 0
    number: int = 0

    @property
    def words(self) -> str:
        return "".join(run.text for run in self.runs)


@dataclass(frozen=True)
class Table:
    """Rows of cells, each as long as the longest; the first one is the head."""

    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Picture:
    """A PNG, JPEG or GIF, and what it shows."""

    data: bytes
    alt: str
    caption: str = ""


Block = Text | Table | Picture


@dataclass
class Section:
    """The content under one heading; `notes` are for the speaker."""

    title: str
    blocks: list[Block] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Outline:
    """A title, a line below it, and the sections."""

    title: str
    subtitle: str
    sections: tuple[Section, ...]


def outline_of(page: Page) -> Outline:
    """Take an article apart: each `h2` begins a section, an `aside` is a note for the speaker."""
    language = page.language.split("-")[0]
    sections = [Section(_OVERVIEW.get(language, "Overview"))]
    for element in _pieces(parse(page.body)):
        if isinstance(element, Element) and element.tag == "h2":
            sections.append(Section(element.text()))
        elif isinstance(element, Element) and element.tag == "aside":
            sections[-1].notes.append(element.text())
        elif isinstance(element, str) or element.tag != "h1":
            sections[-1].blocks.extend(_blocks(element, level=0))
    opening, *rest = sections
    is_subtitle = len(opening.blocks) == 1 and isinstance(opening.blocks[0], Text)
    shown = rest if is_subtitle or not opening.blocks else sections
    return Outline(page.title, shortened(page.summary, _SUBTITLE_LENGTH), tuple(shown))


def _pieces(element: Element) -> Iterator[Element | str]:
    """The parts of an article, out of the elements that only group them."""
    for child in element.children:
        groups = isinstance(child, Element) and child.tag in ("article", "div", "main", "section")
        if isinstance(child, Element) and (groups or child.tag == "header"):
            yield from _pieces(child)
        else:
            yield child


def _blocks(piece: Element | str, level: int) -> Iterator[Block]:
    if isinstance(piece, str):
        yield from _text(Element("p", {}, [piece]), "paragraph", level)
        return
    match piece.tag:
        case "ul" | "ol":
            yield from _list(piece, level)
        case "table":
            yield from _table(piece)
        case "img":
            yield from _picture(piece)
        case "pre":
            yield from _code(piece)
        case "figure":
            yield from _figure(piece, level)
        case "h2" | "h3" | "h4" | "h5" | "h6" | "dt" | "summary":
            yield from _text(piece, "heading", level)
        case "blockquote":
            yield from _flow(piece, "quote", level)
        case _:
            yield from _flow(piece, "paragraph", level)


def _flow(element: Element, kind: Kind, level: int) -> Iterator[Block]:
    """Yield the blocks in an element; text between blocks becomes a paragraph."""
    inline = Element("p")
    for child in element.children:
        if isinstance(child, Element) and child.tag in _BLOCKS:
            yield from _text(inline, kind, level)
            inline = Element("p")
            is_text = child.tag == "p"
            yield from _flow(child, kind, level) if is_text else _blocks(child, level)
        else:
            inline.children.append(child)
    yield from _text(inline, kind, level)


def _list(element: Element, level: int) -> Iterator[Block]:
    start = element.attributes.get("start", "1")
    number = int(start) if start.isdigit() else 1
    for item in element.children:
        if not isinstance(item, Element) or item.tag != "li":
            continue
        first = True
        for block in _flow(item, "paragraph", level + 1):
            if first and isinstance(block, Text):
                kind: Kind = "number" if element.tag == "ol" else "bullet"
                yield Text(block.runs, kind, level, number)
                number += 1
            else:
                yield block
            first = False


def _text(element: Element, kind: Kind, level: int) -> Iterator[Text]:
    runs = list(_runs(element, Run("")))
    joined = "".join(run.text for run in runs)
    if not joined.strip():
        return
    kept: list[Run] = []
    for run in runs:
        is_first = not kept or kept[-1].text.endswith(" ")
        text = run.text.lstrip() if is_first else run.text
        if text:
            kept.append(Run(text, run.bold, run.link))
    kept[-1] = Run(kept[-1].text.rstrip(), kept[-1].bold, kept[-1].link)
    yield Text(tuple(kept), kind, level)


def _runs(element: Element, look: Run) -> Iterator[Run]:
    for child in element.children:
        if isinstance(child, str):
            yield Run(_single_blanks(child), look.bold, look.link)
        elif child.tag == "br":
            yield Run(" ", look.bold, look.link)
        else:
            bold = look.bold or child.tag in ("b", "strong", "th")
            link = child.attributes.get("href", "") if child.tag == "a" else ""
            yield from _runs(child, Run("", bold, link if link.startswith("http") else look.link))


def _single_blanks(text: str) -> str:
    body = " ".join(text.split())
    if not body:
        return " " if text else ""
    return f"{' ' if text[0].isspace() else ''}{body}{' ' if text[-1].isspace() else ''}"


def _table(element: Element) -> Iterator[Block]:
    rows = [
        [cell.text() for cell in row.children if isinstance(cell, Element)]
        for row in element.walk()
        if row.tag == "tr"
    ]
    longest = max(map(len, rows), default=0)
    if longest:
        yield Table(tuple(tuple(row + [""] * (longest - len(row))) for row in rows if row))


def _picture(element: Element) -> Iterator[Block]:
    source, alt = element.attributes.get("src", ""), element.attributes.get("alt", "")
    if source.startswith(_SHOWN_PICTURES):
        yield Picture(b64decode(source.partition(",")[2]), alt)
    elif alt:
        yield Text((Run(alt),), "quote")


def _figure(element: Element, level: int) -> Iterator[Block]:
    """A picture with its caption, or whatever else it holds."""
    caption, image = element.find("figcaption"), element.find("img")
    shown = [one for one in (_picture(image) if image else ()) if isinstance(one, Picture)]
    if shown:
        yield Picture(shown[0].data, shown[0].alt, caption.text() if caption else "")
    else:
        yield from _flow(element, "paragraph", level)


def _code(element: Element) -> Iterator[Text]:
    for line in element.raw_text().strip("\n").split("\n"):
        yield Text((Run(line.rstrip() or " "),), "code")
