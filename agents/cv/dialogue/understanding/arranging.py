"""Understanding another order: "move Google to the top", "sort my jobs by date", "板块顺序改成…".

Only the words are parted here; what they point at is looked up in the resume (`..arrange`).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

from .counting import number_of
from .message import Message, plain
from .outline import Outline
from .vocabulary import language_parts
from .words import TAKEN, compiled

Arranging = Literal[
    "sort",
    "order",
    "swap",
    "reverse",
    "copy",
    "up",
    "down",
    "first",
    "last",
    "nth",
    "before",
    "after",
    "replace",
    "delete",
]
"""What is done, in the order in which the forms are tried."""
_NAMED = "\x02"
"""Stands in a working text for the name of an entry, so that no form cuts it."""
_SHORT = 3
"""Names up to this length may be words of the sentence as well."""
_WORDS = r"[^,;。!?\n:]{1,60}?"
_WORD = (
    r"(?!(?:which|what|who|where|when|how|did|go|came|at|put|i|to|was|is|should|must|can|add"
    r"|delete|goes|comes|stays) )[\w\x02]+"
)
_ABBREVIATIONS = {
    "<what>": rf"(?P<what>{_WORDS})",
    "<short>": rf"(?P<what>{_WORD}(?: {_WORD}){{0,2}})",
    "<other>": rf"(?P<other>{_WORDS})",
    "<list>": r"(?P<list>[^;。!?\n]{3,200}?)",
}
_EDGES = " \t\n,;.!?。"
_KNOWN_FIRST = re.compile(
    rf"\s*(?:please )?(?:put|place|list|have|get|keep|放|把|将)\s*(?:(?:the|my) )?{_NAMED}"
)
"""Begins a wish for another place of what is there, where an addition would begin alike."""
_JOINS = re.compile(
    r"\s*(?:[、,，/>→;-]+|(?<![a-z])(?:and then|and|then)(?![a-z])|和|然后|再|接着)\s*"
)


@dataclass(frozen=True, slots=True)
class Arrangement:
    """A wish for another order, or about one line, in the words of the message.

    `what` is moved or changed, `other` is beside its place, `number` its place counted from 1.
    `listed` is a whole order. `text` takes the place of a line.
    """

    act: Arranging
    what: str = ""
    other: str = ""
    number: int = 1
    listed: tuple[str, ...] = ()
    ascending: bool = False
    by_name: bool = False
    text: str = ""


@dataclass(frozen=True, slots=True)
class Insertion:
    """A wish to add something beside `other` ("" for the first place): `rest` says what."""

    rest: str
    other: str
    after: bool


def understand_arrangement(message: Message, outline: Outline) -> Arrangement | None:
    """Understand a whole message as a wish for another order, or about one line of an entry."""
    if not _may_be(message):
        return None
    for text in dict.fromkeys((message.text, plain(message.raw))):
        named = _named(text, outline)
        for act in get_args(Arranging):
            for form in _forms()[act]:
                match = form.search(named)
                if match and _is_whole(match, named):
                    return _arrangement(act, match, message)
    return None


def _is_whole(match: re.Match[str], text: str) -> bool:
    """Tell whether a form fits all of a text, and its place is no second wish."""
    rest = text[: match.start()] + text[match.end() :]
    other = match.groupdict().get("other") or ""
    return not rest.strip(_EDGES) and not (match.lastgroup != "rest" and _JOINS.search(other))


def _may_be(message: Message) -> bool:
    """Tell whether a message has any of the words without which nothing is arranged."""
    return any(hint.search(message.raw) for hint in _forms()["hint"])


def find_insertion(message: Message, outline: Outline) -> Insertion | None:
    """Find the place in a message that adds something beside an entry or at the top."""
    if not _may_be(message):
        return None
    text = _named(message.text, outline)
    for kind in ("insert_first", "insert_before", "insert_after"):
        for form in _forms()[kind]:
            if match := form.search(text):
                other = message.raw[slice(*match.span("other"))] if kind != "insert_first" else ""
                if not other and _KNOWN_FIRST.match(text):
                    return None
                into = _place_into(match)
                rest = message.raw[: match.start()] + into + message.raw[match.end() :]
                if not any(adds.search(rest) for adds in _forms()["adds"]):
                    continue
                return Insertion(rest.strip(), other, after=kind == "insert_after")
    return None


def _place_into(match: re.Match[str]) -> str:
    """Return the words that say into which section the first place is, to stand in a command."""
    groups = match.groupdict()
    into = groups.get("into") or groups.get("into2") or ""
    return f" to {into} " if into.isascii() and into else f"在{into}" if into else ""


def without_filler(words: str) -> str:
    """Return a phrase without words like "section", which only say what it names."""
    for form in _forms()["filler"]:
        words = form.sub(" ", words)
    return words.strip()


def words_of_line(words: str) -> str | None:
    """Return the words by which a phrase names a line: "the bullet about latency"."""
    found = (form.fullmatch(words.strip()) for form in _forms()["line"])
    match = next(filter(None, found), None)
    return match["words"].strip() if match else None


def only_names_line(words: str) -> bool:
    """Tell whether a phrase is nothing but a word for a line of an entry, and filler."""
    found = [form for form in _forms()["lines"] if form.search(words)]
    for form in (*found, *_forms()["of_entry"]):
        words = form.sub(" ", words)
    return bool(found) and not _left(words)


def is_only_filler(words: str) -> bool:
    """Tell whether nothing is left of a phrase from which names and numbers were taken."""
    for form in _forms()["of_entry"]:
        words = form.sub(" ", words)
    return not _left(words)


def _left(words: str) -> str:
    return words.replace(TAKEN, " ").strip(_EDGES)


def _arrangement(act: Arranging, match: re.Match[str], message: Message) -> Arrangement:
    groups = match.re.groupindex

    def words(*names: str) -> str:
        spans = (match.span(name) for name in names if name in groups and match[name])
        span = next(spans, None)
        return message.raw[slice(*span)].strip() if span else ""

    listed = [words("list")] if words("list") else []
    if act == "order" and not listed:
        listed = [words("what"), words("other"), words("rest")]
    by = words("by", "by2").casefold()
    number = words("number", "number2")
    return Arrangement(
        act=act,
        what=words("what"),
        other=words("other"),
        number=number_of(number) if number else 1,
        listed=tuple(part for text in listed for part in _JOINS.split(text) if part.strip()),
        ascending=any(form.search(message.raw) for form in _forms()["ascending"]),
        by_name=by.startswith(("alphabet", "name", "a to z", "名", "字母", "拼音", "首字母")),
        text=words("text").strip("“”\"'「」"),
    )


def _named(text: str, outline: Outline) -> str:
    for mention in outline.without_focus().mentions(text):
        length = mention.stop - mention.begin
        if length <= _SHORT and text[mention.begin : mention.stop].islower():
            continue  # "should go before" is not about the language Go
        text = text[: mention.begin] + _NAMED * length + text[mention.stop :]
    return text


@cache
def _forms() -> Mapping[str, tuple[re.Pattern[str], ...]]:
    """Return the forms of all languages."""
    forms: dict[str, tuple[re.Pattern[str], ...]] = {}
    for content in language_parts("arranging.yaml"):
        own = {f"<{name}>": str(content[name]) for name in ("verb", "to")}
        for name, found in content.items():
            patterns = found if isinstance(found, list) else []
            made = tuple(compiled(_expanded(pattern, own)) for pattern in patterns)
            forms[name] = forms.get(name, ()) + made
    return forms


def _expanded(pattern: str, own: Mapping[str, Any]) -> str:
    for abbreviation, expansion in {**own, **_ABBREVIATIONS}.items():
        pattern = pattern.replace(abbreviation, expansion)
    return pattern
