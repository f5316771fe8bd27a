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
