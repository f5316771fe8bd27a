"""HTML as a small tree, for what has been through the sanitiser and is therefore well formed."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser

VOID = frozenset({"br", "col", "hr", "img", "wbr"})
_WITHIN_LINES = """a abbr b bdi bdo cite code del dfn em i ins kbd mark q s samp small span strong
    sub sup time u var wbr"""
INLINE = frozenset(_WITHIN_LINES.split())
"""Elements that stand within a line."""
_DEEPEST = 150
"""Elements that are nested deeper lose their tags, not their text."""


@dataclass
class Element:
    """A tag with its attributes and what is in it."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["Element | str"] = field(default_factory=list)

    def walk(self) -> Iterator["Element"]:
        """This element and all in it, in the order of the text."""
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.walk()

    def find(self, *tags: str) -> "Element | None":
        """The first element in it that is one of `tags`."""
        return next((one for one in self.walk() if one is not self and one.tag in tags), None)

    def text(self, *without: str) -> str:
        """All text in it but that of some tags, with single blanks."""
        return " ".join("".join(self._texts(without)).split())

    def raw_text(self) -> str:
        """All text in it, blanks and lines as they are."""
        return "".join(self._texts(()))

    def replace(self, change: Callable[["Element"], "Element | str | None"]) -> None:
        """Put in the place of each element in it what `change` makes of it, the inner ones first;
        None takes it out."""
        kept: list[Element | str] = []
        for child in self.children:
            if isinstance(child, Element):
                child.replace(change)
            changed = change(child) if isinstance(child, Element) else child
            if changed is not None:
                kept.append(changed)
        self.children = kept

    def inner_html(self) -> str:
        """Return the content of the element as HTML."""
        return "".join(
            escape(child, quote=False) if isinstance(child, str) else child._html()
            for child in self.children
        )

    def _html(self) -> str:
        attributes = "".join(f' {name}="{escape(to)}"' for name, to in self.attributes.items())
        if self.tag in VOID:
            return f"<{self.tag}{attributes}>"
        return f"<{self.tag}{attributes}>{self.inner_html()}</{self.tag}>"

    def _texts(self, without: Collection[str]) -> Iterator[str]:
        for child in self.children:
            if isinstance(child, str):
                yield child
            elif child.tag not in without:
                yield from child._texts(without)
                if child.tag not in INLINE:
                    yield "\n"


def parse(html: str) -> Element:
    """Read well-formed HTML into a root element without a name."""
    builder = _Builder()
    builder.feed(html)
    builder.close()
    return builder.root


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("")
        self._open = [self.root]
        self._too_deep = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in VOID:
            self._open[-1].children.append(Element(tag, _attributes(attrs)))
        elif len(self._open) > _DEEPEST:
            self._too_deep += 1
        else:
            element = Element(tag, _attributes(attrs))
            self._open[-1].children.append(element)
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if self._too_deep:
            self._too_deep -= 1
        elif len(self._open) > 1:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)


def _attributes(attrs: list[tuple[str, str | None]]) -> dict[str, str]:
    return {name: value or "" for name, value in attrs}
