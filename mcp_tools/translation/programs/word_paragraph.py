"""A paragraph of a Word document: its runs as marked text, and a translation as runs again."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .namespaces import W
from .spans import Atom, MarkedText
from .word_runs import inside, look_of, new_run, text_run

_SHELLS = frozenset(f"{W}{name}" for name in ("hyperlink", "ins", "smartTag", "sdt", "fldSimple"))
"""Elements that may enclose runs of a paragraph, and are kept around them."""
_STARTS = frozenset(
    f"{W}{name}" for name in ("bookmarkStart", "commentRangeStart", "permStart", "moveToRangeStart")
)
_ENDS = frozenset(
    f"{W}{name}" for name in ("bookmarkEnd", "commentRangeEnd", "permEnd", "moveToRangeEnd")
)
_DROPPED = frozenset(
    f"{W}{name}" for name in ("proofErr", "lastRenderedPageBreak", "softHyphen", "rPr", "pPr")
)
_CHARACTERS = {f"{W}tab": "\t", f"{W}cr": "\n", f"{W}noBreakHyphen": "\u2011"}
_TRANSLATED_FIELDS = ("HYPERLINK", "TOC", "INDEX", "QUOTE", "IF")
"""Fields whose result is text; that of others, such as a page's number, is made by Word."""


class WordParagraph:
    """A `w:p`; `marked` is its text with markers."""

    def __init__(self, element: Any) -> None:
        self._element = element
        self._starts: list[Any] = []
        self._ends: list[Any] = []
        self._field: _Field | None = None
        atoms = list(self._atoms(element, ()))
        if self._field is not None:
            atoms.append(self._field.atom())
        self.marked = MarkedText(atoms)

    def write(self, translation: str) -> None:
        """Replace the text, with the looks that its markers name."""
        atoms = self.marked.read(translation)
        for child in list(self._element):
            if child.tag != f"{W}pPr":
                self._element.remove(child)
        self._element.extend(self._starts)
        self._append(atoms)
        self._element.extend(self._ends)

    def _atoms(self, parent: Any, shells: tuple[Any, ...]) -> Iterator[Atom]:
        for child in parent:
            if child.tag == f"{W}r":
                yield from self._run(child, shells)
            elif child.tag in _SHELLS:
                content = child.find(f"{W}sdtContent") if child.tag == f"{W}sdt" else child
                if content is not None:
                    yield from self._atoms(content, (*shells, child))
            elif child.tag in _STARTS:
                self._starts.append(child)
            elif child.tag in _ENDS:
                self._ends.append(child)
            elif child.tag not in _DROPPED and isinstance(child.tag, str):
                yield Atom(None, "", [_Object(shells, child)])

    def _run(self, run: Any, shells: tuple[Any, ...]) -> Iterator[Atom]:
        """A run's pieces; a field's runs are one object until its text begins."""
        if self._field is None and run.find(f"{W}fldChar") is not None:
            self._field = _Field()
        if self._field is not None:
            self._field.add(shells, run)
            if self._field.is_complete:
                yield self._field.atom()
                self._field = None
            return
        look = run.find(f"{W}rPr")
        style = (look_of(look), tuple(id(shell) for shell in shells))
        for child in run:
            if child.tag == f"{W}t":
                yield Atom(child.text or "", style, (look, shells))
            elif child.tag in _CHARACTERS:
                yield Atom(_CHARACTERS[child.tag], style, (look, shells))
            elif child.tag == f"{W}br" and child.get(f"{W}type") in (None, "textWrapping"):
                yield Atom("\n", style, (look, shells))
            elif child.tag not in _DROPPED and isinstance(child.tag, str):
                yield Atom(None, "", [_Object(shells, child, look, in_run=True)])

    def _append(self, atoms: list[Atom]) -> None:
        """Runs in the same link stay in one."""
        current: tuple[Any, ...] = ()
        target = self._element
        for shells, element in _elements(atoms):
            if [id(shell) for shell in shells] != [id(shell) for shell in current]:
                current, target = shells, self._element
                for shell in shells:
                    target = inside(target, shell)
            target.append(element)


@dataclass(frozen=True)
class _Object:
    """Something in a paragraph that is no text; it is moved only when the paragraph is written."""

    shells: tuple[Any, ...]
    element: Any
    look: Any = None
    in_run: bool = False
    """Whether it is a child of a run instead of the paragraph."""

    def moved(self) -> Any:
        """The element for the new paragraph."""
        if not self.in_run:
            return self.element
        run = new_run(self.look)
        run.append(self.element)
        return run


class _Field:
    """A complex field: `begin`, instruction, `separate`, result, `end`."""

    def __init__(self) -> None:
        self._runs: list[_Object] = []
        self._depth = 0
        self._instruction = ""
        self.is_complete = False

    def add(self, shells: tuple[Any, ...], run: Any) -> None:
        """Take the next run."""
        self._runs.append(_Object(shells, run))
        for child in run:
            if child.tag == f"{W}instrText" and self._depth == 1:
                self._instruction += child.text or ""
            if child.tag != f"{W}fldChar":
                continue
            kind = child.get(f"{W}fldCharType")
            if kind == "begin":
                self._depth += 1
            elif kind == "end":
                self._depth -= 1
                self.is_complete = self._depth <= 0
            elif self._depth <= 1:
                name = self._instruction.split()[:1]
                self.is_complete = not name or name[0].upper() in _TRANSLATED_FIELDS

    def atom(self) -> Atom:
        """All its runs so far."""
        return Atom(None, "", list(self._runs))


def _elements(atoms: list[Atom]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    for atom in atoms:
        if atom.text is None:
            yield from ((thing.shells, thing.moved()) for thing in atom.source)
        else:
            look, shells = atom.source
            yield shells, text_run(atom.text, look)
