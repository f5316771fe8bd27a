"""Lines of a PDF: words in rows, separated columns, joined broken lines; no picture is opened."""

import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import pdfplumber
from pdfminer.pdfdocument import PDFEncryptionError, PDFPasswordIncorrect
from pdfminer.pdfexceptions import PDFException
from pdfplumber.utils.exceptions import PdfminerException

from .columns import Word, columns
from .headings import Headings
from .lines import Line, clean, is_cjk, joined, take_bullet
from .read_error import ReadError

MAX_PAGES = 30
_LARGER = 1.08
_COLUMN_GAP = 1.6
"""Words further apart than this, in sizes of their letters, stand in columns."""
_PAGE_NUMBER = re.compile(
    r"(?:page|第)?\s*\d{1,2}\s*(?:页)?\s*(?:(?:/|of|共)\s*\d{1,2}\s*页?)?", re.IGNORECASE
)
_LEADING = 1.75
"""The distance between two lines of a paragraph, in sizes of its letters, is less than this."""


@dataclass
class _Row:
    """The words of one line in one column."""

    words: list[Word]
    text: str = field(init=False)

    def __post_init__(self) -> None:
        self.words.sort(key=lambda word: word.x0)
        self.text = _text(self.words)
        segments = _segments(self.words)
        self.size = max(_size(segment) for segment in segments)
        self.bold = any(all(word.bold for word in segment) for segment in segments)
        self.x0, self.x1 = self.words[0].x0, max(word.x1 for word in self.words)
        self.bottom = max(word.bottom for word in self.words)
        self.bulleted = take_bullet(self.text)

    @property
    def text_x0(self) -> float:
        """Left edge of the text after a bullet."""
        return self.words[1].x0 if self.bulleted.bullet and len(self.words) > 1 else self.x0


def pdf_lines(content: bytes, headings: Headings) -> list[Line]:
    """Return the lines of a PDF with text in it.

    Raises:
        ReadError: `encrypted`, `too_much` pages, or `empty`.
    """
    try:
        with pdfplumber.open(io.BytesIO(content), unicode_norm=None) as document:
            pages = document.pages
            if len(pages) > MAX_PAGES:
                raise ReadError("too_much")
            words = [_without_number(_words(page)) for page in pages]
    except PdfminerException as error:
        raise _read_error(error.args[0] if error.args else error) from None
    except PDFException as error:
        raise _read_error(error) from None
    if not any(words):
        raise ReadError("empty")
    return _lines([[_Row(row) for row in column] for column in columns(words, headings)])


def _read_error(error: object) -> ReadError:
    encrypted = isinstance(error, PDFPasswordIncorrect | PDFEncryptionError)
    return ReadError("encrypted" if encrypted else "broken")


def _words(page: pdfplumber.page.Page) -> list[Word]:
    found = page.dedupe_chars().extract_words(
        x_tolerance_ratio=0.18, y_tolerance=2, extra_attrs=["fontname", "size"]
    )
    emphatic = _emphatic_fonts(page)
    words = [
        Word(
            text=clean(word["text"]),
            x0=word["x0"],
            x1=word["x1"],
            top=word["top"],
            bottom=word["bottom"],
            size=round(word["size"], 1),
            bold=_is_bold(word["fontname"]) or word["fontname"] in emphatic,
        )
        for word in found
        if 0 <= word["x0"] <= page.width and word["size"] > 1 and clean(word["text"])
    ]
    return _with_addresses(words, page)


def _with_addresses(words: list[Word], page: pdfplumber.page.Page) -> list[Word]:
    """Write the whole address where a link shows only a part of it."""
    for link in page.hyperlinks:
        uri = str(link.get("uri") or "").removesuffix("/")
        shown = [word for word in words if _is_within(word, link)]
        if shown and "://" in uri and uri.endswith("".join(word.text for word in shown)):
            index = words.index(shown[0])
            words[index] = shown[0]._replace(text=uri, x1=shown[-1].x1)
            words = [word for word in words if word not in shown[1:]]
    return words


def _is_within(word: Word, link: Mapping[str, float]) -> bool:
    across = link["x0"] - 2 <= word.x0 and word.x1 <= link["x1"] + 2
    return across and link["top"] - 2 <= (word.top + word.bottom) / 2 <= link["bottom"] + 2


