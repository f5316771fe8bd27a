"""Understanding "add a highlight to my Google job: …": a value for one field of an entry."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mcp_tools.resume import Section, field_kind

from .canvas import Canvas
from .commands import CommandHit, verb_span
from .confidence import CLEAR
from .fields import Fields, put_words
from .labelled import Label, find_labels
from .message import Message
from .outline import Outline
from .pointing import other_names, take_mentions, take_ordinals
from .recognition import Intent, Recognition, Target
from .sections import BY_PRECEDENCE, Noun, find_nouns, mask_mentions
from .vocabulary import vocabulary
from .words import TAKEN

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
    """Understand a message that adds to a field of an entry; `None` if it adds an entry.

    Nothing to add may be said yet: "给腾讯加个亮点".
    """
    begin, stop = verb_span(message, command)
    canvas = Canvas(message)
    canvas.take(begin, stop)
    details = _details(canvas, begin, stop, outline)
    found = (_understood(message, detail, outline) for detail in details)
    said = next((recognition for recognition in found if recognition), None)
    return said or _without_value(canvas, outline)


def _without_value(canvas: Canvas, outline: Outline) -> Recognition | None:
    """Understand a message that names an entry and one of its lists, but nothing to add to it."""
    mentioned = [mention.place.section for mention in outline.mentions(canvas.text)]
    if not mentioned:
        return None
    section, pointed = mentioned[0], canvas.copy()
    labels = find_labels(mask_mentions(canvas, outline), section)
    lists = [label for label in labels if field_kind(section, label.field) == "list"]
    for label in lists:
        pointed.take(label.begin, label.stop)
    target = _target(pointed, outline, section)
    if len(lists) != 1 or other_names(pointed):
        return None
    return Recognition(
        intent=Intent.ADD,
        section=section,
        fields=(lists[0].field,),
        target=target,
        confidence=CLEAR,
    )


def _understood(message: Message, detail: _Detail, outline: Outline) -> Recognition | None:
    canvas = Canvas(message)
    fields = Fields(detail.section)
    courses = detail.label.field == "courses"
    found = vocabulary().grammar.learnt.search(canvas.text, detail.begin, detail.stop)
    learnt = found if courses else None
    begin = learnt.end() if learnt else detail.begin
    put_words(fields, canvas, detail.label.field, begin, detail.stop)
    canvas.take(detail.label.begin, detail.label.stop)
    canvas.take(begin, detail.stop)
    target = _target(canvas, outline, detail.section)
    if learnt and (trimmed := canvas.trimmed(detail.begin, learnt.start())):
        words = canvas.value(*trimmed)
        known = outline.find(words, (detail.section,))
        target = replace(target, names=(*target.names, words)) if known else target
    implied = outline.focused is not None and outline.focused.section == detail.section
    pointed = target or implied or detail.label.field in _OF_ENTRIES
    if not pointed or not (fields.data or fields.problems):
        return None
    return Recognition(
        intent=Intent.ADD,
        section=detail.section,
        data=fields.data,
        fields=(detail.label.field,),
        target=target,
        problems=tuple(fields.problems),
        confidence=CLEAR,
    )


def _details(canvas: Canvas, verb_begin: int, verb_end: int, outline: Outline) -> Iterator[_Detail]:
    visible = mask_mentions(canvas, outline)
    nouns = find_nouns(visible)
    mentioned = [m.place.section for m in outline.mentions(canvas.text)]
    focus = (outline.focus.section,) if outline.focus else ()
    sections = dict.fromkeys(
        (*(noun.section for noun in nouns), *mentioned, *focus, *BY_PRECEDENCE)
    )
    for section in sections:
        for label in find_labels(visible, section) if section != "basics" else ():
            if _names_section(label, section, nouns, mentioned):
                continue
            if label.begin < verb_end:
                if _leads_to(canvas, label, verb_begin):
                    begin = _value_begin(canvas, verb_end)
                    yield _Detail(section, label, begin, len(canvas.text))
                continue
            if said := _said_before(visible, verb_begin, verb_end, label):
                yield _Detail(section, label, *said)
            elif canvas.trimmed(verb_end, label.begin) is None and _begins_value(visible, label):
                yield _Detail(section, label, *_place_after(visible, label, outline))
            elif field_kind(section, label.field) == "list" and (
                stop := _stop_before(canvas, visible, verb_end, label.begin)
            ):
                yield _Detail(section, label, verb_end, stop)


def _names_section(
    label: Label, section: Section, nouns: Sequence[Noun], mentioned: Sequence[Section]
) -> bool:
    """Tell whether a label is part of the name of a section, not a field of the named entry."""
    return any(
        noun.begin <= label.begin
        and label.stop <= noun.stop
        and (noun.section == section or section not in mentioned)
        for noun in nouns
    )


def _leads_to(canvas: Canvas, label: Label, verb_begin: int) -> bool:
    """Tell whether a label stands right before the verb: "Python的关键词加上Django"."""
    return label.stop <= verb_begin and not canvas.trimmed(
        label.stop, verb_begin, vocabulary().references.filler
    )


def _value_begin(canvas: Canvas, begin: int) -> int:
    """Return where a value begins behind a verb: "…补上，是ACM"."""
    rest = canvas.text[begin:].lstrip(" ,:")
    copula = vocabulary().grammar.copula.match(rest)
    return len(canvas.text) - len(rest) + copula.end() if copula else begin


def _said_before(
    canvas: Canvas, verb_begin: int, verb_end: int, label: Label
) -> tuple[int, int] | None:
    """Return the position of a value before its destination: "重构了系统，加到腾讯的亮点里"."""
    between = vocabulary().grammar.field_before.sub("", canvas.text[verb_end : label.begin])
    told = not between.replace(TAKEN, "").strip()
    after = vocabulary().grammar.section_after.match(canvas.text, label.stop)
    rest = canvas.text[after.end() if after else label.stop :]
    if not told or rest.strip() or canvas.text[:verb_begin].rstrip()[-1:] not in (",", ";"):
        return None
    return canvas.trimmed(0, verb_begin)


def _stop_before(canvas: Canvas, visible: Canvas, begin: int, stop: int) -> int:
    """Return where a value ends that stands before "to Python's keywords"; 0 if none does."""
    if to := vocabulary().grammar.field_before.search(canvas.text, begin, stop):
        return to.start()
    filler = vocabulary().references.filler
    entries = list(vocabulary().grammar.entry.finditer(visible.text, begin, stop))
    pointing = (m.start() for m in entries if not visible.trimmed(m.end(), stop, filler))
    last = entries[-1].start() if entries and not visible.text[stop:].partition(" ")[2] else 0
    return next(pointing, last)


def _begins_value(canvas: Canvas, label: Label) -> bool:
    """Tell whether a value or the entry follows a label, as not in "my role as …"."""
    rest = canvas.text[label.stop :].lstrip(" ")
    return not vocabulary().grammar.no_value.match(rest) or bool(
        vocabulary().grammar.entry.match(rest)
    )


def _place_after(canvas: Canvas, label: Label, outline: Outline) -> tuple[int, int]:
    """Return where a value stands whose label comes right after the verb."""
    if colon := _COLON.search(canvas.text, label.stop):
        return colon.end(), len(canvas.text)
    entry = vocabulary().grammar.entry
    ends = [
        match.start()
        for match in entry.finditer(canvas.text, label.stop)
        if _points_at_entry(canvas, match.end(), outline)
    ]
    return label.stop, ends[-1] if ends else len(canvas.text)


def _points_at_entry(canvas: Canvas, begin: int, outline: Outline) -> bool:
    rest = canvas.copy()
    rest.take(0, begin)
    named = outline.mentions(canvas.message.text[begin:])
    return bool(named or find_nouns(rest) or take_ordinals(rest))


def _target(canvas: Canvas, outline: Outline, section: Section) -> Target:
    names = take_mentions(canvas, outline.only(section))
    return replace(take_ordinals(canvas), names=names)
