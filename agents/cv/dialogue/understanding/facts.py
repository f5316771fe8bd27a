"""Facts about entries that there are: "我在腾讯是负责人不是工程师", "my French is C1 now"."""

from dataclasses import replace

from mcp_tools.resume import Section, title_field

from .assignments import take_grade
from .canvas import Canvas
from .confidence import CLEAR, LIKELY
from .fields import Fields, look_of, put_words, take_frames, take_tokens
from .labelled import find_labelled, find_labels
from .message import Message
from .outline import Outline
from .pointing import take_mentions, take_ordinals
from .recognition import Intent, Recognition
from .sections import Noun, find_nouns, mask_mentions
from .vocabulary import section_facts, vocabulary
from .words import TAKEN

_ALIKE = {"work", "volunteer"}
"""Sections whose sentences are the same."""


def understand_fact(message: Message, outline: Outline) -> Recognition | None:
    """Understand a sentence that says something new about an entry that it points at."""
    canvas = Canvas(message)
    section = _section(canvas, outline)
    if section is None:
        return None
    names = take_mentions(canvas, outline.only(section))
    target = take_ordinals(canvas)
    _take_noun(canvas, section)
    denied = _take_denied(canvas)
    fields = Fields(section, data={_title(section): ""})
    _fill(fields, canvas)
    labels = find_labels(canvas, section)
    open_labels = tuple(label.field for label in labels if label.field not in fields.data)
    if open_labels and not denied:
        return None
    fields.wanted = open_labels
    for label in labels:
        canvas.take(label.begin, label.stop)
    others, certain = _take_stated(fields, canvas, outline)
    target = replace(target, names=(*names, *others))
    data = {name: value for name, value in fields.data.items() if name != _title(section)}
    if not target or not (data or fields.problems):
        return None
    return Recognition(
        intent=Intent.UPDATE,
        section=section,
        data=data,
        target=target,
        problems=tuple(fields.problems),
        confidence=CLEAR if certain else LIKELY,
    )


def tells_of_another(stated: Recognition, fact: Recognition, message: Message) -> bool:
    """Tell whether a sentence is rather about an entry that is not there yet.

    It is when it says all that an entry needs, names several, or names one in more words; and
    "French B2" alone does not say that it is about the French that is there.
    """
    sections = {stated.section, fact.section}
    if stated.section is None or stated.others or not (len(sections) == 1 or sections == _ALIKE):
        return True
    required = section_facts()[stated.section].required
    if len(required) > 1 and not stated.missing_fields:
        return True
    if section_facts()[stated.section].listed and not vocabulary().grammar.renews.search(
        message.text
    ):
        return True
    return _says_more(str(stated.data.get(_title(stated.section), "")), fact.target.names)


def _says_more(title: str, names: tuple[str, ...]) -> bool:
    """Tell whether a title is more than the names that an entry has, and filler."""
    rest = title.casefold()
    for name in names:
        rest = rest.replace(name.casefold().removeprefix("the "), "", 1)
    while match := vocabulary().references.filler.trailing.search(rest):
        rest = rest[: match.start()]
    return rest != ""


def _title(section: Section) -> str:
    return title_field(section) or "name"


def _section(canvas: Canvas, outline: Outline) -> Section | None:
    """Return the section of the entry that is pointed at."""
    mentions = sorted(outline.mentions(canvas.text), key=lambda mention: mention.begin)
    named = [noun.section for noun in find_nouns(mask_mentions(canvas, outline))]
    sections = [mention.place.section for mention in mentions] or named
    found = next((section for section in sections if section in named), next(iter(sections), None))
    return None if found == "basics" else found


def _take_noun(canvas: Canvas, section: Section) -> None:
    """Take the name of the section, unless it is the name of a field that gets a value."""
    connected = [label for label in find_labels(canvas, section) if label.connected]
    for noun in find_nouns(canvas):
        is_label = any(noun.begin <= label.begin < noun.stop for label in connected)
        if noun.section == section and (not is_label or _is_pointer(canvas, noun)):
            canvas.take(noun.begin, noun.stop)


def _is_pointer(canvas: Canvas, noun: Noun) -> bool:
    """Tell whether a noun follows "that" or a name: "AWS那个证书是…" names no field."""
    before = canvas.text[: noun.begin].rstrip(" ")
    return before.endswith(TAKEN) or canvas.trimmed(0, noun.begin) is not None


def _take_denied(canvas: Canvas) -> bool:
    """Take what is said not to be so ("不是工程师"); return whether there is such a thing."""
    found = list(vocabulary().grammar.denied.finditer(canvas.text))
    for match in found:
        canvas.take(*match.span())
    return bool(found)


def _fill(fields: Fields, canvas: Canvas) -> None:
    """Take the values whose fields are named or that have a form of their own."""
    for found in list(find_labelled(canvas, fields.section, changing=True)):
        put_words(fields, canvas, found.field, found.value, found.stop)
        canvas.take(found.begin, found.stop)
    take_tokens(fields, canvas)
    take_frames(fields, canvas)
    take_grade(fields, canvas)


def _take_stated(fields: Fields, canvas: Canvas, outline: Outline) -> tuple[tuple[str, ...], bool]:
    """Take the words that are left: names of the entry, and values that are said to be so.

    Return the names, and whether nothing else is left.
    """
    names: list[str] = []
    certain = True
    for begin, stop in canvas.segments():
        value = canvas.value(
            *(canvas.trimmed(begin, stop, vocabulary().references.filler) or (0, 0))
        )
        stated = vocabulary().grammar.stated_before.search(canvas.text, 0, begin)
        free = _next_free(fields) if stated else None
        name = free if fields.wanted else look_of(fields, canvas.text[begin:stop]) or free
        if not stated and outline.find(value, (fields.section,)):
            names.append(value)
        elif not (name and fields.put(name, canvas.value(begin, stop))):
            certain = certain and not value
    return tuple(names), certain


def _next_free(fields: Fields) -> str | None:
    order = (*fields.wanted, *fields.facts.order)
    return next((name for name in order if name not in fields.data), None)
