"""Understanding what is to be shown or taken away: which entries, which fields."""

from dataclasses import replace

from mcp_tools.resume import Section, field_kind, title_field

from .canvas import Canvas
from .commands import CommandHit
from .confidence import CERTAIN, CLEAR, LIKELY, NOTHING
from .labelled import Label, find_labels
from .message import Message
from .outline import Mention, Outline
from .pointing import other_names, take_mentions, take_ordinals
from .recognition import Intent, Recognition, Target
from .sections import Noun, find_nouns, labelled_section, main_noun, mask_mentions
from .taking import take_remarks, understand_taking
from .vocabulary import section_facts, vocabulary

_BRIEF = 10
"""A question of so many characters that names nothing is about what was spoken of last."""


def understand_lookup(message: Message, command: CommandHit, outline: Outline) -> Recognition:
    """Understand a message that reads or deletes a section, entries, or fields of them."""
    canvas = Canvas(message)
    if command.verb:
        canvas.take(*command.verb)
    if command.intent is Intent.DELETE:
        take_remarks(canvas, outline)
    if taking := understand_taking(canvas, command, outline):
        return taking
    if command.heads:
        mentions = [m for m in outline.mentions(canvas.text) if m.begin >= command.stop]
    else:
        mentions = outline.mentions(canvas.text)
    asks = command.intent is Intent.READ
    section, fields = _take_question(canvas, outline) if asks else (None, ())
    if command.heads:
        canvas.take(command.begin, command.stop)
    whole = vocabulary().references.whole.search(message.raw)
    if whole:
        canvas.take(*whole.span())
    visible = mask_mentions(canvas, outline)
    noun = main_noun(visible, find_nouns(visible), last=True)
    section = section or _section(visible, noun, mentions)
    if section and not fields:
        fields = _take_fields(canvas, visible, section, noun, command)
    names = take_mentions(canvas, outline)
    rest = _take_rest(canvas)
    target = replace(take_ordinals(canvas), rest=rest)
    if noun and section == noun.section:
        canvas.take(noun.begin, noun.stop)
    _take_verbs(canvas, command)
    every = vocabulary().references.every.search(message.text) is not None
    every = every if whole is None else section is not None
    if whole and section is None:
        target = Target()
    else:
        target = replace(target, every=every, names=(*names, *other_names(canvas)))
    asks_briefly = command.heads or len(message.text.strip()) <= _BRIEF
    if command.intent is Intent.READ and asks_briefly and not (section or whole or target):
        section = outline.focus.section if outline.focus else None
    if target.beside and outline.focus:
        section = section or outline.focus.section
    if section and not (noun or mentions):
        section = _better_section(section, fields, target, outline)
    confidence = _confidence(command, section, target, whole=whole is not None)
    if section is None and (section := outline.section_of(target.names)):
        confidence = LIKELY
    return Recognition(
        intent=command.intent if confidence > NOTHING else Intent.UNKNOWN,
        section=section,
        fields=fields,
        target=target,
        confidence=confidence,
    )


def _take_question(canvas: Canvas, outline: Outline) -> tuple[Section | None, tuple[str, ...]]:
    """Take a question like "where do I live" or "我叫什么"; return what it asks for."""
    text = mask_mentions(canvas, outline).text
    for section, words in vocabulary().sections.items():
        if asked := next(words.asks.find(text), None):
            canvas.take(asked.begin, asked.stop)
            return section, () if asked.field == "all" else (asked.field,)
    return None, ()


def _section(visible: Canvas, noun: Noun | None, mentions: list[Mention]) -> Section | None:
    if noun and (mentions or find_labels(visible, noun.section)):
        return noun.section
    sections = [mention.place.section for mention in mentions]
    if noun is None and sections:
        return next((s for s in sections if find_labels(visible, s)), sections[0])
    pointing = bool(take_ordinals(visible.copy()))
    named = labelled_section(visible, basics=not pointing)
    named = named or labelled_section(visible, basics=noun is None)
    if noun is None or named == "basics":
        return named
    return noun.section


def _better_section(
    section: Section, fields: tuple[str, ...], target: Target, outline: Outline
) -> Section:
    """Return the section of the only entries that have the names, where a field chose another."""
    named = outline.section_of(target.names)
    if named is None or not fields or any(outline.find(n, (section,)) for n in target.names):
        return section
    return named if all(field_kind(named, name) for name in fields) else section


def _take_fields(
    canvas: Canvas, visible: Canvas, section: Section, noun: Noun | None, command: CommandHit
) -> tuple[str, ...]:
    """Take the names of fields."""
    counted = bool(take_ordinals(visible.copy()).ordinals)
    labels = [
        label
        for label in find_labels(visible, section)
        if not _is_part(label, noun, asks=command.intent is Intent.READ and not counted)
        and not (command.intent is Intent.DELETE and _describes(canvas, label, section))
    ]
    for label in labels:
        canvas.take(label.begin, label.stop)
    return tuple(dict.fromkeys(label.field for label in labels))


def _describes(canvas: Canvas, label: Label, section: Section) -> bool:
    """Tell whether a field only says which entry is meant: "那个叫Moneta的", "2016年开始的"."""
    if section != "basics" and label.field == title_field(section):
        return True
    token = canvas.message.token_at(max(label.begin - 1, 0))
    return token is not None and token.when is not None


def _is_part(label: Label, noun: Noun | None, *, asks: bool) -> bool:
    """Tell whether the name of a field is only a part of the section's name.

    "my degree" asks for a field of the education, though to delete it means the entry.
    """
    if noun is None or label.begin < noun.begin or noun.stop < label.stop:
        return False
    whole = (label.begin, label.stop) == (noun.begin, noun.stop)
    named_alike = (title_field(noun.section), section_facts()[noun.section].prose, "period")
    is_field = whole and label.field not in named_alike and noun.section != "basics"
    return not (asks and is_field)


def _take_rest(canvas: Canvas) -> bool:
    """Take "except" and the like; return whether all but the named entries are meant."""
    found = list(vocabulary().references.rest.finditer(canvas.text))
    for match in found:
        canvas.take(*match.span())
    return bool(found)


def _take_verbs(canvas: Canvas, command: CommandHit) -> None:
    """Take the words of a command that stand inside the message, but not its object."""
    words = vocabulary().commands[command.intent]
    inside = words.inside
    match = inside.search(canvas.text)
    while match and match[0]:
        verbs = list(words.head.finditer(canvas.text, *match.span()))
        canvas.take(*(verbs[-1] if verbs else match).span())
        match = inside.search(canvas.text)


def _confidence(
    command: CommandHit, section: Section | None, target: Target, *, whole: bool
) -> float:
    if section:
        return CERTAIN if command.heads else CLEAR
    if whole:
        return CLEAR
    placed = bool(target.ordinals or target.beside)
    pointed = bool(target) and (command.intent is Intent.DELETE or placed)
    return LIKELY if pointed else NOTHING
