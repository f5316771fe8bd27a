"""Understanding what is to be changed: "把腾讯的职位改成…", "change my title at Google to …"."""

import re
from dataclasses import replace

from mcp_tools.resume import Section, field_kind, is_present

from .canvas import Canvas
from .commands import CommandHit
from .fields import Fields, put_when, put_words, take_frames, take_tokens
from .labelled import find_labelled, find_labels, value_end
from .listed import grade_of
from .message import Message
from .outline import Outline
from .pointing import take_names, take_ordinals
from .recognition import Intent, Recognition, Target
from .sections import (
    Noun,
    apart_from,
    find_nouns,
    labelled_section,
    labels_by_section,
    main_noun,
    mask_mentions,
)
from .vocabulary import section_facts, vocabulary

_CERTAIN, _CLEAR, _LIKELY = 0.95, 0.85, 0.65
_IS = re.compile(r"\b(?:is|was|are|were)\b|是", re.IGNORECASE)
_ORIGINAL = re.compile(r"(?:\bfrom\s|从)[^\x1f]*$", re.IGNORECASE)
"""The value before the change, as in "from A to B"; it names no entry."""


def understand_change(message: Message, command: CommandHit, outline: Outline) -> Recognition:
    """Understand a message that changes fields of an entry or of the basics."""
    canvas = Canvas(message)
    if command.heads:
        canvas.take(command.begin, command.stop)
    connector = _connector(canvas, command)
    pointed = canvas.until(connector[0]) if connector else canvas
    noun, section = _section(pointed, connector, outline)
    fields = Fields(section) if section else None
    words: str | None = None
    if fields:
        words = _assign(fields, canvas, pointed, mask_mentions(pointed, outline), connector, noun)
    elif connector:
        words = canvas.value(connector[1], len(canvas.text))
    target = _target(pointed, noun, outline)
    if fields and words and not fields.data and not fields.problems:
        words = _put_bare(fields, canvas, connector, words)
    return Recognition(
        intent=Intent.UPDATE,
        section=section,
        data=fields.data if fields else {},
        target=target,
        value=words,
        problems=tuple(fields.problems) if fields else (),
        confidence=_confidence(command, noun, section),
    )


def _connector(canvas: Canvas, command: CommandHit) -> tuple[int, int] | None:
    """Return the words that connect what is changed with its new value."""
    becomes = vocabulary().connectors.becomes.search(canvas.text)
    if becomes:
        return becomes.span()
    if not command.heads:
        return _copula(canvas)
    found = (form.search(canvas.text, command.stop) for form in vocabulary().connectors.to)
    return next((match.span() for match in found if match), None)


def _copula(canvas: Canvas) -> tuple[int, int] | None:
    """Return the "is" in "my GPA at MIT is 3.9": some words after the name of a field."""
    labels = [label for labels in labels_by_section(canvas).values() for label in labels]
    if not labels or any(label.connected for label in labels):
        return None
    match = _IS.search(canvas.text, min(label.stop for label in labels))
    return match.span() if match else None


def _section(
    pointed: Canvas, connector: tuple[int, int] | None, outline: Outline
) -> tuple[Noun | None, Section | None]:
    """Return the section that is meant, and the noun that says so if one does."""
    mentions = [m for m in outline.mentions(pointed.text) if pointed.has(m.begin, m.stop)]
    visible = mask_mentions(pointed, outline)
    noun = main_noun(visible, find_nouns(visible), last=True)
    if noun and (noun.section == "basics" or find_labels(visible, noun.section)):
        return noun, noun.section
    sections = [mention.place.section for mention in mentions]
    if noun is None and sections:
        fitting = (section for section in sections if find_labels(visible, section))
        return None, next(fitting, sections[0])
    pointing = bool(take_ordinals(visible.copy())) or bool(_naming_words(visible, connector))
    by_label = labelled_section(visible, basics=not pointing)
    if by_label and (noun is None or not mentions):
        return (noun if noun and noun.section == by_label else None), by_label
    return noun, noun.section if noun else None


