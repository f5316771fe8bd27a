"""Understanding "add a highlight to my Google job: …": a value for one field of an entry."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from mcp_tools.resume import Section, field_kind

from .canvas import Canvas
from .commands import CommandHit, verb_span
from .fields import Fields, put_words
from .labelled import Label, find_labels
from .message import Message
from .outline import Outline
from .pointing import take_mentions, take_ordinals
from .recognition import Intent, Recognition, Target
from .sections import BY_PRECEDENCE, find_nouns, mask_mentions
from .vocabulary import vocabulary

_CLEAR = 0.9
_OF_ENTRIES = ("highlights", "keywords", "courses")
"""Fields that only an entry has, so that it need not be said which section is meant."""
_COLON = re.compile(r"\s*[:=]\s*")


@dataclass(frozen=True, slots=True)
class _Detail:
    """A field that is added to, and where its value stands."""

    section: Section
    label: Label
    begin: int
    stop: int


def understand_detail(
    message: Message, command: CommandHit, outline: Outline
) -> Recognition | None:
    """Understand a message that adds to a field of an entry; `None` if it adds an entry."""
    begin, stop = verb_span(message, command)
    canvas = Canvas(message)
    canvas.take(begin, stop)
    found = (_understood(message, detail, outline) for detail in _details(canvas, stop, outline))
    return next((recognition for recognition in found if recognition), None)


def _understood(message: Message, detail: _Detail, outline: Outline) -> Recognition | None:
    canvas = Canvas(message)
    fields = Fields(detail.section)
    put_words(fields, canvas, detail.label.field, detail.begin, detail.stop)
    canvas.take(detail.label.begin, detail.label.stop)
    canvas.take(detail.begin, detail.stop)
    target = _target(canvas, outline, detail.section)
    if not (target or detail.label.field in _OF_ENTRIES) or not (fields.data or fields.problems):
        return None
    return Recognition(
        intent=Intent.ADD,
        section=detail.section,
        data=fields.data,
        fields=(detail.label.field,),
        target=target,
        problems=tuple(fields.problems),
        confidence=_CLEAR,
    )


def _details(canvas: Canvas, verb_end: int, outline: Outline) -> Iterator[_Detail]:
    visible = mask_mentions(canvas, outline)
    nouns = find_nouns(visible)
    mentioned = (m.place.section for m in outline.mentions(canvas.text))
    sections = dict.fromkeys((*(noun.section for noun in nouns), *mentioned, *BY_PRECEDENCE))
    for section in sections:
        for label in find_labels(visible, section) if section != "basics" else ():
            if any(noun.begin <= label.begin and label.stop <= noun.stop for noun in nouns):
                continue
            if canvas.trimmed(verb_end, label.begin) is None and _begins_value(canvas, label):
                yield _Detail(section, label, *_place_after(canvas, label))
            elif field_kind(section, label.field) == "list" and (
                to := vocabulary().grammar.field_before.search(canvas.text, verb_end, label.begin)
            ):
                yield _Detail(section, label, verb_end, to.start())


def _begins_value(canvas: Canvas, label: Label) -> bool:
    """Tell whether a value or the entry follows a label, as not in "my role as …"."""
    rest = canvas.text[label.stop :].lstrip()
    return not vocabulary().grammar.no_value.match(rest) or bool(
        vocabulary().grammar.entry.match(rest)
    )


def _place_after(canvas: Canvas, label: Label) -> tuple[int, int]:
    """Return where a value stands whose label comes right after the verb."""
    if colon := _COLON.search(canvas.text, label.stop):
        return colon.end(), len(canvas.text)
    entry = vocabulary().grammar.entry
    ends = [match.start() for match in entry.finditer(canvas.text, label.stop)]
    return label.stop, ends[-1] if ends else len(canvas.text)


def _target(canvas: Canvas, outline: Outline, section: Section) -> Target:
    names = take_mentions(canvas, outline.only(section))
    return replace(take_ordinals(canvas), names=names)
