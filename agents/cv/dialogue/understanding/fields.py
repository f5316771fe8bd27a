"""The fields of an entry in what somebody says about it."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from mcp_tools.resume import JsonObject, Section, field_kind, is_present

from .canvas import Canvas
from .listed import grade_of, split_list
from .tokens import Token, When
from .vocabulary import section_facts, vocabulary
from .wording import SectionFacts, SectionWords

_DIGITS = "0123456789"
_ARTICLE = re.compile(r"^the (?=[A-Z])")
_INDEFINITE = re.compile(r"^an? (?=\S)")
_ROLES = ("position", "label", "studyType")
"""Fields that say what somebody is: "a tech lead" is no more than "tech lead"."""


@dataclass(slots=True)
class Fields:
    """The fields found so far; `problems` are dates that cannot be read.

    `wanted` are the fields that the person was asked for; what could be one or the other is that.
    `known` ones are not filled by words without any mark; `unmarked` are those that were.
    """

    section: Section
    data: JsonObject = field(default_factory=dict)
    others: list[JsonObject] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    wanted: tuple[str, ...] = ()
    known: frozenset[str] = frozenset()
    unmarked: set[str] = field(default_factory=set)

    @property
    def facts(self) -> SectionFacts:
        """The facts about the section."""
        return section_facts()[self.section]

    @property
    def words(self) -> SectionWords:
        """How people speak about the section."""
        return vocabulary().sections[self.section]

    @property
    def awaits_end(self) -> bool:
        """Whether a date that could be the start or the end must be the end."""
        asked = "endDate" in self.wanted and "startDate" not in self.wanted
        return "startDate" in self.data or asked

    def put(self, name: str, value: str) -> bool:
        """Set a field from words, unless it is set; return whether something was set."""
        if not value or name in self.data:
            return False
        value = _ARTICLE.sub("", value)
        if name in _ROLES:
            value = _INDEFINITE.sub("", value)
        kind = field_kind(self.section, name)
        if name == self.facts.grade:
            value = grade_of(value) or value
        if _is_list_of_words(name):
            self.data[name] = [*split_list(value)]
        else:
            self.data[name] = [value] if kind == "list" else value
        return True


def put_words(fields: Fields, canvas: Canvas, name: str, begin: int, stop: int) -> None:
    """Set a named field from the words at a place, reading dates as dates."""
    if name != "period" and not _is_date(name):
        if name == "location":
            begin, stop = canvas.trimmed(begin, stop) or (begin, stop)
        inside = (t.text for t in canvas.message.tokens_in(begin, stop) if t.kind == name)
        fields.put(name, next(inside, None) or canvas.value(begin, stop))
        return
    token = next((t for t in canvas.message.tokens_in(begin, stop) if t.when), None)
    token = token or canvas.message.token_at(begin)
    words = canvas.value(begin, stop)
    if token and token.when:
        _put_named_date(fields, name, token.when, token.text)
    elif is_present(words) or vocabulary().time.present.fullmatch(words):
        fields.data["endDate" if name == "period" else name] = None
    elif words:
        fields.problems.append(words)


def put_when(fields: Fields, when: When, said: str) -> None:
    """Set the dates of an entry from a date or a span that stands without a label."""
    if when.invalid:
        fields.problems.append(said)
    if when.invalid and not when.is_span:
        return
    if fields.facts.date:
        if point := when.point or when.end or when.start:
            fields.data.setdefault(fields.facts.date, point)
    elif when.is_span:
        if when.start:
            fields.data.setdefault("startDate", when.start)
        if when.end or when.open:
            fields.data.setdefault("endDate", when.end)
    elif when.role == "end" or (when.role is None and fields.awaits_end):
        fields.data.setdefault("endDate", when.point)
    else:
        fields.data.setdefault("startDate", when.point)


def _put_named_date(fields: Fields, name: str, when: When, said: str) -> None:
    if when.invalid:
        fields.problems.append(said)
    elif name == "period":
        put_when(fields, when, said)
    elif name == "endDate":
        fields.data[name] = None if when.open and not when.end else when.end or when.point
    else:
        fields.data[name] = when.point or when.end or when.start


def take_tokens(fields: Fields, canvas: Canvas) -> None:
    """Take the addresses, numbers and dates that the section has a field for."""
    takers: dict[str, Callable[[Token], bool]] = {
        "email": lambda token: fields.put("email", token.text),
        "phone": lambda token: fields.put("phone", token.text),
        "url": lambda token: fields.put("url", token.text),
    }
    for token in sorted(canvas.message.tokens, key=_is_vague):
        if not canvas.has(token.begin, token.stop):
            continue
        if token.when and field_kind(fields.section, fields.facts.date or "startDate"):
            put_when(fields, token.when, token.text)
        elif token.kind not in takers or not field_kind(fields.section, token.kind):
            continue
        else:
            takers[token.kind](token)
        canvas.take(token.begin, token.stop)
    present = vocabulary().time.present.search(canvas.text)
    if present and field_kind(fields.section, "endDate"):
        fields.data.setdefault("endDate", None)
        canvas.take(*present.span())


def _is_vague(token: Token) -> bool:
    """Tell whether a date must yield to others, which say themselves what they are."""
    return token.when is not None and not token.when.is_span and token.when.role is None


def take_frames(fields: Fields, canvas: Canvas) -> None:
    """Take the values that the words around them mark."""
    for frame in fields.words.frames:
        match = frame.search(canvas.text)
        if match is None:
            continue
        found = [
            _put_framed(fields, name.rstrip(_DIGITS), canvas.value(*place))
            for name in frame.groupindex
            if match[name] and (place := _frame_value(fields, canvas, match, name))
        ]
        if any(found):
            canvas.take(*match.span())


def _put_framed(fields: Fields, name: str, value: str) -> bool:
    """Set the field of a frame, or another one that an entry needs and whose values look so.

    In "as an analyst in Siemens" stands no place, in "在Seattle" no employer.
    """
    look, place = fields.words.looks.get(name), fields.words.looks.get("location")
    if name in fields.facts.order[:1] and place and place.fullmatch(value):
        name = "location"
    elif look and name not in fields.facts.required and not look.fullmatch(value):
        other = look_of(fields, value)
        name = other if other in fields.facts.required else name
    elif look is None and name in fields.facts.required:
        name = look_of(fields, value) or name
    return fields.put(name, value)


def _frame_value(
    fields: Fields, canvas: Canvas, match: re.Match[str], name: str
) -> tuple[int, int] | None:
    """Return the place of a frame's value: prose as it stands, other words without filler."""
    return match.span(name) if name == fields.facts.prose else canvas.trimmed(*match.span(name))


def look_of(fields: Fields, text: str) -> str | None:
    """Return the field, not set yet, whose values look like a text."""
    free = ((name, look) for name, look in fields.words.looks.items() if name not in fields.data)
    return next((name for name, look in free if look.fullmatch(text)), None)


def _is_date(name: str) -> bool:
    return name.endswith(("Date", "date"))


def _is_list_of_words(name: str) -> bool:
    return name in ("keywords", "courses", "roles")