def _naming_words(visible: Canvas, connector: tuple[int, int] | None) -> tuple[str, ...]:
    """Return the words that can name an entry: those that name no field and are no value."""
    labels = [label for labels in labels_by_section(visible).values() for label in labels]
    first = min((label.begin for label in labels), default=len(visible.text))
    rest = visible.copy() if connector else visible.until(first)
    for label in labels:
        rest.take(label.begin, label.stop)
    return take_names(rest, Outline())


def _assign(
    fields: Fields,
    canvas: Canvas,
    pointed: Canvas,
    visible: Canvas,
    connector: tuple[int, int] | None,
    noun: Noun | None,
) -> str | None:
    """Put every value under its field; return a value whose field is not named."""
    words: str | None = None
    after = connector[1] if connector else 0
    found = [
        item for item in find_labelled(canvas, fields.section, changing=True) if item.value > after
    ]
    if connector:
        limit = next((item.begin for item in found if item.begin >= after), len(canvas.text))
        found = [item for item in found if item.begin >= limit]
        labels = apart_from(noun, find_labels(visible, fields.section))
        name = labels[-1].field if labels else ""
        stop = value_end(canvas, fields.section, name, connector[1], limit)
        if name:
            put_words(fields, canvas, name, connector[1], stop)
        else:
            words = canvas.value(connector[1], stop)
        for label in labels:
            pointed.take(label.begin, label.stop)
        canvas.take(connector[0], stop)
        if name and (original := _ORIGINAL.search(pointed.text, 0, connector[0])):
            pointed.take(*original.span())
    for item in found:
        put_words(fields, canvas, item.field, item.value, item.stop)
        canvas.take(item.begin, item.stop)
    if not connector:
        take_tokens(fields, canvas)
        _take_trailing_grade(fields, canvas)
    if fields.section == "basics":
        take_frames(fields, canvas)
    return words


def _take_trailing_grade(fields: Fields, canvas: Canvas) -> None:
    """Understand "make French native": a grade that ends the message without a connection."""
    grade = section_facts()[fields.section].grade
    found = list(vocabulary().grades.finditer(canvas.text)) if grade else []
    if grade and found and grade not in fields.data and not canvas.text[found[-1].end() :].strip():
        fields.put(grade, canvas.value(*found[-1].span()))
        canvas.take(*found[-1].span())


def _put_bare(
    fields: Fields, canvas: Canvas, connector: tuple[int, int] | None, words: str
) -> str | None:
    """Put a value under the field that its form tells; return it if none does."""
    token = canvas.message.token_at(connector[1]) if connector else None
    grade = section_facts()[fields.section].grade
    if token and token.when and field_kind(fields.section, fields.facts.date or "startDate"):
        put_when(fields, token.when, token.text)
    elif token and token.kind in ("email", "phone", "url"):
        fields.put(token.kind, token.text)
    elif is_present(words) and field_kind(fields.section, "endDate"):
        fields.data["endDate"] = None
    elif grade and (level := grade_of(words)):
        fields.put(grade, level)
    else:
        return words
    return None


def _target(pointed: Canvas, noun: Noun | None, outline: Outline) -> Target:
    mentioned = [m for m in outline.mentions(pointed.text) if pointed.has(m.begin, m.stop)]
    names = tuple(pointed.value(m.begin, m.stop) for m in mentioned)
    for mention in mentioned:
        pointed.take(mention.begin, mention.stop)
    ordinals = take_ordinals(pointed)
    if noun and pointed.has(noun.begin, noun.stop):
        pointed.take(noun.begin, noun.stop)
    return replace(ordinals, names=(*names, *take_names(pointed, Outline())))


def _confidence(command: CommandHit, noun: Noun | None, section: Section | None) -> float:
    if section is None:
        return _LIKELY
    return _CERTAIN if noun or command.heads else _CLEAR
