"""Understanding a message as the answer to what was asked for."""

from .additions import missing_fields
from .canvas import Canvas
from .commands import CommandHit
from .fields import extract
from .labelled import find_labelled, find_labels
from .message import Message
from .outline import Outline
from .pointing import take_ordinals
from .recognition import Asked, Intent, Recognition
from .sections import find_nouns, find_statement, mask_mentions
from .vocabulary import vocabulary

_CLEAR = 0.85


def answers(message: Message, command: CommandHit | None, asked: Asked, outline: Outline) -> bool:
    """Tell whether a message can be an answer; an explicit wish of another kind cannot."""
    if command is None:
        return not _states_something_else(message, asked)
    if command.intent not in (Intent.ADD, Intent.UPDATE):
        return False
    canvas = Canvas(message)
    own = find_labels(canvas, asked.section, changing=True)
    nouns = [
        noun
        for noun in find_nouns(canvas)
        if all(label.stop <= noun.begin or noun.stop <= label.begin for label in own)
    ]
    if nouns or (find_labels(canvas, "basics") and not own):
        return False
    if command.intent is Intent.ADD:
        return True
    pointed = canvas if command.heads else canvas.until(command.begin)
    return mask_mentions(pointed, outline).text == pointed.text and not take_ordinals(pointed)


def understand_answer(
    message: Message, command: CommandHit | None, asked: Asked
) -> Recognition | None:
    """Understand a message as an answer; `None` if it says nothing that was asked."""
    canvas = Canvas(message)
    if command and command.heads:
        canvas.take(command.begin, command.stop)
    correction = vocabulary().connectors.correction.match(canvas.text)
    if correction:
        canvas.take(*correction.span())
    becomes = vocabulary().connectors.becomes.search(canvas.text)
    if becomes and not find_labels(canvas.until(becomes.start()), asked.section):
        canvas.take(*becomes.span())
    corrects = bool(correction or becomes or (command and command.intent is Intent.UPDATE))
    wanted = () if corrects else asked.fields
    fields = extract(canvas, asked.section, wanted=wanted, changing=True)
    if not fields.data and not fields.problems:
        return None
    return Recognition(
        intent=Intent.ADD,
        section=asked.section,
        data=fields.data,
        others=tuple(fields.others),
        missing_fields=missing_fields(asked.section, fields.data),
        problems=tuple(fields.problems),
        confidence=_CLEAR,
        answers=True,
        corrects=corrects,
    )


def _states_something_else(message: Message, asked: Asked) -> bool:
    statement = find_statement(message.text)
    if statement and statement != asked.section:
        return True
    canvas = Canvas(message)
    own, basics = (list(find_labelled(canvas, section)) for section in (asked.section, "basics"))
    return bool(basics) and not own
