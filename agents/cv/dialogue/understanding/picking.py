"""Understanding which of some numbered choices a message picks."""

from collections.abc import Collection
from datetime import date

from mcp_tools.resume import Section

from .canvas import Canvas
from .changes import find_connector
from .commands import find_command
from .listed import split_list
from .message import prepare
from .pointing import ordinal_only, other_names, take_ordinals
from .recognition import Intent, Target
from .sections import find_nouns
from .signals import find_signal
from .vocabulary import vocabulary

_LONGEST = 40


def understand_pick(
    text: str, *, intent: Intent, sections: Collection[Section], today: date
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
    command = find_command(message)
    if find_signal(message):
        return None
    if len(text) > _LONGEST or (command and command.intent is not intent):
        return None
    canvas = Canvas(message)
    if correction := vocabulary().connectors.correction.match(canvas.text):
        canvas.take(*correction.span())
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
    names = other_names(canvas)
    picked = Target(ordinals=target.ordinals, every=target.every, names=names)
    return picked or None
