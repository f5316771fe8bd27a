"""The interface of all kinds of problems."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from mcp_tools.homework.language import Language


@dataclass(frozen=True)
class Judged:
    """The verdict on an answer."""

    correct: bool | None
    comment: str
    """Key of a comment in `wording.yaml`."""
    expected: str | None = None
    """The right answer in the form of the child's, if it differs from the problem's solution."""


class Problem(Protocol):
    """A question that code has understood. Each method may raise an `ExpressionError`."""

    @property
    def topic(self) -> str:
        """The skill it practises, a key of `topics` in `wording.yaml`."""
        ...

    def judge(self, answer: str, language: Language) -> Judged:
        """Judge an answer as the child has written it."""
        ...

    def solution(self, language: Language) -> str | None:
        """The right answer, `None` when there are many."""
        ...

    def spellings(self) -> Sequence[str]:
        """Other right ways to write the solution, so that no hint gives one away."""
        ...

    def pieces(self) -> Mapping[str, str]:
        """Return the values that hints may quote: the child's numbers and the next step."""
        ...

    def working(self, language: Language) -> Sequence[str]:
        """The way to the solution, one line for each step."""
        ...
