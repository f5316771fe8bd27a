"""Understanding what is to be added: commands, statements of fact, and answers to a question."""

from dataclasses import replace

from mcp_tools.resume import Section

from .canvas import Canvas
from .commands import CommandHit, verb_span
from .details import understand_detail
from .fields import Fields, extract
from .message import Message
from .outline import Outline
from .recognition import Intent, Recognition
from .sections import Noun, find_nouns, find_statement, labelled_section, main_noun
from .vocabulary import section_facts, vocabulary

_CERTAIN, _CLEAR, _LIKELY, _GUESS = 0.95, 0.85, 0.75, 0.55


def understand_addition(
    message: Message, command: CommandHit, outline: Outline, into: Section | None = None
) -> Recognition:
    """Understand a message that commands to add; `into` is a section that it need not name."""
    canvas = Canvas(message)
    canvas.take(*verb_span(message, command))
    noun = _noun(canvas)
    if detail := understand_detail(message, command, outline):
        return detail
    section = noun.section if noun else into
    confidence = _CERTAIN
    if section is None:
        confidence = _CLEAR
        section = find_statement(canvas.text) or _by_content(canvas)
    if section is None:
        return Recognition(intent=Intent.ADD, confidence=_GUESS)
    if noun and not noun.named:
        after = vocabulary().grammar.section_after.match(canvas.text, noun.stop)
        canvas.take(noun.begin, after.end() if after else noun.stop)
    return _added(extract(canvas, section), confidence)


def understand_statement(message: Message) -> Recognition | None:
    """Understand a sentence that states a fact for the resume, if it is one."""
    canvas = Canvas(message)
    nouns = find_nouns(canvas)
    if (noun := _introducing(canvas, nouns)) and noun.section != "basics":
        introduces = vocabulary().grammar.introduces.match(canvas.text, noun.stop)
        canvas.take(0, introduces.end() if introduces else noun.stop)
        fields = extract(canvas, noun.section)
        return _added(fields, _CLEAR) if fields.data else None
    section = find_statement(message.text)
    if section is None:
        return None
    fields = extract(canvas, section)
    stated = _added(fields, _CLEAR)
    if section == "basics":
        stated = replace(stated, intent=Intent.UPDATE)
    return stated if fields.data or fields.problems else None


def understand_listing(message: Message) -> Recognition | None:
    """Understand "腾讯，前端工程师，2021-2023": a time and something that looks like a field."""
    if not any(token.kind == "span" for token in message.tokens):
        return None
    canvas = Canvas(message)
    for token in message.tokens:
        canvas.take(token.begin, token.stop)
    section = _by_looks(canvas)
    return _added(extract(Canvas(message), section), _LIKELY) if section else None


def missing_fields(section: Section, data: object) -> tuple[str, ...]:
    """Return the required fields of an entry that are not there."""
    present = data if isinstance(data, dict) else {}
    return tuple(name for name in section_facts()[section].required if name not in present)


def _added(fields: Fields, confidence: float) -> Recognition:
    return Recognition(
        intent=Intent.ADD,
        section=fields.section,
        data=fields.data,
        others=tuple(fields.others),
        missing_fields=missing_fields(fields.section, fields.data),
        problems=tuple(fields.problems),
        confidence=confidence,
    )


def _noun(canvas: Canvas) -> Noun | None:
    """Return the noun that says what is added; one behind a colon belongs to the content."""
    nouns = find_nouns(canvas)
    colon = canvas.text.find(":")
    before = [noun for noun in nouns if colon < 0 or noun.begin < colon]
    return main_noun(canvas, before or nouns, last=False)


def _introducing(canvas: Canvas, nouns: list[Noun]) -> Noun | None:
    """Return the noun that introduces a list or a description: "技能：…", "my skills are …"."""
    if not nouns:
        return None
    first = nouns[0]
    led = canvas.trimmed(0, first.begin, vocabulary().references.filler) is None
    follows = vocabulary().grammar.introduces.match(canvas.text, first.stop)
    return first if led and follows else None


def _by_content(canvas: Canvas) -> Section | None:
    """Guess the section from the names of fields and the looks of values."""
    colon = canvas.text.find(":")
    if named := labelled_section(canvas.until(colon) if colon >= 0 else canvas, basics=True):
        return named
    kinds = {token.kind for token in canvas.message.tokens}
    if kinds & {"email", "phone"}:
        return "basics"
    return _by_looks(canvas)


def _by_looks(canvas: Canvas) -> Section | None:
    rest = [canvas.text[begin:stop] for begin, stop in canvas.segments()]
    for section, words in vocabulary().sections.items():
        if any(look.fullmatch(text) for look in words.looks.values() for text in rest):
            return section
    return None
