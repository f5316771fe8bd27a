"""Understanding "Spanish, not French": a value in place of one that is there."""

from collections.abc import Iterator

from .canvas import Canvas
from .commands import find_command
from .confidence import CLEAR
from .message import Message
from .outline import Outline
from .recognition import Intent, Recognition, Target
from .vocabulary import vocabulary


def understand_correction(message: Message, outline: Outline) -> Recognition | None:
    """Understand a message that says what is right and what is not, if the latter is there."""
    for old, new in replacements(Canvas(message)):
        if places := outline.find(old):
            return Recognition(
                intent=Intent.UPDATE,
                section=places[0].section,
                value=new,
                target=Target(names=(old,)),
                confidence=CLEAR,
            )
    return None


def replacements(canvas: Canvas) -> Iterator[tuple[str, str]]:
    """Yield what a message may say is not so, and what is so instead."""
    for form in vocabulary().grammar.corrections:
        match = form.search(canvas.text)
        if match and not _commands(canvas, *match.span("new")):
            old, new = _value(canvas, *match.span("old")), _value(canvas, *match.span("new"))
            labelled = ":" in new or vocabulary().grammar.copula.search(new)
            if old and new and not labelled:
                yield old, new


def _commands(canvas: Canvas, begin: int, stop: int) -> bool:
    """Tell whether words are a command, whose value may read like a correction."""
    command = find_command(canvas.message)
    return command is not None and command.heads and begin <= command.begin < stop


def _value(canvas: Canvas, begin: int, stop: int) -> str:
    """Return the words of a value without those that lead it in, "" when there are none."""
    lead = vocabulary().lead_ins.match(canvas.text, begin, stop)
    trimmed = canvas.trimmed(lead.end() if lead else begin, stop)
    return canvas.value(*trimmed) if trimmed else ""
