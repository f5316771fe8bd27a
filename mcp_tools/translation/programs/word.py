"""A Word document: body, tables, text boxes, headers, footers, notes, comments, charts."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from .drawing_text import DrawingTexts
from .found import Found
from .namespaces import MC, W
from .office_package import WORD, Package, stem_of
from .spans import has_words
from .word_paragraph import WordParagraph

_TEXT_PARTS = ("document", "header", "footer", "footnotes", "endnotes", "comments")
_PLACES = {f"{W}txbxContent": "text box", f"{W}tc": "table", f"{W}comment": "comment"}
_PARTS = {"header": "header", "footer": "footer", "footnotes": "note", "endnotes": "note"}


class WordDocument:
    """An opened .docx."""

    def __init__(self, path: Path) -> None:
        """Open it; raises `UnreadableError`."""
        self._package = Package(path, WORD)
        self._parts = [
            part for stem in _TEXT_PARTS for part in self._package.names("word/", stem) if _is(part)
        ]
        drawn = self._package.names("word/charts/", "chart")
        drawn += self._package.names("word/diagrams/", "data")
        self._drawings = DrawingTexts(self._package, drawn)

    def segments(self) -> list[Found]:
        """Paragraphs with words, the body first."""
        found: list[Found] = []
        for part, identifier, element in self._paragraphs():
            text = WordParagraph(element).marked.text
            if has_words(text):
                found.append({"id": identifier, "text": text, "context": _context(part, element)})
        return [*found, *self._drawings.segments()]

    def apply(self, translations: Mapping[str, str]) -> list[str]:
        """Replace paragraphs by their ids."""
        for part, identifier, element in list(self._paragraphs()):
            if identifier in translations:
                self._package.change(part)
                WordParagraph(element).write(translations[identifier])
        for part in self._parts:
            _update_fallbacks(self._package.root(part))
        self._drawings.apply(translations)
        return []

    def save(self, path: Path) -> None:
        """Write the document."""
        self._package.save(path)

    def _paragraphs(self) -> Iterator[tuple[str, str, Any]]:
        """All but those in the copies of drawings that old programs show."""
        for part in self._parts:
            stem = stem_of(part)
            for number, element in enumerate(list(self._package.root(part).iter(f"{W}p"))):
                if next(element.iterancestors(f"{MC}Fallback"), None) is None:
                    yield part, f"{stem}:{number}", element


def _is(part: str) -> bool:
    """`word/header1.xml`, not `word/commentsExtended.xml`."""
    stem = stem_of(part).rstrip("0123456789")
    return part.count("/") == 1 and stem in _TEXT_PARTS


def _context(part: str, element: Any) -> str:
    for ancestor in element.iterancestors():
        if ancestor.tag in _PLACES:
            return _PLACES[ancestor.tag]
    stem = stem_of(part).rstrip("0123456789")
    style = element.find(f"{W}pPr/{W}pStyle")
    return _PARTS.get(stem) or (style.get(f"{W}val") if style is not None else "") or "text"


def _update_fallbacks(root: Any) -> None:
    """Give the copy of a text box for old programs the text of the new one."""
    for alternatives in root.iter(f"{MC}AlternateContent"):
        boxes = [
            list(branch.iter(f"{W}txbxContent"))
            for branch in alternatives
            if branch.tag in (f"{MC}Choice", f"{MC}Fallback")
        ]
        if len(boxes) == 2 and len(boxes[0]) == len(boxes[1]):
            for new, old in zip(*boxes, strict=True):
                old[:] = [deepcopy(child) for child in new]
