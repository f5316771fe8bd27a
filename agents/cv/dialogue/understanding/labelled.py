"""Values that a message gives by the name of their field: "职位：工程师", "end date to 2021-06"."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import zip_longest

from mcp_tools.resume import Section

from .canvas import Canvas
from .tokens import Token, token_pattern
from .vocabulary import section_facts, vocabulary
from .words import DELIMITERS, TAKEN

_LONG_FIELDS = ("highlights", "keywords", "courses", "location")
_DATED = re.compile(r".*(?:[Dd]ate|period)$")


@dataclass(frozen=True, slots=True)
class Label:
    """The name of a field at `begin:stop`; the value would start at `value`."""

    field: str
    begin: int
    stop: int
    value: int
    connected: bool


@dataclass(frozen=True, slots=True)
class Labelled:
    """A field and the place of its value; `begin` is where its label starts."""

    field: str
    begin: int
    value: int
    stop: int


def is_dated(field: str) -> bool:
    """Tell whether the value of a field is a date or a time."""
    return _DATED.match(field) is not None


def find_labels(canvas: Canvas, section: Section, *, changing: bool = False) -> list[Label]:
    """Return every name of a field of a section, and whether a value seems to follow.

    In a message that changes something, "to" connects a field and its value as well.
    """
    return list(_labels(canvas.text, section, changing=changing))


@lru_cache(maxsize=256)
def _labels(text: str, section: Section, *, changing: bool) -> tuple[Label, ...]:
    """Find labels; the same text is looked at several times while a message is understood."""
    found: list[Label] = []
    for name in vocabulary().sections[section].labels.find(text):
        connector = _connectors(changing).match(text, name.stop)
        if in_name(text, name.begin, name.stop) and text[name.stop :][:1] != ":":
            continue
        value = connector.end() if connector else name.stop
        found.append(Label(name.field, name.begin, name.stop, value, connector is not None))
    return tuple(found)


def in_name(text: str, begin: int, stop: int) -> bool:
    """Tell whether a word is written like the end of a proper name, as in "Columbia University"."""
    before = text[:begin].rstrip().rsplit(" ", 1)[-1].strip(TAKEN)
    if not (text[begin].isupper() and text[begin:stop].isascii() and before[:1].isupper()):
        return False
    return before[-1].isalnum() and not vocabulary().references.filler.leading.fullmatch(before)


def find_labelled(
    canvas: Canvas, section: Section, *, changing: bool = False
) -> Iterator[Labelled]:
    """Yield the fields whose values the message gives, in order."""
    found = find_labels(canvas, section, changing=changing)
    if _follow_dates(canvas, found):
        found = [label for label in found if label.connected or not is_dated(label.field)]
    values = {label.value for label in found if label.connected}
    labels = [
        label
        for label in found
        if _has_value(canvas, label, changing=changing)
        and (label.connected or label.begin not in values or is_dated(label.field))
    ]
    for label, following in zip_longest(labels, labels[1:]):
        limit = following.begin if following else len(canvas.text)
        if following and not canvas.text[label.value : following.begin].strip():
            continue
        stop = value_end(canvas, section, label.field, label.value, limit)
        if canvas.text[label.value : stop].strip(DELIMITERS + " "):
            yield Labelled(label.field, label.begin, label.value, stop)


def _follow_dates(canvas: Canvas, labels: list[Label]) -> bool:
    """Tell whether the names of dates stand behind them: "2020年开始2021年结束"."""
    first = next((label for label in labels if is_dated(label.field)), None)
    token = canvas.message.token_at(first.begin - 1) if first and first.begin else None
    return token is not None and token.when is not None


def value_end(canvas: Canvas, section: Section, field: str, begin: int, limit: int) -> int:
    """Return where a value ends: at a delimiter, for prose at the end of the sentence."""
    begin += len(canvas.text[begin:limit]) - len(canvas.text[begin:limit].lstrip())
    token = _date_behind(canvas, begin, limit) if is_dated(field) else None
    token = token or canvas.message.token_at(begin)
    if token and (is_dated(field) or token.kind in ("email", "phone", "url")):
        return token.stop
    end = _prose_end() if _is_long(section, field) else _words_end(field)
    match = end.search(canvas.text, begin + 1, limit)
    stop = match.start() if match else limit
    link = vocabulary().grammar.links.search(canvas.text, begin, stop)
    return link.start() if link else stop


def _date_behind(canvas: Canvas, begin: int, limit: int) -> Token | None:
    """Return the date that follows behind nothing but filler: "the dates: it ran from …"."""
    dates = (token for token in canvas.message.tokens_in(begin, limit) if token.when)
    token = next(dates, None)
    filler = vocabulary().references.filler
    return token if token and canvas.trimmed(begin, token.begin, filler) is None else None


@cache
def _words_end(field: str) -> re.Pattern[str]:
    at = r"|\s+(?:at|@)\s" if field == "position" else ""
    clause = vocabulary().grammar.next_clause.pattern
    when = f"{token_pattern('date')}|{token_pattern('span')}"
    return re.compile(f"[{DELIMITERS}]|{when}{at}|{clause}", re.IGNORECASE)


@cache
def _prose_end() -> re.Pattern[str]:
    """Prose goes on over commas, but not over a date that stands by itself."""
    when = f"(?:{token_pattern('date')}|{token_pattern('span')})"
    return re.compile(rf"[。\n{TAKEN}]|[,;、]\s*{when}\s*(?:[{DELIMITERS}]|$)")


def _is_long(section: Section, field: str) -> bool:
    return field.partition(".")[0] in (section_facts()[section].prose, *_LONG_FIELDS)


def _has_value(canvas: Canvas, label: Label, *, changing: bool) -> bool:
    rest = canvas.text[label.value :]
    if not rest.strip() or rest.lstrip()[0] in DELIMITERS:
        return False
    if label.connected:
        return True
    token = canvas.message.token_at(label.value + len(rest) - len(rest.lstrip()))
    if is_dated(label.field):
        return token is not None and token.when is not None
    before = canvas.text[: label.begin].rstrip()
    opens = not before or before[-1] in DELIMITERS + "(:" or (changing and token is not None)
    opens = opens or vocabulary().grammar.label_before.search(before) is not None
    if changing and label.field in ("level", "fluency"):
        opens = opens or vocabulary().grades.match(rest.lstrip()) is not None
    return opens and not vocabulary().grammar.no_value.match(rest.lstrip())


@cache
def _connectors(changing: bool) -> re.Pattern[str]:
    connectors = vocabulary().connectors
    patterns = [connectors.becomes.pattern, connectors.is_.pattern]
    if changing:
        patterns[1:1] = [form.pattern for form in connectors.to]
    return re.compile(rf"\s*(?:{'|'.join(patterns)})\s*", re.IGNORECASE)
