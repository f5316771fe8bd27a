"""What is kept of a child's learning, as steps and routes exchange it."""

from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

Kind = Literal["recite", "homework"]
Trend = Literal["up", "down", "steady", "new"]

ShortText = Annotated[str, Field(min_length=1, max_length=200)]


class ScheduleItem(BaseModel):
    """One thing to do on a day."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Kind = "recite"
    title: ShortText
    text: Annotated[str, Field(max_length=20_000)] | None = None
    """What is to be recited; without it the library is looked into."""
    author: ShortText | None = None
    subject: ShortText | None = None


class Schedule(BaseModel):
    """What is to be done on a day."""

    model_config = ConfigDict(frozen=True)

    day: date
    items: tuple[ScheduleItem, ...] = ()


class Recitation(BaseModel):
    """One round of reciting a text."""

    model_config = ConfigDict(frozen=True)

    title: ShortText
    score: Annotated[float, Field(ge=0, le=100)]
    passed: bool
    round: Annotated[int, Field(ge=1)]
    errors: list[JsonValue] = []


class Saved(BaseModel):
    """Under what id something was saved, and when."""

    id: str
    saved_at: datetime


class Answer(BaseModel):
    """An answer to an item of homework."""

    model_config = ConfigDict(frozen=True)

    question: str
    answer: str = ""
    correct: bool | None = None
    """None where nobody could tell."""
    subject: ShortText = "math"
    topic: Annotated[str, Field(max_length=64)] = ""


class DayResult(BaseModel):
    """How many answers a day had in a subject, and how many of them were right."""

    model_config = ConfigDict(frozen=True)

    subject: str
    day: date
    attempts: int
    correct: int
