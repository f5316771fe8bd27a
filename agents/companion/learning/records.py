"""Records of a child's learning, as exchanged by steps and routes."""

import re
from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, StrictBool
from pydantic_core import PydanticCustomError

from oda.message.json_integer import JSON_INTEGER

MOST_SCHEDULED = 50
"""Maximum number of scheduled items per day."""
MOST_ERRORS = 2_000
"""Maximum number of mistakes of one recitation that are kept and advised on; a page has fewer
words.
"""

Kind = Literal["recite", "homework"]
Trend = Literal["up", "down", "steady", "new"]

ShortText = Annotated[str, Field(min_length=1, max_length=200)]
Label = Annotated[str, Field(max_length=200)]
"""Like `ShortText`, but may be empty: a subject or an author as named by a client."""
Id = Annotated[str, Field(max_length=128)]


def _written_out(value: object) -> object:
    """Reject numbers, which pydantic would read as seconds since 1970."""
    if isinstance(value, date) or (isinstance(value, str) and _DAY.fullmatch(value)):
        return value
    raise PydanticCustomError("day", "it must be a day as 2026-03-15")


_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
Day = Annotated[date, BeforeValidator(_written_out, json_schema_input_type=date)]
"""A date sent by a client, in ISO form."""


class ScheduleItem(BaseModel):
    """One thing to do on a day."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Kind = "recite"
    title: ShortText
    text: Annotated[str, Field(max_length=20_000)] | None = None
    """The text to recite; without it, the library is searched."""
    author: ShortText | None = None
    subject: ShortText | None = None


class Schedule(BaseModel):
    """The tasks of a day."""

    model_config = ConfigDict(frozen=True)

    day: date
    items: tuple[ScheduleItem, ...] = ()


class Recitation(BaseModel):
    """One round of reciting a text."""

    model_config = ConfigDict(frozen=True)

    title: ShortText
    score: Annotated[float, Field(ge=0, le=100, strict=True)]
    passed: StrictBool
    round: Annotated[int, Field(ge=1, le=10_000, strict=True), JSON_INTEGER]
    errors: Annotated[list[JsonValue], Field(max_length=MOST_ERRORS)] = []


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
    """None if there is no verdict."""
    subject: ShortText = "math"
    topic: Annotated[str, Field(max_length=64)] = ""


class DayResult(BaseModel):
    """How many answers a day had in a subject, and how many of them were right."""

    model_config = ConfigDict(frozen=True)

    subject: str
    day: date
    attempts: int
    correct: int


class DayTime(BaseModel):
    """The time that a child has spent with the companion on a day."""

    model_config = ConfigDict(frozen=True)

    day: date
    minutes: float


class Work(BaseModel):
    """Something that a child has done: an answer to an item of homework, or a round of reciting."""

    model_config = ConfigDict(frozen=True)

    id: str
    kind: Kind
    subject: str
    topic: str = ""
    title: str
    """The question, or the title of the text."""
    answer: str | None = None
    """The child's; None for a recitation."""
    correct: bool | None = None
    """Whether it was right, or passed; None if nobody could tell."""
    score: float | None = None
    """Of a recitation."""
    round: int | None = None
    session_id: str | None = None
    day: date
    """In the child's time zone."""
    saved_at: datetime


class Mistake(Work):
    """The latest wrong answer to a question, or the latest round of a text that did not pass."""

    times: int
    """How often it went wrong in the time that was asked about."""
    due_on: date | None = None
    """The day from which on it is practised; None for a text, which is recited again."""
    reviews: int = 0
    """How often it has been practised."""


class Recited(BaseModel):
    """A text that has been recited."""

    model_config = ConfigDict(frozen=True)

    title: str
    rounds: int
    best: float
    passed: bool
    last_day: date


Category = Literal[
    "self_harm",
    "abuse",
    "danger",
    "medical",
    "strangers",
    "bullying",
    "running_away",
    "personal_data",
    "unsuitable",
    "frustration",
]
Severity = Literal["critical", "high", "medium", "low", "none"]
SEVERITIES: tuple[Severity, ...] = ("critical", "high", "medium", "low", "none")
"""The gravest first."""


class Concern(BaseModel):
    """Why a message needs a grown-up; with the severity `none`, kind words are enough."""

    model_config = ConfigDict(frozen=True)

    category: Category
    severity: Severity


Channel = Literal["email", "webhook"]
NoticeStatus = Literal["waiting", "sent", "failed"]


class NoticeState(BaseModel):
    """Whether a parent has been told of a concern."""

    model_config = ConfigDict(frozen=True)

    parent: str
    channel: Channel
    status: NoticeStatus
    attempts: int
    problem: str
    """Of the latest attempt; empty where there was none."""


class SavedConcern(BaseModel):
    """A message that needed a grown-up, without its words.

    The category tells a parent enough to ask; the words may be about the very person who reads.
    """

    id: str
    category: str
    severity: str
    session_id: str | None
    saved_at: datetime
    notices: tuple[NoticeState, ...] = ()
    """Who was told at once."""
