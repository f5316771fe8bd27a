"""Understanding which of some numbered choices a message picks."""

from collections.abc import Collection
from dataclasses import replace
from datetime import date

from mcp_tools.resume import Section

from .canvas import Canvas
from .changes import find_connector
from .commands import find_command
from .listed import split_list
from .message import Message, prepare
from .outline import Outline
from .pointing import ordinal_only, other_names, take_mentions, take_ordinals
from .recognition import Intent, Target
from .sections import find_nouns, find_statement
from .signals import find_signal
from .vocabulary import vocabulary

_LONGEST = 40


def understand_pick(
    text: str, *, intent: Intent, outline: Outline, sections: Collection[Section], today: date
) -> Target | None:
    """Return what a message picks: "2", "第二个", "the Google one", "all"; `None` if nothing.

    A message that repeats the command ("delete the second one") still picks; one that commands
    something else, says a new value, or names another section than that of the choices does not.
    Ordinals count the choices.
    """
    message = prepare(text, today=today)
    if vocabulary().signals.every.fullmatch(message.text.strip(" ,.。!?")):
        return Target(every=True)
    numbers = [ordinal_only(part) for part in split_list(message.text)]
    if numbers and None not in numbers:
        return Target(ordinals=tuple(number for number in numbers if number is not None))
    if find_signal(message):
        return None
    message = _without_correction(message)
    command = find_command(message)
    if len(text) > _LONGEST or (command and command.intent is not intent):
        return None
    canvas = Canvas(message)
    if command and intent is Intent.UPDATE and find_connector(canvas, command):
        return None
    if command:
        canvas.take(command.begin, command.stop)
    target = take_ordinals(canvas)
    nouns = find_nouns(canvas)
    if nouns and all(noun.section not in sections for noun in nouns):
        return None
    for noun in nouns:
        canvas.take(noun.begin, noun.stop)
    names = [name for section in sections for name in take_mentions(canvas, outline.only(section))]
    names += [name for name in other_names(canvas) if name not in names]
    picked = Target(ordinals=target.ordinals, every=target.every, names=tuple(names))
    return picked or None


def is_only_a_name(text: str) -> bool:
    """Tell whether a message could name an entry, and neither commands nor states something."""
    message = prepare(text, today=date.min)
    said = message.tokens or find_command(message) or find_statement(message.text)
    return not said and len(text) <= _LONGEST and not Canvas(message).segments()[1:]


def _without_correction(message: Message) -> Message:
    """Return a message with "no, it is" and the like blanked where it begins."""
    correction = vocabulary().connectors.correction.match(message.text)
    stop = correction.end() if correction else 0
    return replace(message, text=" " * stop + message.text[stop:])
