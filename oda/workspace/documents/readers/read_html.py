"""A web page as Markdown: headings, lists, tables, links; scripts and styles are left out."""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from .pieces import table
from .text_encoding import encoding_of

MAX_CHARACTERS = 8 * 2**20
_SILENT = frozenset({"script", "style", "noscript", "template", "svg", "head", "iframe", "object"})
_BLOCKS = frozenset(
    {"p", "div", "section", "article", "header", "footer", "main", "nav", "aside", "dl", "dt", "dd"}
    | {"blockquote", "pre", "figure", "figcaption", "address", "form", "fieldset", "hr", "br"}
)
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_MARKS = {"b": "**", "strong": "**", "i": "*", "em": "*", "code": "`"}


def pieces(path: Path) -> Iterator[str]:
    """The page's blocks."""
    with path.open(encoding=encoding_of(path), errors="replace") as file:
        text = file.read(MAX_CHARACTERS)
        is_whole = not file.read(1)
    page = _Page()
    page.feed(text)
    page.close()
    yield from page.finished()
    if not is_whole:
        yield f"[only the first {MAX_CHARACTERS} characters of the file are read]"


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._blocks: list[str] = []
        self._text: list[str] = []
        self._prefix = ""
        self._silent: list[str] = []
        self._lists: list[str] = []
        self._rows: list[list[str]] = []
        self._cell: list[str] | None = None
        self._tables = 0
        self._links: list[str] = []
        self._in_title = False

    def finished(self) -> list[str]:
        self._end_block()
        self._end_table()
        return self._blocks

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "title":
            self._in_title = True
        if tag in _SILENT:
            self._silent.append(tag)
        elif tag in _HEADINGS:
            self._end_block(f"{_HEADINGS[tag]} ")
        elif tag in ("ul", "ol"):
            self._end_block()
            self._lists.append("-" if tag == "ul" else "1.")
        elif tag == "li":
            mark = self._lists[-1] if self._lists else "-"
            self._end_block(f"{'  ' * min(len(self._lists) - 1, 8)}{mark} ")
        elif tag == "table":
            self._end_block()
            self._tables += 1
        elif tag == "tr" and self._tables:
            self._end_cell()
            self._rows.append([])
        elif tag in ("td", "th") and self._tables:
            self._end_cell()
            self._cell = []
        elif tag in _BLOCKS:
            self._end_block()
        elif tag == "a":
            self._links.append(attributes.get("href") or "")
            self._add("[")
        elif tag == "img":
            self._add(f"![picture: {attributes.get('alt') or ''}]")
        elif tag in _MARKS:
            self._add(_MARKS[tag])

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
            self._end_block()
        if tag in self._silent:
            del self._silent[self._silent.index(tag) :]
        elif tag in ("ul", "ol"):
            self._end_block()
            if self._lists:
                self._lists.pop()
        elif tag in ("td", "th"):
            self._end_cell()
        elif tag == "table" and self._tables:
            self._tables -= 1
            if not self._tables:
                self._end_table()
        elif tag == "a" and self._links:
            target = self._links.pop()
            self._add(f"]({target})" if target.startswith(("http:", "https:", "mailto:")) else "]")
        elif tag in _MARKS:
            self._add(_MARKS[tag])
        elif tag in _BLOCKS or tag in _HEADINGS or tag == "li":
            self._end_block()

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self._prefix = "Title: "
            self._text.append(data)
        else:
            self._add(data)

    def _add(self, text: str) -> None:
        if not self._silent:
            (self._text if self._cell is None else self._cell).append(text)

    def _end_block(self, prefix: str = "") -> None:
        if self._cell is not None:
            self._cell.append(" ")
            return
        text = " ".join("".join(self._text).split())
        if text:
            self._blocks.append(self._prefix + text)
        self._text = []
        self._prefix = prefix

    def _end_cell(self) -> None:
        if self._cell is not None:
            if not self._rows:
                self._rows.append([])
            self._rows[-1].append("".join(self._cell))
            self._cell = None

    def _end_table(self) -> None:
        self._end_cell()
        rows = [row for row in self._rows if row]
        if rows:
            self._blocks.append(table(rows))
        self._rows = []
