"""The progress of a child with a text: consecutive messages with lines form one attempt.

A message continues the attempt if it adds to it most of what it would score on its own; otherwise
it starts a new one. An attempt is judged when it has reached the last line; one that starts over
also when it stops where the previous one stopped. So children are not judged in the middle of a
text, and those who are stuck get help. Pure.
"""

from dataclasses import dataclass, replace

from mcp_tools.recitation import Evaluation, compare, normalize
from mcp_tools.recitation.language import detect
from mcp_tools.recitation.units import Line, lines_of

_MOST = 0.6


@dataclass(frozen=True)
class Attempt:
    """The recited part of a text."""

    said: str
    evaluation: Evaluation
    stopped_at: int | None
    """Index of the first unit that has not been said; None when it has come to the last line."""
    is_stuck: bool = False
    """Whether the attempt stops where the previous one, which it replaces, has stopped."""

    @property
    def waits(self) -> bool:
        """Whether more lines are expected."""
        return self.stopped_at is not None and not self.is_stuck


def heard(text: str, message: str, *, said: str = "", stopped_at: int | None = None) -> Attempt:
    """Take up what has been said now.

    Args:
        text: What is recited.
        message: What has been said now.
        said: The attempt so far; nothing when the one before has been judged.
        stopped_at: Where that attempt has stopped.

    Raises:
        RecitationError: the text cannot be compared.
    """
    anew = _attempt(text, message)
    if anew.stopped_at is not None and anew.stopped_at == stopped_at:
        anew = replace(anew, is_stuck=True)
    if not said:
        return anew
    rest = _without_repeated_line(text, message, said, stopped_at)
    joined = _attempt(text, f"{said}\n{rest}")
    added = joined.evaluation.score - compare(text, said).score
    goes_on = rest != message or added >= _MOST * anew.evaluation.score
    return joined if goes_on else anew


def next_line(text: str, stopped_at: int) -> Line | None:
    """The line that comes after what has been said; None at the end."""
    return next((line for line in lines(text) if line.end > stopped_at), None)


def lines(text: str) -> list[Line]:
    """The lines of a text."""
    return lines_of(text, detect(text))


def _attempt(text: str, said: str) -> Attempt:
    evaluation = compare(text, said)
    all_lines = lines(text)
    come_to = _said_up_to(evaluation, all_lines[-1].end)
    is_short = come_to <= all_lines[-1].start
    return Attempt(said=said, evaluation=evaluation, stopped_at=come_to if is_short else None)


def _without_repeated_line(text: str, message: str, said: str, stopped_at: int | None) -> str:
    """Return the new part of a message that repeats the previous line for a run-up."""
    behind = next_line(text, stopped_at or 0)
    before = next((line for line in lines(text) if line.end == stopped_at), None)
    if before is None or behind is None or before.text == behind.text:
        return message
    repeated, now = normalize(before.text), normalize(message)
    if normalize(said) == repeated or not now.startswith(repeated):
        return message
    return now.removeprefix(repeated)


def _said_up_to(evaluation: Evaluation, length: int) -> int:
    """Return the position from which the text is missing at the end."""
    last = evaluation.errors[-1] if evaluation.errors else None
    if last is None or last.type != "missing" or last.position + round(last.cost) < length:
        return length
    return last.position
