"""The text of a Word paragraph: emphasis, links, marks of notes; pictures are named."""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from docx.oxml.ns import qn


def text_of(paragraph: Any, part: Any) -> str:
    """Markdown; what was deleted under tracked changes is not read. `part` knows the links."""
    alike = groupby(_runs(paragraph, part), key=itemgetter(1))
    return "".join(_marked("".join(text for text, _ in runs), style) for style, runs in alike)


def _marked(text: str, style: str) -> str:
    """`**bold**`, with blanks left outside of the marks."""
    core = text.strip()
    if not core or not style:
        return text
    return text.replace(core, f"{style}{core}{style}", 1)


def _runs(element: Any, part: Any) -> Iterator[tuple[str, str]]:
    """Texts, and the marks to put around them."""
    for child in element:
        if child.tag == qn("w:r"):
            yield _run_text(child), _emphasis(child)
        elif child.tag == qn("w:hyperlink"):
            yield _link(child, part), ""
        elif child.tag in (qn("w:ins"), qn("w:smartTag"), qn("w:fldSimple"), qn("w:sdtContent")):
            yield from _runs(child, part)
        elif child.tag == qn("w:sdt"):
            content = child.find(qn("w:sdtContent"))
            if content is not None:
                yield from _runs(content, part)


def _emphasis(run: Any) -> str:
    style = run.rPr
    if style is None:
        return ""
    on = [
        mark
        for tag, mark in (("w:b", "**"), ("w:i", "*"))
        if (found := style.find(qn(tag))) is not None
        and found.get(qn("w:val")) not in ("0", "false")
    ]
    return "".join(on)


def _link(element: Any, part: Any) -> str:
    text = "".join(text for text, _ in _runs(element, part))
    relation = part.rels.get(element.get(qn("r:id")))
    if relation is None or not relation.is_external or not text.strip():
        return text
    return f"[{text}]({relation.target_ref})"


def _run_text(run: Any) -> str:
    texts = []
    for child in run:
        if child.tag == qn("w:t"):
            texts.append(child.text or "")
        elif child.tag == qn("w:tab"):
            texts.append("\t")
        elif child.tag in (qn("w:br"), qn("w:cr")):
            texts.append("\n")
        elif child.tag in (qn("w:footnoteReference"), qn("w:endnoteReference")):
            texts.append(f"[^{child.get(qn('w:id'))}]")
        else:
            texts.extend(_objects(child))
    return "".join(texts)


def _objects(element: Any) -> Iterator[str]:
    """Pictures and text boxes in a run; the older copy of a drawing is not read."""
    for drawing in element.iter(qn("w:drawing"), qn("w:pict")):
        if any(parent.tag.endswith("}Fallback") for parent in drawing.iterancestors()):
            continue
        named = drawing.find(f".//{qn('wp:docPr')}")
        name = (named.get("descr") or named.get("name") or "") if named is not None else ""
        if drawing.find(f".//{qn('a:blip')}") is not None or drawing.tag == qn("w:pict"):
            yield f"![picture: {name}]" if name else "![picture]"
        box = "".join(text.text or "" for text in drawing.iter(qn("w:t")))
        if box:
            yield f" [text box: {box}] "
