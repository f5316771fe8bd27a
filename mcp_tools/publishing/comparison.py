"""Two versions of an article compared: which passages were added, removed or changed, by section.

Passages are paragraphs, list items, rows of tables, pictures. Long articles are compared with a
bounded effort: where too much differs, what is left counts as replaced.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from hashlib import sha256
from typing import Literal

from .tree import INLINE, Element, parse
from .unpacking import article_in

Kind = Literal["added", "removed", "changed"]

_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+|\s+|[^\w\s]")
_MOST_PAIRS = 1_000_000
"""Passages of one version times those of the other that are compared one by one."""
_MOST_TOKENS = 1_500
_ALIKE = 0.3


@dataclass(frozen=True)
class Change:
    """A passage that differs."""

    kind: Kind
    section: str
    """The heading under which it stands."""
    before: str
    after: str
    marked: str
    """Its text with [-what was taken out-] and {+what was put in+}."""


@dataclass(frozen=True)
class _Passage:
    section: str
    text: str
    key: str
    """What makes it the same: the text, and what its pictures hold."""


def compare(before: str, after: str) -> list[Change]:
    """Return how one page of `make_page` differs from another, in the order of the text."""
    old, new = (list(_passages(parse(article_in(page)))) for page in (before, after))
    changes: list[Change] = []
    for begin_old, end_old, begin_new, end_new in _differences(old, new):
        changes += _paired(old[begin_old:end_old], new[begin_new:end_new])
    return changes


def _passages(root: Element) -> Iterator[_Passage]:
    section = ""
    for tag, text, key in _blocks(root, "p"):
        if tag in _HEADINGS:
            section = text
        yield _Passage(section, text, f"{tag if tag in _HEADINGS else ''}{key}")


def _blocks(element: Element, tag: str) -> Iterator[tuple[str, str, str]]:
    """Yield the texts between the borders of blocks, with the tags that they stand in."""
    shown: list[str] = []
    keys: list[str] = []

    def flush() -> Iterator[tuple[str, str, str]]:
        text = " ".join("".join(shown).split())
        if text:
            yield tag, text, f"{text}{''.join(keys)}"
        shown.clear()
        keys.clear()

    for child in element.children:
        if isinstance(child, str):
            shown.append(child)
        elif child.tag == "img":
            shown.append(f"[{child.attributes.get('alt', '')}]")
            keys.append(sha256(child.attributes.get("src", "").encode()).hexdigest())
        elif child.tag in INLINE or child.tag == "br":
            shown.append(child.text() if child.tag != "br" else " ")
        elif child.tag == "tr":
            yield from flush()
            row = " | ".join(cell.text() for cell in child.children if isinstance(cell, Element))
            yield "tr", row, row
        else:
            yield from flush()
            yield from _blocks(child, child.tag)
    yield from flush()


def _differences(
    old: Sequence[_Passage], new: Sequence[_Passage]
) -> Iterator[tuple[int, int, int, int]]:
    """Yield the ranges that differ, in both."""
    a, b = [one.key for one in old], [one.key for one in new]
    begin = 0
    while begin < min(len(a), len(b)) and a[begin] == b[begin]:
        begin += 1
    end = 0
    while end < min(len(a), len(b)) - begin and a[-1 - end] == b[-1 - end]:
        end += 1
    left, right = a[begin : len(a) - end], b[begin : len(b) - end]
    if len(left) * len(right) > _MOST_PAIRS:
        yield begin, len(a) - end, begin, len(b) - end
        return
    for tag, *places in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag != "equal":
            one, two, three, four = (place + begin for place in places)
            yield one, two, three, four


def _paired(old: Sequence[_Passage], new: Sequence[_Passage]) -> Iterator[Change]:
    """Yield what has become of passages: those that are alike, in their order, are changed."""
    left = list(old)
    for passage in new:
        at = next((at for at, one in enumerate(left[:20]) if _alike(one.text, passage.text)), None)
        if at is None:
            yield Change("added", passage.section, "", passage.text, f"{{+{passage.text}+}}")
            continue
        yield from map(_removed, left[:at])
        before = left[at]
        del left[: at + 1]
        marked = _marked(before.text, passage.text)
        yield Change("changed", passage.section, before.text, passage.text, marked)
    yield from map(_removed, left)


def _removed(passage: _Passage) -> Change:
    return Change("removed", passage.section, passage.text, "", f"[-{passage.text}-]")


def _alike(before: str, after: str) -> bool:
    one, two = (set(_words(text)) for text in (before, after))
    return len(one & two) >= _ALIKE * min(len(one), len(two))


def _words(text: str) -> list[str]:
    return [token for token in _TOKEN.findall(text) if not token.isspace()]


def _marked(before: str, after: str) -> str:
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    if max(len(old), len(new)) > _MOST_TOKENS:
        return f"[-{before}-]{{+{after}+}}"
    parts: list[str] = []
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, begin_old, end_old, begin_new, end_new in matcher.get_opcodes():
        removed, added = "".join(old[begin_old:end_old]), "".join(new[begin_new:end_new])
        if tag == "equal":
            parts.append(added)
            continue
        parts.append(f"[-{removed}-]" if removed else "")
        parts.append(f"{{+{added}+}}" if added else "")
    return "".join(parts)
