"""Input and output of checking homework, in the shapes of the `companion` steps."""

from datetime import date
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

CheckedBy = Literal["code", "none"]
Level = Literal[1, 2, 3]
Trend = Literal["up", "down", "steady", "new"]


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True)


class Item(_Value):
    """One question and what the child has answered."""

    question: str
    answer: str | None = None
    """`None` when the child has not answered."""

    @field_validator("answer")
    @classmethod
    def _none_when_blank(cls, answer: str | None) -> str | None:
        return answer.strip() or None if answer else None


class Verdict(_Value):
    """The verdict on one item."""

    question: str
    answer: str | None
    correct: bool | None
    """`None` when the item is unanswered or code cannot know."""
    expected: str | None
    """The right answer, if it is unique and the child has found it."""
    checked_by: CheckedBy
    comment: str
    """For the child, in the language of the item. It never says what would have been right."""
    topic: str
    """The skill that the item practises, see `topic_of`."""


class Hint(_Value):
    """Help with one item."""

    hint: str
    reveals_answer: bool


class Summary(_Value):
    """An evaluation of verdicts, in words for the child."""

    summary: str
    strengths: list[str]
    """Names of the topics that went well, the best first."""
    to_practise: list[str]
    """Names of the topics with mistakes, the weakest first."""


class DayResult(_Value):
    """How one day went."""

    day: date
    attempts: int = Field(ge=0)
    correct: int = Field(ge=0)
