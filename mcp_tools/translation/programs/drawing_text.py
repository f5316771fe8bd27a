"""Texts in drawings, charts and diagrams (`a:p`), the same in all Office formats."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from .found import Found
from .namespaces import A
from .office_package import Package, canonical, stem_of
from .spans import Atom, MarkedText, has_words


class DrawingTexts:
    """The paragraphs of some parts of a package."""

    def __init__(self, package: Package, parts: list[str]) -> None:
        self._package = package
        self._parts = parts

    def segments(self) -> Iterator[Found]:
        """The paragraphs with words."""
        for part, identifier, paragraph in self._paragraphs():
            text = MarkedText(_atoms(paragraph)).text
            if has_words(text):
                yield {"id": identifier, "text": text, "context": f"drawing {stem_of(part)}"}

    def apply(self, translations: Mapping[str, str]) -> None:
        """Replace the texts of paragraphs."""
        for part, identifier, paragraph in self._paragraphs():
            if identifier in translations:
                self._package.change(part)
                _write(paragraph, MarkedText(_atoms(paragraph)).read(translations[identifier]))

    def _paragraphs(self) -> Iterator[tuple[str, str, Any]]:
        for part in self._parts:
            for number, paragraph in enumerate(list(self._package.root(part).iter(f"{A}p"))):
                yield part, f"{stem_of(part)}:{number}", paragraph


def _atoms(paragraph: Any) -> list[Atom]:
    atoms = []
    for child in paragraph:
        if child.tag == f"{A}r":
            look = child.find(f"{A}rPr")
            text = child.findtext(f"{A}t") or ""
            atoms.append(Atom(text, _look(look), look))
        elif child.tag == f"{A}br":
            atoms.append(Atom("\n", atoms[-1].style if atoms else "", child.find(f"{A}rPr")))
        elif child.tag == f"{A}fld":
            atoms.append(Atom(None, "", child))
    return atoms


def _look(properties: Any) -> str:
    if properties is None:
        return ""
    plain = deepcopy(properties)
    for name in ("lang", "altLang", "dirty", "err", "noProof"):
        plain.attrib.pop(name, None)
    return canonical(plain)


def _write(paragraph: Any, atoms: list[Atom]) -> None:
    end = paragraph.find(f"{A}endParaRPr")
    for child in list(paragraph):
        if child.tag in (f"{A}r", f"{A}br", f"{A}fld"):
            paragraph.remove(child)
    new: list[Any] = []
    for atom in atoms:
        if atom.text is None:
            new.append(atom.source)
            continue
        for index, line in enumerate(atom.text.split("\n")):
            if index:
                new.append(etree.Element(f"{A}br"))
            if line:
                new.append(_run(line, atom.source))
    for element in new:
        if end is None:
            paragraph.append(element)
        else:
            end.addprevious(element)


def _run(text: str, look: Any) -> Any:
    run = etree.Element(f"{A}r")
    if look is not None:
        run.append(deepcopy(look))
    etree.SubElement(run, f"{A}t").text = text
    return run
