"""A workbook: texts of cells, sheets' names, comments, drawings and charts; all else stays."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from .drawing_text import DrawingTexts
from .found import Found
from .namespaces import SPACE, R, S
from .office_package import EXCEL, WORKBOOK, Package, canonical, stem_of
from .sheet_names import rename_sheets, usable_names
from .spans import Atom, MarkedText, grouped, has_words
from .table_heads import TableHeads

_STRINGS = "xl/sharedStrings.xml"


class Workbook:
    """An opened .xlsx."""

    def __init__(self, path: Path) -> None:
        """Open it; raises `UnreadableError`."""
        self._package = Package(path, EXCEL)
        parts = {identifier: part for identifier, _, part in self._package.relations(WORKBOOK)}
        self._sheets = [
            (sheet.get("name", ""), parts.get(sheet.get(f"{R}id"), ""))
            for sheet in self._package.root(WORKBOOK).iter(f"{S}sheet")
        ]
        drawn = [
            *self._package.names("xl/drawings/", "drawing"),
            *self._package.names("xl/charts/", "chart"),
        ]
        self._drawings = DrawingTexts(self._package, drawn)

    def segments(self) -> list[Found]:
        """Sheets' names, cells, comments, drawings."""
        return [
            *self._names(),
            *(
                Found(id=identifier, text=text, context=context)
                for _, identifier, holder, context in self._texts()
                if has_words(text := MarkedText(_atoms(holder)).text)
            ),
            *self._drawings.segments(),
        ]

    def apply(self, translations: Mapping[str, str]) -> list[str]:
        """Replace texts by their ids; formulas follow the names of sheets and of columns."""
        heads = TableHeads(self._package, [part for _, part in self._sheets], self._strings())
        before = self._plain_strings()
        for part, identifier, holder, _ in list(self._texts()):
            if identifier in translations:
                self._package.change(part)
                _write(holder, MarkedText(_atoms(holder)).read(translations[identifier]))
        self._drawings.apply(translations)
        self._update_charts(before)
        heads.follow()
        return self._rename(translations)

    def save(self, path: Path) -> None:
        """Write the workbook."""
        self._package.save(path)

    def _names(self) -> Iterator[Found]:
        """Sheets cannot be renamed where formulas make references out of texts."""
        if any("INDIRECT(" in (formula.text or "").upper() for formula in self._formulas()):
            return
        for number, (name, _) in enumerate(self._sheets):
            if has_words(name):
                yield {"id": f"sheet:{number}", "text": name, "context": "name of a sheet"}

    def _formulas(self) -> Iterator[Any]:
        for _, part in self._sheets:
            if self._package.has(part):
                yield from self._package.root(part).iter(f"{S}f")

    def _strings(self) -> list[Any]:
        """The texts that cells share."""
        if not self._package.has(_STRINGS):
            return []
        return list(self._package.root(_STRINGS).iter(f"{S}si"))

    def _plain_strings(self) -> dict[int, str]:
        return {number: plain_text(string) for number, string in enumerate(self._strings())}

    def _texts(self) -> Iterator[tuple[str, str, Any, str]]:
        """`(part, id, element, context)` of all texts in cells and comments."""
        first_cell, inline = self._cells()
        for number, string in enumerate(self._strings()):
            if number in first_cell:
                yield _STRINGS, f"string:{number}", string, first_cell[number]
        yield from inline
        for part in self._comments():
            for number, text in enumerate(self._package.root(part).iter("{*}text")):
                yield part, f"{stem_of(part)}:{number}", text, "comment"

    def _comments(self) -> list[str]:
        return [
            part
            for _, sheet in self._sheets
            for _, kind, part in self._package.relations(sheet)
            if kind in ("comments", "threadedComment") and self._package.has(part)
        ]

    def _cells(self) -> tuple[dict[int, str], list[tuple[str, str, Any, str]]]:
        """Return the first use of each shared text, and the texts stored in cells themselves."""
        first: dict[int, str] = {}
        inline = []
        for number, (name, part) in enumerate(self._sheets):
            if not self._package.has(part):
                continue
            for cell in self._package.root(part).iter(f"{S}c"):
                kind, place = cell.get("t"), cell.get("r", "")
                if kind == "s" and (index := cell.findtext(f"{S}v") or "").isdigit():
                    first.setdefault(int(index), f"{name}!{place}")
                elif kind == "inlineStr" and (text := cell.find(f"{S}is")) is not None:
                    inline.append((part, f"cell:{number}:{place}", text, f"{name}!{place}"))
        return first, inline

    def _update_charts(self, before: Mapping[int, str]) -> None:
        """Charts keep copies of cells' texts; show the new ones until they are calculated again."""
        new: dict[str, set[str]] = {}
        for number, string in enumerate(self._strings()):
            new.setdefault(before[number], set()).add(plain_text(string))
        for part in self._package.names("xl/charts/", "chart"):
            for cache in self._package.root(part).iter("{*}strCache"):
                for value in cache.iter("{*}v"):
                    texts = new.get(value.text or "", set())
                    if len(texts) == 1:
                        self._package.change(part)
                        value.text = next(iter(texts))

    def _rename(self, translations: Mapping[str, str]) -> list[str]:
        old = [name for name, _ in self._sheets]
        wanted = [translations.get(f"sheet:{number}", name) for number, name in enumerate(old)]
        new = usable_names(wanted)
        renamed = {was: now for was, now in zip(old, new, strict=True) if was != now}
        if renamed:
            rename_sheets(self._package, renamed)
        return [
            f"the sheet {wish!r} is named {name!r}: Excel takes no longer or other name"
            for wish, name in zip(wanted, new, strict=True)
            if wish != name
        ]


def plain_text(holder: Any) -> str:
    """The text of a shared string, a cell or a comment, without its looks."""
    return "".join(atom.text or "" for atom in _atoms(holder))


def _atoms(holder: Any) -> list[Atom]:
    if holder.tag.startswith(S):
        atoms = []
        for child in holder:
            if child.tag == f"{S}t":
                atoms.append(Atom(child.text or "", "", None))
            elif child.tag == f"{S}r":
                look = child.find(f"{S}rPr")
                style = "" if look is None else canonical(look)
                atoms.append(Atom(child.findtext(f"{S}t") or "", style, look))
        return atoms
    return [Atom(holder.text or "", "", None)]


def _write(holder: Any, atoms: list[Atom]) -> None:
    if not holder.tag.startswith(S):
        holder.text = "".join(atom.text or "" for atom in atoms)
        return
    for child in list(holder):
        holder.remove(child)  # how the old text is pronounced goes with it
    pieces = list(grouped(atoms))
    if all(piece.source is None for piece, _ in pieces):
        _text(holder, "".join(text for _, text in pieces))
        return
    for piece, text in pieces:
        run = etree.SubElement(holder, f"{S}r")
        if piece.source is not None:
            run.append(deepcopy(piece.source))
        _text(run, text)


def _text(parent: Any, text: str) -> None:
    element = etree.SubElement(parent, f"{S}t")
    element.text = text
    element.set(SPACE, "preserve")
