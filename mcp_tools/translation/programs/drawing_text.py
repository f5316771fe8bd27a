"""Texts in drawings, charts and diagrams (`a:p`), the same in all Office formats."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from .found import Found
from .office_package import Package
from .spans import Atom, MarkedText, has_words

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"


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
                yield {"id": identifier, "text": text, "context": f"drawing {_stem(part)}"}

    def apply(self, translations: Mapping[str, str]) -> None:
        """Replace the texts of paragraphs."""
        for part, identifier, paragraph in self._paragraphs():
            if identifier in translations:
                self._package.change(part)
                _write(paragraph, MarkedText(_atoms(paragraph)).read(translations[identifier]))

    def _paragraphs(self) -> Iterator[tuple[str, str, Any]]:
        for part in self._parts:
            for number, paragraph in enumerate(list(self._package.root(part).iter(f"{_A}p"))):
                yield part, f"{_stem(part)}:{number}", paragraph


def _stem(part: str) -> str:
    return part.rpartition("/")[2].removesuffix(".xml")


def _atoms(paragraph: Any) -> list[Atom]:
    atoms = []
    for child in paragraph:
        if child.tag == f"{_A}r":
            look = child.find(f"{_A}rPr")
            text = child.findtext(f"{_A}t") or ""
            atoms.append(Atom(text, _look(look), look))
        elif child.tag == f"{_A}br":
            atoms.append(Atom("\n", atoms[-1].style if atoms else "", child.find(f"{_A}rPr")))
        elif child.tag == f"{_A}fld":
            atoms.append(Atom(None, "", child))
    return atoms


def _look(properties: Any) -> str:
    if properties is None:
        return ""
    plain = deepcopy(properties)
    for name in ("lang", "altLang", "dirty", "err", "noProof"):
        plain.attrib.pop(name, None)
    written: bytes = etree.tostring(plain, method="c14n", with_tail=False)
    return written.decode()


def _write(paragraph: Any, atoms: list[Atom]) -> None:
    end = paragraph.find(f"{_A}endParaRPr")
    for child in list(paragraph):
        if child.tag in (f"{_A}r", f"{_A}br", f"{_A}fld"):
            paragraph.remove(child)
    new: list[Any] = []
    for atom in atoms:
        if atom.text is None:
            new.append(atom.source)
            continue
        for index, line in enumerate(atom.text.split("\n")):
            if index:
                new.append(etree.Element(f"{_A}br"))
            if line:
                new.append(_run(line, atom.source))
    for element in new:
        if end is None:
            paragraph.append(element)
        else:
            end.addprevious(element)


def _run(text: str, look: Any) -> Any:
    run = etree.Element(f"{_A}r")
    if look is not None:
        run.append(deepcopy(look))
    etree.SubElement(run, f"{_A}t").text = text
    return run
