"""Understanding "Spanish, not French": a value in place of one that is there."""

from collections.abc import Iterator

from .canvas import Canvas
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
        if match := form.search(canvas.text):
            old, new = _value(canvas, *match.span("old")), _value(canvas, *match.span("new"))
            if old and new and not vocabulary().grammar.copula.search(new):
                yield old, new


def _value(canvas: Canvas, begin: int, stop: int) -> str:
    """Return the words of a value without those that lead it in, "" when there are none."""
    lead = vocabulary().lead_ins.match(canvas.text, begin, stop)
    trimmed = canvas.trimmed(lead.end() if lead else begin, stop)
    return canvas.value(*trimmed) if trimmed else ""
