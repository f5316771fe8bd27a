"""Pages that were read, and their passages."""

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

from mcp_tools.publishing.language import language_of

from .facts import Facts, facts_of
from .quotations import plain

_SENTENCE_END = re.compile(r"[。！？!?](?:[”’」』\"']?)|\.(?=\s|$)|\n")
_LONGEST = 600
_MOST_PASSAGES = 4_000


class Passage:
    """A sentence of a page, or a line of a table."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def facts(self) -> Facts:
        """What it says that can be checked."""
        return facts_of(self.text)


class Page(BaseModel):
    """A page as it was read."""

    model_config = ConfigDict(frozen=True)

    url: str
    final_url: str = ""
    title: str | None = None
    published: str | None = None
    """A date in ISO format."""
    text: str

    @cached_property
    def plain(self) -> str:
        """The text in one form."""
        return plain(self.text)

    @cached_property
    def is_chinese(self) -> bool:
        """Whether names stand in it in Chinese."""
        return language_of(self.text[:_LONGEST]) == "zh"

    @cached_property
    def passages(self) -> tuple[Passage, ...]:
        """The sentences of the text, the first ones of a very long one."""
        found = (Passage(one) for one in sentences_of(self.text))
        return tuple(passage for passage, _ in zip(found, range(_MOST_PASSAGES), strict=False))

    @cached_property
    def windows(self) -> tuple[Passage, ...]:
        """The passages, and each with the one after it."""
        pairs = (Passage(f"{one.text} … {other.text}") for one, other in pairwise(self.passages))
        return (*self.passages, *pairs)

    @cached_property
    def figures(self) -> frozenset[str]:
        """All numbers in it."""
        return frozenset(figure for one in self.passages for figure in one.facts.figures)

    def has_address(self, url: str) -> bool:
        """Return whether an address leads to this page."""
        return address(url) in (address(self.url), address(self.final_url or self.url))


def sentences_of(text: str) -> Iterator[str]:
    """Yield the sentences of a text, none much longer than a paragraph."""
    begin = 0
    for end in _SENTENCE_END.finditer(text):
        if sentence := text[begin : end.end()].strip(" \t\n#>*-|"):
            yield sentence[:_LONGEST]
        begin = end.end()
    if rest := text[begin:].strip(" \t\n#>*-|"):
        yield rest[:_LONGEST]


def address(url: str) -> str:
    """Return an address in one form: without scheme, fragment and last slash."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return url.strip()
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.netloc.lower().removeprefix('www.')}{parts.path.rstrip('/')}{query}"
