"""Understanding what is to be changed: "把腾讯的职位改成…", "change my title at Google to …"."""

from dataclasses import replace

from mcp_tools.resume import Section, title_field

from .assignments import Connector, assign
from .canvas import Canvas
from .commands import CommandHit
from .confidence import CERTAIN, CLEAR, LIKELY
from .fields import Fields
from .labelled import find_labels
from .message import Message
from .outline import Outline
from .placing import place_behind
from .pointing import other_names, take_mentions, take_ordinals
from .recognition import Intent, Recognition
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
from .words import DELIMITERS, TAKEN


def understand_change(message: Message, command: CommandHit, outline: Outline) -> Recognition:
    """Understand a message that changes fields of an entry or of the basics.

    What stands before the connector points at an entry and names a field; what stands behind it
    is the new value, and perhaps more fields with theirs.
    """
    canvas = Canvas(message)
    if command.heads:
        canvas.take(command.begin, command.stop)
    connector = find_connector(canvas, command)
    limit = connector.begin if connector else _prose_begin(canvas)
    pointed = canvas.until(limit)
    behind = place_behind(canvas, connector.stop, pointed, outline) if connector else None
    if behind:
        begin, mention = behind
        pointed = canvas.until(mention.stop)
        pointed.take(limit, mention.begin)
        canvas.take(begin, len(canvas.text))
    noun, section = _section(pointed, connector, outline)
    if section is None:
        said = Recognition(
            value=canvas.value(connector.stop, len(canvas.text)) if connector else None,
            confidence=LIKELY,
        )
    else:
        said = _changed(Fields(section), canvas, pointed, connector, noun, outline)
        certain = noun is not None or command.heads
        said = replace(said, confidence=CERTAIN if certain else CLEAR)
        pointed = pointed if connector else canvas.until(limit)
    names = take_mentions(pointed, outline)
    target = take_ordinals(pointed)
    if noun and pointed.has(noun.begin, noun.stop):
        pointed.take(noun.begin, noun.stop)
    target = replace(target, names=(*names, *other_names(pointed)))
    if section and not target:
        target = replace(target, names=take_mentions(canvas, outline.only(section)))
    section = section or outline.section_of(target.names)
    return replace(said, intent=Intent.UPDATE, section=section, target=target)


def _changed(
    fields: Fields,
    canvas: Canvas,
    pointed: Canvas,
    connector: Connector | None,
    noun: Noun | None,
    outline: Outline,
) -> Recognition:
    """Understand the new values, and take from what points what names a field or an old value."""
    labels = apart_from(noun, find_labels(mask_mentions(pointed, outline), fields.section))
    value = assign(fields, canvas, labels, connector)
    if value and fields.data and not labels:
        fields.put(title_field(fields.section) or "name", value)
    for label in labels if connector or not fields.data else ():
        for text in (pointed, canvas):
            text.take(label.begin, label.stop)
    if connector and labels:
        _take_behind(pointed, labels[-1].stop, connector.begin)
    original = vocabulary().grammar.original
    if connector and labels and (match := original.search(pointed.text, 0, connector.begin)):
        pointed.take(*match.span())
    return Recognition(
        section=fields.section,
        data=fields.data,
        fields=tuple(label.field for label in labels[-1:]),
        value=value,
        problems=tuple(fields.problems),
    )


def _take_behind(pointed: Canvas, begin: int, stop: int) -> None:
    """Take what stands behind a field in Chinese, which names its entry before the field."""
    words = pointed.text[begin:stop]
    if not words[:1].isascii() and TAKEN not in words and not take_ordinals(pointed.copy()):
        pointed.take(begin, stop)


def find_connector(canvas: Canvas, command: CommandHit) -> Connector | None:
    """Return what connects what is changed with its new value."""
    becomes = vocabulary().connectors.becomes.search(canvas.text)
    if becomes:
        return Connector(*becomes.span())
    if not command.heads:
        return _copula(canvas)
    found = (form.search(canvas.text, command.stop) for form in vocabulary().connectors.to)
    connected = next((Connector(*match.span()) for match in found if match), None)
    return connected or _adjacent(canvas)


def _adjacent(canvas: Canvas) -> Connector | None:
    """Return the place before "Staff SRE" in "make my position Staff SRE"."""
    labels = [label for labels in labels_by_section(canvas).values() for label in labels]
    last = max(labels, key=lambda label: label.stop, default=None)
    if last is None or any(label.connected for label in labels):
        return None
    begins = canvas.text[: last.begin].rstrip(" ")[-1:] in (*DELIMITERS, ":")
    rest = canvas.text[last.stop :]
    follows = rest[:1] == " " and canvas.trimmed(last.stop, len(canvas.text)) is not None
    if begins or not follows or vocabulary().grammar.no_value.match(rest.lstrip()):
        return None
    return Connector(last.stop, last.stop) if rest.lstrip()[0].isalnum() else None


def _prose_begin(canvas: Canvas) -> int:
    """Return where prose begins that the name of its field introduces: no entry is named there."""
    begins = (
        label.value
        for section, labels in labels_by_section(canvas).items()
        for label in labels
        if label.connected and label.field == section_facts()[section].prose
    )
    return min(begins, default=len(canvas.text))


def _copula(canvas: Canvas) -> Connector | None:
    """Return the "is" in "my GPA at MIT is 3.9": some words after the name of a field."""
    labels = [label for labels in labels_by_section(canvas).values() for label in labels]
    if not labels or any(label.connected for label in labels):
        return None
    first = min(label.stop for label in labels)
    match = vocabulary().grammar.copula.search(canvas.text, first)
    return Connector(*match.span()) if match else None


def _section(
    pointed: Canvas, connector: Connector | None, outline: Outline
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
    by_label = labelled_section(visible, basics=not pointing, outline=outline)
    if by_label and (noun is None or not mentions):
        return (noun if noun and noun.section == by_label else None), by_label
    if noun is None and outline.focus and take_ordinals(visible.copy()):
        return None, outline.focus.section
    return noun, noun.section if noun else None


def _naming_words(visible: Canvas, connector: Connector | None) -> tuple[str, ...]:
    """Return the words that can name an entry: those that name no field and are no value."""
    labels = [label for labels in labels_by_section(visible).values() for label in labels]
    first = min((label.begin for label in labels), default=len(visible.text))
    rest = visible.copy() if connector else visible.until(first)
    for label in labels:
        rest.take(label.begin, label.stop)
    return other_names(rest)
