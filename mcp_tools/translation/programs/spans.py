"""A formatted text as plain text with markers, and back: `See <1>our site</1><2/>.`

The predominant formatting is not marked. `<1>…</1>` is text with different formatting, such as a
link; `<2/>` represents an object, such as a footnote's mark. Translators move markers along with
the words that they belong to.
"""

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

_MARKER = re.compile(r"(?<!\\)(\\*+)<(/?)(\d{1,4})\s*(/?)>")
"""Behind an odd number of backslashes it is text; each two of them stand for one."""


@dataclass(frozen=True)
class Atom:
    """A piece of a formatted text: words in one style, or an object (`text` is None)."""

    text: str | None
    style: Hashable
    """Pieces of equal style look alike."""
    source: Any
    """Data needed to write the piece back."""


def has_words(text: str) -> bool:
    """Return whether there is anything to translate: a number or a dash is not."""
    return any(character.isalpha() for character in text)


class MarkedText:
    """A paragraph; `text` is what a translator sees."""

    def __init__(self, atoms: Sequence[Atom]) -> None:
        first, last = _core(atoms)
        self._before, self._after = list(atoms[:first]), list(atoms[last:])
        core = _trimmed(_joined(atoms[first:last]), self._before, self._after)
        self._base = _most_used(core)
        self._spans: dict[int, Atom] = {}
        self._objects: dict[int, Atom] = {}
        self.text = self._marked(core)

    def read(self, translation: str) -> list[Atom]:
        """Return the pieces of a translated text.

        Words whose markers are lost look like most of the text; an object that is lost comes last.
        """
        atoms: list[Atom] = []
        lost = dict(self._objects)
        for text, mark in self._closed(translation):
            if text:
                span = self._spans.get(mark or 0, self._base)
                assert span is not None
                atoms.append(Atom(text, span.style, span.source))
            elif mark in lost:
                atoms.append(lost.pop(mark))
        return [*self._before, *_joined(atoms, with_blanks=False), *lost.values(), *self._after]

    def _marked(self, atoms: Sequence[Atom]) -> str:
        written = ""
        for atom in atoms:
            for piece, is_marker in self._pieces(atom):
                if is_marker:  # backslashes before it count twice
                    written += written[len(written.rstrip("\\")) :]
                written += piece if is_marker else _MARKER.sub(_escaped, piece)
        return written

    def _pieces(self, atom: Atom) -> Iterator[tuple[str, bool]]:
        """Text and markers of an atom; blanks at its ends need no marker."""
        next_number = len(self._spans) + len(self._objects) + 1
        if atom.text is None:
            self._objects[next_number] = atom
            yield f"<{next_number}/>", True
            return
        core = atom.text.strip()
        if not core or self._base is None or atom.style == self._base.style:
            yield atom.text, False
            return
        known = (number for number, span in self._spans.items() if span.style == atom.style)
        number = next(known, next_number)
        self._spans[number] = atom
        before, _, after = atom.text.partition(core)
        yield from ((before, False), (f"<{number}>", True), (core, False))
        yield from ((f"</{number}>", True), (after, False))

    def _closed(self, translation: str) -> Iterator[tuple[str, int | None]]:
        """Text with the marker that it is in; markers that are never closed count for nothing."""
        opened: list[int] = []
        found: list[tuple[str, int | None, int]] = []
        closed: set[int] = set()
        serial = 0
        serials: list[int] = []
        for text, marker in _parsed(translation):
            if marker is None:
                found.append((text, opened[-1] if opened else 0, serials[-1] if serials else 0))
                continue
            slash, number = marker
            if number in self._objects and slash != "close":
                found.append(("", number, 0))
            elif slash == "open" and number in self._spans:
                serial += 1
                opened.append(number)
                serials.append(serial)
            elif slash == "close" and number in opened:
                index = len(opened) - 1 - opened[::-1].index(number)
                closed.add(serials[index])
                del opened[index:], serials[index:]
        for text, mark, within in found:
            yield text, (mark if not text or within in closed else 0)


def _parsed(text: str) -> Iterator[tuple[str, tuple[str, int] | None]]:
    """Text between markers, and markers (`open`, `close` or `empty`, with their number)."""
    position = 0
    for match in _MARKER.finditer(text):
        count = len(match[1])
        literal = text[position : match.start()] + "\\" * (count // 2)
        position = match.end()
        if count % 2:
            yield literal + match[0][count:], None
            continue
        if literal:
            yield literal, None
        yield "", ("close" if match[2] else "empty" if match[4] else "open", int(match[3]))
    if position < len(text):
        yield text[position:], None


def _escaped(match: re.Match[str]) -> str:
    return f"{match[1] * 2}\\{match[0][len(match[1]) :]}"


def _core(atoms: Sequence[Atom]) -> tuple[int, int]:
    """Return the range of words; objects around it need no markers."""
    worded = [index for index, atom in enumerate(atoms) if atom.text and atom.text.strip()]
    return (worded[0], worded[-1] + 1) if worded else (0, 0)


def _trimmed(core: list[Atom], before: list[Atom], after: list[Atom]) -> list[Atom]:
    """Put blanks at the ends aside, since translators lose them."""
    if not core:
        return core
    first = core[0]
    text = first.text or ""
    stripped = text.lstrip()
    if stripped != text:
        before.append(Atom(text[: len(text) - len(stripped)], first.style, first.source))
        core[0] = Atom(stripped, first.style, first.source)
    last = core[-1]
    text = last.text or ""
    stripped = text.rstrip()
    if stripped != text:
        after.insert(0, Atom(text[len(stripped) :], last.style, last.source))
        core[-1] = Atom(stripped, last.style, last.source)
    return core


def _joined(atoms: Sequence[Atom], *, with_blanks: bool = True) -> list[Atom]:
    """Neighbours of one style as one; `with_blanks` gives blanks the look of what is before."""
    joined: list[Atom] = []
    for atom in atoms:
        last = joined[-1] if joined else None
        if last is None or atom.text is None or last.text is None:
            joined.append(atom)
        elif atom.style == last.style or (with_blanks and not atom.text.strip()):
            joined[-1] = Atom(last.text + atom.text, last.style, last.source)
        else:
            joined.append(atom)
    return joined


def _most_used(atoms: Sequence[Atom]) -> Atom | None:
    sizes: Counter[Hashable] = Counter()
    for atom in atoms:
        sizes[atom.style] += len((atom.text or "").replace(" ", ""))
    style = max(sizes, key=lambda style: sizes[style], default=None)
    return next((atom for atom in atoms if atom.style == style and atom.text is not None), None)


def grouped(atoms: Sequence[Atom]) -> Iterator[tuple[Atom, str]]:
    """Words in one style after the other, for formats without objects."""
    for _, group in groupby((atom for atom in atoms if atom.text), key=lambda atom: atom.style):
        pieces = list(group)
        yield pieces[0], "".join(piece.text or "" for piece in pieces)