def _without_number(words: list[Word]) -> list[Word]:
    """Leave out the number of a page, the last thing on it."""
    lowest = max((word.bottom for word in words), default=0.0)
    last = [word for word in words if word.bottom > lowest - 3]
    above = max((word.bottom for word in words if word not in last), default=0.0)
    is_number = _PAGE_NUMBER.fullmatch(" ".join(word.text for word in last))
    far = lowest - above > 2 * last[0].size if last else False
    return [word for word in words if word not in last] if is_number and far else words


def _emphatic_fonts(page: pdfplumber.page.Page) -> set[str]:
    """Return the rarer ones of fonts with one name: other weights of a variable font."""
    uses = Counter(str(char["fontname"]) for char in page.chars)
    usual: dict[str, str] = {}
    for font, _ in uses.most_common():
        usual.setdefault(font.partition("+")[2], font)
    return {font for font in uses if "+" in font and usual[font.partition("+")[2]] != font}


def _is_bold(font: str) -> bool:
    name = font.lower()
    return any(mark in name for mark in ("bold", "black", "heavy", "semibold", "-bd", "demi"))


def _size(words: Sequence[Word]) -> float:
    """Return the size in which most of some words is written."""
    return Counter(word.size for word in words for _ in word.text).most_common(1)[0][0]


def _segments(words: Sequence[Word]) -> list[list[Word]]:
    """Split a row at its wide gaps."""
    found = [[words[0]]]
    for before, word in pairwise(words):
        if _space(before, word) > _COLUMN_GAP:
            found.append([])
        found[-1].append(word)
    return found


def _space(before: Word, word: Word) -> float:
    """Return the space between two words in sizes of their letters."""
    return (word.x0 - before.x1) / max(word.size, before.size, 1.0)


def _changes_hand(words: Sequence[Word], before: Word, word: Word) -> bool:
    """Return whether a name in bold ends here: "**Languages** Go, Python"."""
    if not words[0].bold or before.text.endswith((":", "：", ",", "，", "、")):
        return False
    changed = before.bold != word.bold or abs(before.size - word.size) > 0.4
    return changed and not word.bold and _space(before, word) > 0.1


def _text(words: Sequence[Word]) -> str:
    text = words[0].text
    for before, word in pairwise(words):
        space = _space(before, word)
        if space > _COLUMN_GAP or _changes_hand(words, before, word):
            text += "\t"
        elif space > 0.1:
            text += " "
        text += word.text
    return text


def _lines(parts: list[list[_Row]]) -> list[Line]:
    sizes = Counter(row.size for rows in parts for row in rows for _ in row.text)
    body = sizes.most_common(1)[0][0]
    found: list[Line] = []
    for rows in parts:
        leading = _usual_leading(rows)
        right = max((row.x1 for row in rows), default=0.0)
        before: _Row | None = None
        for row in rows:
            distance = row.bottom - before.bottom if before else 0.0
            gap = before is None or not 0 <= distance <= max(leading, row.size) * 1.35
            if before and found and not gap and _continues(before, row, right):
                found[-1] = found[-1]._replace(text=joined(found[-1].text, row.bulleted.text))
            elif row.bulleted.text:
                style = _style(row, body)
                found.append(
                    Line(row.bulleted.text, row.bulleted.bullet, style, gap and bool(found))
                )
            before = row
    return [line._replace(text=clean(line.text)) for line in found if clean(line.text)]


def _usual_leading(rows: Sequence[_Row]) -> float:
    steps = Counter(
        round(row.bottom - before.bottom, 1)
        for before, row in pairwise(rows)
        if row.size == before.size and 0 < row.bottom - before.bottom < row.size * _LEADING
    )
    return steps.most_common(1)[0][0] if steps else 0.0


def _continues(before: _Row, row: _Row, right: float) -> bool:
    """Return whether a row continues a line that did not fit: its first word had no room there."""
    if row.bulleted.bullet or abs(row.size - before.size) > 0.3 or row.bold != before.bold:
        return False
    if "\t" in row.text or ("\t" in before.text and not before.bulleted.bullet):
        return False
    aligned = abs(row.x0 - before.text_x0) <= 0.8 * row.size
    hanging = before.bulleted.bullet and row.x0 > before.x0 + 2
    if not (aligned or hanging):
        return False
    first = row.words[0]
    room = row.size if is_cjk(first.text[0]) else first.x1 - first.x0 + 0.25 * row.size
    return before.x1 + room > right - 0.5


def _style(row: _Row, body: float) -> str:
    if row.size > body * _LARGER:
        return f"size:{row.size:.1f}{' bold' if row.bold else ''}"
    return (
        "bold"
        if row.bold
        else "caps"
        if row.text.isupper() and row.text.isascii() and len(row.text) > 3
        else ""
    )
