"""Understanding a correction of what was done last: "不对，是2020年", "no, make it SRE"."""

from dataclasses import replace

from mcp_tools.resume import title_field

from .assignments import Connector, assign, take_grade
from .canvas import Canvas
from .changes import find_connector
from .commands import CommandHit, find_command
from .confidence import CLEAR, LIKELY
from .extraction import extract
from .fields import Fields, look_of, put_words, take_frames, take_tokens
from .focus import Focus
from .labelled import find_labelled
from .message import Message
from .outline import Outline
from .pointing import take_ordinals
from .recognition import Intent, Recognition
from .sections import find_nouns, find_statement
from .signals import find_signal, steps_back
from .vocabulary import vocabulary


def understand_amendment(
    message: Message, command: CommandHit | None, outline: Outline
) -> Recognition | None:
    """Understand a new value for the place in focus; `None` if the message is something else.

    A date that may be the start as well as the end is one of the "period".
    """
    focus = outline.focus
    if focus is None or (focus.index is None and focus.field is None):
        return None
    if vocabulary().grammar.renames.search(message.text):
        return None
    if command and command.intent is not Intent.UPDATE:
        return None
    canvas = Canvas(message)
    connector = _opening(canvas, command, focus)
    if connector is None or _points_elsewhere(canvas, outline):
        return None
    fields = _amended(canvas, connector, focus)
    amended = _change(fields, CLEAR)
    unsure = ("period",) if _either_date(message, fields) else ()
    return replace(amended, fields=unsure, corrects=True) if amended else None


def understand_value(message: Message, outline: Outline) -> Recognition | None:
    """Understand a message as nothing but the new value for the field in focus."""
    focus = outline.focus
    if focus is None or focus.field is None or _is_something_else(message):
        return None
    canvas = Canvas(message)
    fields = Fields(focus.section, wanted=(focus.field,))
    whole = (0, len(canvas.text))
    place = whole if focus.field == fields.facts.prose else canvas.trimmed(*whole)
    if place:
        put_words(fields, canvas, focus.field, *place)
    kinds = {token.kind for token in message.tokens}
    misfit = focus.field in ("email", "phone", "url") and focus.field not in kinds
    changed = None if misfit or fields.problems else _change(fields, CLEAR)
    return replace(changed, unmarked=tuple(changed.data)) if changed else None


def understand_more(message: Message, outline: Outline) -> Recognition | None:
    """Understand "2017年的" or "since 2020": nothing but more about the entry in focus."""
    focus = outline.focus
    if focus is None or focus.index is None:
        return None
    canvas = Canvas(message)
    for span in focus.mentions(canvas.text):
        canvas.take(*span)
    title = title_field(focus.section) or "name"
    fields = Fields(focus.section, data={title: ""})
    for found in list(find_labelled(canvas, focus.section, changing=True)):
        put_words(fields, canvas, found.field, found.value, found.stop)
        canvas.take(found.begin, found.stop)
    take_tokens(fields, canvas)
    take_frames(fields, canvas)
    take_grade(fields, canvas)
    filler = vocabulary().references.filler
    for begin, stop in canvas.segments():
        trimmed = canvas.trimmed(begin, stop, filler) or (begin, begin)
        name = look_of(fields, canvas.text[slice(*trimmed)])
        if trimmed != (begin, begin) and not (name and fields.put(name, canvas.value(*trimmed))):
            return None
    del fields.data[title]
    return _change(fields, LIKELY)


def names_another(message: Message, outline: Outline) -> bool:
    """Tell whether an entry is named that is not in focus, and not as the value of a field."""
    section = outline.focus.section if outline.focus else "basics"
    found = list(find_labelled(Canvas(message), section, changing=True))
    return any(
        not any(value.value <= mention.begin < value.stop for value in found)
        for mention in outline.without_focus().mentions(message.text)
    )


def _opening(canvas: Canvas, command: CommandHit | None, focus: Focus) -> Connector | None:
    """Take what opens a correction: "no," or "change it to", with nothing before it."""
    if correction := vocabulary().connectors.correction.match(canvas.text):
        canvas.take(*correction.span())
        if not (command and command.heads and command.begin >= correction.end()):
            return Connector(*correction.span())
    start = CommandHit(Intent.UPDATE, 0, 0, heads=False)
    if command and command.heads:
        canvas.take(command.begin, command.stop)
    for span in focus.mentions(canvas.text):
        canvas.take(*span)
    connector = find_connector(canvas, command or start)
    filler = vocabulary().references.filler
    return connector if connector and not canvas.trimmed(0, connector.begin, filler) else None


def _points_elsewhere(canvas: Canvas, outline: Outline) -> bool:
    named = (
        mention for mention in outline.mentions(canvas.text) if mention.place != outline.focused
    )
    return bool(find_nouns(canvas)) or any(named)


def _amended(canvas: Canvas, connector: Connector, focus: Focus) -> Fields:
    fields = Fields(focus.section, wanted=(focus.field,) if focus.field else ())
    words = assign(fields, canvas, [], connector)
    if not words or fields.data or _only_points(canvas.message, connector.stop):
        return fields
    if focus.field and focus.field not in ("startDate", "endDate"):
        fields.put(focus.field, words)
        return fields
    canvas = Canvas(canvas.message)
    canvas.take(0, connector.stop)
    return extract(canvas, focus.section, changing=True)


def _only_points(message: Message, begin: int) -> bool:
    """Tell whether "第三个" and the like are all that is said; that is no value."""
    canvas = Canvas(message)
    canvas.take(0, begin)
    pointed = take_ordinals(canvas)
    filler = vocabulary().references.filler
    return bool(pointed) and canvas.trimmed(begin, len(canvas.text), filler) is None


def _change(fields: Fields, confidence: float) -> Recognition | None:
    """Return a change of what is in focus; `None` if nothing was found."""
    if not fields.data and not fields.problems:
        return None
    return Recognition(
        intent=Intent.UPDATE,
        section=fields.section,
        data=fields.data,
        problems=tuple(fields.problems),
        confidence=confidence,
    )


def _is_something_else(message: Message) -> bool:
    """Tell whether a message commands or states something of its own."""
    told = find_signal(message) or steps_back(message, None) or find_command(message)
    return bool(told or find_statement(message.text))


def _either_date(message: Message, fields: Fields) -> bool:
    """Tell whether the only new value is a date that could as well be the end."""
    if fields.wanted or [*fields.data] != ["startDate"]:
        return False
    whens = [token.when for token in message.tokens if token.when]
    return all(when.role is None and not when.is_span for when in whens)
