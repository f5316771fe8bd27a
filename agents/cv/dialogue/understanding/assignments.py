"""The new values in a message that changes something, and the fields that they belong to."""

from dataclasses import dataclass

from mcp_tools.resume import field_kind, is_present, title_field

from .canvas import Canvas
from .fields import Fields, look_of, put_when, put_words, take_frames, take_tokens
from .labelled import Label, find_labelled, is_dated, value_end
from .listed import grade_of
from .vocabulary import section_facts, vocabulary


@dataclass(frozen=True, slots=True)
class Connector:
    """The words at `begin:stop` that stand between what is changed and its new value."""

    begin: int
    stop: int


def assign(
    fields: Fields, canvas: Canvas, labels: list[Label], connector: Connector | None
) -> str | None:
    """Put every new value under its field; return one whose field nothing tells.

    `labels` are the names of fields before the connector; the last one is what is changed.
    """
    words: str | None = None
    found = list(find_labelled(canvas, fields.section, changing=True))
    if connector:
        found = [item for item in found if item.begin >= connector.stop]
        limit = found[0].begin if found else len(canvas.text)
        words = _assign_first(fields, canvas, labels, connector, limit)
    for item in found:
        put_words(fields, canvas, item.field, item.value, item.stop)
        canvas.take(item.begin, item.stop)
    if not connector:
        take_tokens(fields, canvas)
        take_grade(fields, canvas)
    if fields.section == "basics":
        take_frames(fields, canvas)
    if connector and words and not fields.data and not fields.problems:
        words = _put_bare(fields, canvas, connector, words)
    if connector and "startDate" in fields.data:
        _take_end(fields, canvas)
    return words


def _assign_first(
    fields: Fields, canvas: Canvas, labels: list[Label], connector: Connector, limit: int
) -> str | None:
    """Put the value behind the connector under the field before it, or return it."""
    name = labels[-1].field if labels else ""
    if {"startDate", "endDate"} <= {label.field for label in labels}:
        name = "period"
    begin = limit - len(canvas.text[connector.stop : limit].lstrip())
    stop = value_end(canvas, fields.section, name, begin, limit)
    words = canvas.value(begin, stop)
    if name and not _put_date(fields, canvas, name, begin):
        put_words(fields, canvas, name, begin, stop)
    canvas.take(connector.begin, stop)
    return None if name else words


def _take_end(fields: Fields, canvas: Canvas) -> None:
    """Take the end that follows a start: "…是2019年开始的，到2021年"."""
    for token in canvas.message.tokens:
        if token.when and token.when.role == "end" and canvas.has(token.begin, token.stop):
            put_when(fields, token.when, token.text)


def _put_date(fields: Fields, canvas: Canvas, name: str, begin: int) -> bool:
    """Set a date that is said in the place of something else: "the award from ACM was in 2018"."""
    rest = canvas.message.text[begin:]
    token = canvas.message.token_at(begin + len(rest) - len(rest.lstrip()))
    if token is None or token.when is None or not token.text[:1].isalpha() or is_dated(name):
        return False
    if not field_kind(fields.section, fields.facts.date or "startDate"):
        return False
    put_when(fields, token.when, token.text)
    return True


def take_grade(fields: Fields, canvas: Canvas) -> None:
    """Understand "make French native": a grade that ends the message without a connection."""
    grade = section_facts()[fields.section].grade
    found = list(vocabulary().grades.finditer(canvas.text)) if grade else []
    rest = (found[-1].end(), len(canvas.text)) if found else (0, 0)
    if grade and found and canvas.trimmed(*rest, vocabulary().references.filler) is None:
        fields.put(grade, canvas.value(*found[-1].span()))
        canvas.take(*found[-1].span())


def _put_bare(fields: Fields, canvas: Canvas, connector: Connector, words: str) -> str | None:
    """Put a value under the field that its form tells; return it if none does."""
    rest = canvas.message.text[connector.stop :]
    token = canvas.message.token_at(len(canvas.message.text) - len(rest.lstrip(" ")))
    grade = section_facts()[fields.section].grade
    if token and token.when and field_kind(fields.section, fields.facts.date or "startDate"):
        put_when(fields, token.when, token.text)
    elif token and token.kind in ("email", "phone", "url"):
        fields.put(token.kind, token.text)
    elif is_present(words) and field_kind(fields.section, "endDate"):
        fields.data["endDate"] = None
    elif grade and (level := grade_of(words)):
        fields.put(grade, level)
    elif (name := look_of(fields, words)) and name != title_field(fields.section):
        fields.put(name, words)
    else:
        return words
    return None
