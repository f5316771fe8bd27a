"""Understanding which of some numbered choices a message picks."""

from datetime import date

from .canvas import Canvas
from .commands import find_command
from .message import prepare
from .pointing import ordinal_only, other_names, take_ordinals
from .recognition import Intent, Target
from .sections import find_nouns
from .vocabulary import vocabulary

_LONGEST = 40


def understand_pick(text: str, *, intent: Intent, today: date) -> Target | None:
    """Return what a message picks: "2", "第二个", "the Google one", "all"; `None` if nothing.

    A message that repeats the command ("delete the second one") still picks; one that commands
    something else does not. Ordinals count the choices.
    """
    message = prepare(text, today=today)
    if vocabulary().signals.every.fullmatch(message.text.strip(" ,.。!?")):
        return Target(every=True)
    index = ordinal_only(message.text)
    if index is not None:
        return Target(ordinals=(index,))
    command = find_command(message)
    if len(text) > _LONGEST or (command and command.intent is not intent):
        return None
    canvas = Canvas(message)
    if command:
        canvas.take(command.begin, command.stop)
    target = take_ordinals(canvas)
    for noun in find_nouns(canvas):
        canvas.take(noun.begin, noun.stop)
    names = other_names(canvas)
    picked = Target(ordinals=target.ordinals, every=target.every, names=names)
    return picked or None
