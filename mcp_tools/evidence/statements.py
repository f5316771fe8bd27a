"""Statements of an article: its sentences that say something that can be checked."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mcp_tools.publishing.tree import INLINE, Element

from .facts import Facts, facts_of
from .pages import sentences_of

_WITHOUT = frozenset(
    {"h1", "h2", "h3", "h4", "h5", "h6", "pre", "aside", "summary", "figcaption", "th"}
)
_SOURCE_ID = re.compile(r"s\d{1,3}")
_SOURCES = re.compile(r"sources?|references|来源|参考(?:文献|资料)?|资料来源|引用", re.IGNORECASE)
EVIDENCE_ID = "evidence"
"""Of the passages that are shown at the end of an article."""


@dataclass(frozen=True)
class Statement:
    """A sentence, or a cell of a table."""

    text: str
    facts: Facts
    block: Element
    """The paragraph, list item or cell in which it stands."""
    cites: tuple[str, ...]
    """Ids of the sources that its block refers to."""


def statements_of(root: Element) -> Iterator[Statement]:
    """Yield the statements of an article, without its list of sources."""
    for block in _blocks(root):
        cites = tuple(
            one.attributes.get("href", "")[1:]
            for one in block.walk()
            if one.tag == "a" and one.attributes.get("href", "").startswith("#")
        )
        for sentence in sentences_of(own_text(block)):
            if facts := facts_of(sentence):
                yield Statement(sentence, facts, block, cites)


def sources_of(root: Element) -> dict[str, str]:
    """Return the addresses of the listed sources, by id."""
    found: dict[str, str] = {}
    for item in root.walk():
        name = item.attributes.get("id", "")
        if item.tag == "li" and _SOURCE_ID.fullmatch(name):
            links = (one.attributes.get("href", "") for one in item.walk() if one.tag == "a")
            found[name] = next((link for link in links if link.startswith("http")), "")
    return found


def own_text(block: Element) -> str:
    """Return the text of a block without marks, notes and the blocks in it."""
    parts: list[str] = []
    for child in block.children:
        if isinstance(child, str):
            parts.append(child)
        elif child.tag in INLINE and child.tag != "sup" and child.attributes.get("class") != "note":
            parts.append(child.text("sup"))
        elif child.tag == "br":
            parts.append("\n")
    return " ".join("".join(parts).split())


def _blocks(element: Element) -> Iterator[Element]:
    in_sources = False
    for child in element.children:
        if isinstance(child, str):
            continue
        if child.tag in ("h2", "h3"):
            in_sources = _SOURCES.fullmatch(child.text()) is not None
        is_source = _SOURCE_ID.fullmatch(child.attributes.get("id", "")) is not None
        if in_sources or is_source or child.tag in _WITHOUT:
            continue
        if child.attributes.get("id") == EVIDENCE_ID:
            continue
        if child.tag not in INLINE:
            if own_text(child):
                yield child
            yield from _blocks(child)
