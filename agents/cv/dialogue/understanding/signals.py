"""Messages that are not about the content of the resume: "算了", "thanks!", "undo the last two"."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from .counting import number_of
from .focus import Focus
from .message import Message
from .recognition import ALL_STEPS, Intent, Signal
from .vocabulary import vocabulary

_ORDER: tuple[Signal, ...] = (
    *("cancel", "swap", "later", "go_on", "none", "unsure", "help", "greeting", "thanks"),
)
"""Which one counts when a message says several: "不用了，谢谢" cancels."""
_EDGES = " \t\n,.;:!?。、，！？；：~…"
_CLAUSES = re.compile(r"[,.;!?。，！？；~…\n]+")


def find_signal(message: Message) -> Signal | None:
    """Return what a message says that is a signal as a whole or clause by clause."""
    for text in _readings(message):
        if signal := _signal(text):
            return signal
        found = {_signal(clause) for clause in _clauses(text) if not _is_oops(clause)}
        if found and None not in found:
            return next(signal for signal in _ORDER if signal in found)
    return None


def cancelled(text: str) -> str:
    """Return what follows when a text begins by giving up something: "算了，看看技能"."""
    match = _CLAUSES.search(text)
    first = text[: match.start()] if match else ""
    given_up = vocabulary().signals.cancel.fullmatch(first.strip(_EDGES))
    return text[match.end() :].strip() if match and given_up else ""


def steps_back(message: Message, focus: Focus | None) -> int | None:
    """Return how many edits a message takes back; `None` if it takes back none.

    "Once more" does when the last edit has just been taken back.
    """
    undo = vocabulary().commands[Intent.UNDO]
    forms = [undo.whole, undo.again] if focus and focus.undone else [undo.whole]
    for text in _readings(message):
        clauses = [clause for clause in _clauses(text) if not _says_nothing(clause)]
        if any(_all_match(form, (text,)) or _all_match(form, clauses) for form in forms):
            return _steps(text)
    return None


def without_opening(message: Message) -> Message:
    """Return a message with "oops," and the like blanked where it begins."""
    match = vocabulary().signals.oops.match(message.text)
    if match is None or not _CLAUSES.match(message.text, match.end()):
        return message
    return replace(message, text=" " * match.end() + message.text[match.end() :])


def _steps(text: str) -> int:
    undo = vocabulary().commands[Intent.UNDO]
    if undo.every.search(text):
        return ALL_STEPS
    match = undo.steps.search(text)
    number = next(filter(None, match.groups()), "") if match else ""
    return max(1, number_of(number))


def _readings(message: Message) -> Iterator[str]:
    """Yield the text without polite words, and with them, because they may be all of it."""
    yield message.text.strip(_EDGES)
    yield message.raw.strip(_EDGES)
    if oops := vocabulary().signals.oops.match(message.text):
        yield message.text[oops.end() :].strip(_EDGES)


def _clauses(text: str) -> list[str]:
    return [clause.strip(_EDGES) for clause in _CLAUSES.split(text) if clause.strip(_EDGES)]


def _all_match(form: re.Pattern[str], texts: Sequence[str]) -> bool:
    return bool(texts) and all(form.fullmatch(text) for text in texts)


def _says_nothing(clause: str) -> bool:
    return _signal(clause) is not None or _is_oops(clause)


def _is_oops(clause: str) -> bool:
    return vocabulary().signals.oops.fullmatch(clause) is not None


def _signal(text: str) -> Signal | None:
    signals = vocabulary().signals
    return next((name for name in _ORDER if getattr(signals, name).fullmatch(text)), None)
