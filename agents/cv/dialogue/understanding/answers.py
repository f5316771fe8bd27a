"""Understanding a message as the answer to what was asked for."""

from mcp_tools.resume import JsonObject, Section, field_kind

from .additions import missing_fields
from .canvas import Canvas
from .commands import CommandHit
from .confidence import CLEAR
from .corrections import replacements
from .extraction import extract
from .fields import Fields, take_frames
from .focus import Focus
from .labelled import Label, find_labelled, find_labels
from .message import Message
from .outline import Outline
from .pointing import take_ordinals
from .recognition import Asked, Intent, Recognition
from .sections import find_nouns, find_statement, mask_mentions
from .signals import without_opening
from .vocabulary import section_facts, vocabulary


def answers(message: Message, command: CommandHit | None, asked: Asked, outline: Outline) -> bool:
    """Tell whether a message can be an answer; an explicit wish of another kind cannot."""
    if command is None:
        return not _states_something_else(message, asked)
    if command.intent not in (Intent.ADD, Intent.UPDATE):
        return False
    if command.intent is Intent.UPDATE and _has_foreign_token(message, asked.section):
        return False
    canvas = Canvas(message)
    own = find_labels(canvas, asked.section, changing=True)
    nouns = [
        noun
        for noun in find_nouns(canvas)
        if not noun.named
        and all(label.stop <= noun.begin or noun.stop <= label.begin for label in own)
    ]
    if nouns or (find_labels(canvas, "basics") and not own) or _is_personal(canvas, own, asked):
        return False
    if command.intent is Intent.ADD:
        return True
    pointed = canvas if command.heads else canvas.until(command.begin)
    return mask_mentions(pointed, outline).text == pointed.text and not take_ordinals(pointed)


def _is_personal(canvas: Canvas, own: list[Label], asked: Asked) -> bool:
    """Tell whether "my city" is the person's, and not one that the entry may have."""
    needed = section_facts()[asked.section].required
    extra = [label for label in own if label.field not in needed]
    named = {label.begin for label in find_labels(canvas, "basics")}
    mine = vocabulary().grammar.own.search(canvas.text)
    return bool(mine and extra) and all(label.begin in named for label in own)


def understand_answer(
    message: Message, command: CommandHit | None, asked: Asked
) -> Recognition | None:
    """Understand a message as an answer; `None` if it says nothing that was asked."""
    canvas = Canvas(message)
    if replaced := _replaced(Canvas(without_opening(message)), asked):
        return _answer(Fields(asked.section, data=replaced), corrects=True)
    correction = vocabulary().connectors.correction.match(canvas.text)
    if correction:
        canvas.take(*correction.span())
    if command and command.heads:
        canvas.take(command.begin, command.stop)
    becomes = vocabulary().connectors.becomes.search(canvas.text)
    if becomes and not find_labels(canvas.until(becomes.start()), asked.section):
        canvas.take(*becomes.span())
    corrects = bool(correction or becomes or (command and command.intent is Intent.UPDATE))
    wanted = asked.latest if corrects else asked.fields
    if not corrects:
        _take_subject(canvas, asked)
    whole = canvas.copy()
    known = () if corrects else asked.known.keys()
    fields = extract(canvas, asked.section, wanted=wanted, known=known, changing=True)
    corrects = corrects or _names_known(whole, asked, fields)
    if name := _only_words(whole, wanted, fields):
        fields.data = {name: whole.value(*_trimmed(whole))}
        fields.unmarked = {name}
    if command or corrects:
        fields.unmarked.clear()
    elif fields.data.keys() <= fields.unmarked & asked.known.keys():
        fields.data.clear()
    return _answer(fields, corrects=corrects) if fields.data or fields.problems else None


def _replaced(canvas: Canvas, asked: Asked) -> JsonObject:
    """Return the right value for a known one that is said to be wrong: "不是网易，是米哈游"."""
    for old, new in replacements(canvas):
        for name, value in asked.known.items():
            if isinstance(value, str) and value.casefold() == old.casefold():
                return {name: new}
    return {}


def _take_subject(canvas: Canvas, asked: Asked) -> None:
    """Take the words by which a message says that it is about this entry: its title, "it …"."""
    for begin, stop in Focus(asked.section, index=0).mentions(canvas.text):
        if canvas.trimmed(0, begin) is None:
            canvas.take(begin, stop)
    title = asked.known.get(section_facts()[asked.section].order[0])
    begin = canvas.text.casefold().find(title.casefold()) if isinstance(title, str) else -1
    if begin >= 0 and isinstance(title, str):
        canvas.take(begin, begin + len(title))


def _names_known(whole: Canvas, asked: Asked, fields: Fields) -> bool:
    """Tell whether a message names a field that is known; another title begins another entry."""
    named = {found.field for found in find_labelled(whole, asked.section, changing=True)}
    title = section_facts()[asked.section].order[0]
    same_entry = title not in fields.data or fields.data.keys() == {title}
    return bool(named & asked.known.keys()) and same_entry


def _only_words(whole: Canvas, wanted: tuple[str, ...], fields: Fields) -> str | None:
    """Return the field that all of a message must be for, though something else was read in it.

    So it is when one field for words was asked and the message is one phrase without any marks.
    """
    names = [name for name in wanted if name in section_facts()[fields.section].order]
    if len(wanted) != 1 or len(names) != 1 or names[0] in fields.data or whole.message.tokens:
        return None
    marked = find_labels(whole, fields.section, changing=True) or len(whole.segments()) != 1
    return None if marked else names[0]


def _trimmed(canvas: Canvas) -> tuple[int, int]:
    (segment,) = canvas.segments()
    return canvas.trimmed(*segment) or segment


def _answer(fields: Fields, *, corrects: bool) -> Recognition:
    return Recognition(
        intent=Intent.ADD,
        section=fields.section,
        data=fields.data,
        others=tuple(fields.others),
        missing_fields=missing_fields(fields.section, fields.data),
        problems=tuple(fields.problems),
        unmarked=tuple(fields.unmarked),
        confidence=CLEAR,
        answers=True,
        corrects=corrects,
    )


def _states_something_else(message: Message, asked: Asked) -> bool:
    statement = find_statement(message.text)
    if statement and statement != asked.section and not _names_entry(message, asked):
        return True
    if _has_foreign_token(message, asked.section):
        return True
    canvas = Canvas(message)
    own, basics = (list(find_labelled(canvas, section)) for section in (asked.section, "basics"))
    return bool(basics) and not own


def _names_entry(message: Message, asked: Asked) -> bool:
    """Tell whether "it is called X" gives the asked title; "I am called X" is about the person."""
    said = Fields("basics")
    take_frames(said, Canvas(message))
    mine = vocabulary().grammar.own.search(message.text)
    title = section_facts()[asked.section].order[0]
    return [*said.data] == ["name"] and title in asked.fields and not mine


def _has_foreign_token(message: Message, section: Section) -> bool:
    """Tell whether a message gives an address or a number that only the basics have."""
    kinds = (token.kind for token in message.tokens)
    return any(kind in ("email", "phone") and not field_kind(section, kind) for kind in kinds)
