"""Runs of a Word document and their enclosing elements: rewriting, and comparison of formatting."""

from copy import deepcopy
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from .namespaces import SPACE, W
from .office_package import canonical

_NOT_LOOKS = ("lang", "noProof", "rsid")


def text_run(text: str, look: Any) -> Any:
    """A run of a text; its line ends and tabs are elements of their own."""
    run = new_run(look)
    for index, line in enumerate(text.split("\n")):
        if index:
            etree.SubElement(run, f"{W}br")
        for position, piece in enumerate(line.split("\t")):
            if position:
                etree.SubElement(run, f"{W}tab")
            if piece:
                element = etree.SubElement(run, f"{W}t")
                element.text = piece
                element.set(SPACE, "preserve")
    return run


def new_run(look: Any) -> Any:
    """A run with nothing in it but a copy of its `w:rPr`, if there is one."""
    run = etree.Element(f"{W}r")
    if look is not None:
        run.append(deepcopy(look))
    return run


def inside(parent: Any, shell: Any) -> Any:
    """Append an empty copy of a shell to a parent; return the element for its content."""
    copy = etree.SubElement(parent, shell.tag, attrib=dict(shell.attrib))
    if shell.tag != f"{W}sdt":
        return copy
    for child in shell:
        if child.tag != f"{W}sdtContent":
            copy.append(deepcopy(child))
    return etree.SubElement(copy, f"{W}sdtContent")


def look_of(properties: Any) -> str:
    """Return the formatting in a `w:rPr` as a key; equal formatting gives equal keys."""
    if properties is None:
        return ""
    plain = deepcopy(properties)
    for child in list(plain):
        if child.tag.removeprefix(W) in _NOT_LOOKS:
            plain.remove(child)
        elif child.tag == f"{W}rFonts":
            child.attrib.pop(f"{W}hint", None)
    if not len(plain):
        return ""
    return canonical(plain)
