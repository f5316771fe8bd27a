"""The recogniser: what a message means, by rules. It decides nothing and touches nothing."""

from dataclasses import replace
from datetime import date

from mcp_tools.resume import Section

from .additions import understand_addition, understand_listing, understand_statement
from .answers import answers, understand_answer
from .canvas import Canvas
from .changes import understand_change
from .commands import CommandHit, find_command, find_signal
from .labelled import find_labelled
from .lookups import understand_lookup
from .message import Message, prepare
from .outline import Outline
from .recognition import Asked, Intent, Recognition
from .vocabulary import vocabulary

_CERTAIN, _BARE_NOUN, _NOTHING = 0.95, 0.7, 0.2


class IntentRecognizer:
    """Recognises intents and extracts what a message says, in Chinese, English or both."""

    def recognise(
        self,
        text: str,
        *,
        today: date,
        outline: Outline | None = None,
        asked: Asked | None = None,
        section: Section | None = None,
    ) -> Recognition:
        """Return what a message means.

        `outline` tells the names of the entries that there are, `asked` what the person was asked
        for last, `section` where something is to be added, `today` what "last year" is.
        """
        message = prepare(text, today=today)
        found = self._understood(message, outline or Outline(), asked, section)
        return replace(
            found,
            language=message.language,
            creative=vocabulary().creative.search(text) is not None,
        )

    def _understood(
        self, message: Message, outline: Outline, asked: Asked | None, section: Section | None
    ) -> Recognition:
        if signal := find_signal(message):
            return Recognition(signal=signal, confidence=_CERTAIN)
        command = find_command(message)
        if asked and answers(message, command, asked, outline):
            answer = understand_answer(message, command, asked)
            if answer:
                return answer
        if command is None:
            return _without_command(message, outline)
        match command.intent:
            case Intent.UNDO:
                return Recognition(intent=Intent.UNDO, confidence=_CERTAIN)
            case Intent.ADD:
                return understand_addition(message, command, outline, section)
            case Intent.UPDATE:
                return understand_change(message, command, outline)
            case _:
                return understand_lookup(message, command, outline)


def _without_command(message: Message, outline: Outline) -> Recognition:
    """Understand a statement of fact, a field with its value, or the bare name of a section."""
    start = CommandHit(Intent.UPDATE, 0, 0, heads=False)
    changed = understand_change(message, start, outline)
    if changed.section == "basics" and changed.data and _opens_with_field(message):
        return changed
    if stated := understand_statement(message):
        return stated
    if (changed.data and (changed.target or changed.section == "basics")) or changed.problems:
        return changed
    if listed := understand_listing(message):
        return listed
    if changed.data:
        return changed
    looked = understand_lookup(message, replace(start, intent=Intent.READ), outline)
    if looked.section and not looked.target.names:
        return replace(looked, confidence=_BARE_NOUN)
    return Recognition(section=looked.section, confidence=_NOTHING)


def _opens_with_field(message: Message) -> bool:
    """Tell whether a message begins like "电话：…" or "my email is …"."""
    canvas = Canvas(message)
    first = next(find_labelled(canvas, "basics"), None)
    filler = vocabulary().references.filler
    return first is not None and canvas.trimmed(0, first.begin, filler) is None
