"""The steps of practice: which mistakes are due, and what was answered now."""

from datetime import date
from typing import Annotated

from pydantic import BaseModel, Field, StrictBool

from oda.message.json_integer import JSON_INTEGER
from oda.orchestration import StepContext, step

from ..homework.judging import HomeworkText
from ..homework.memory import LAST_LEVEL
from ..learning.book import book
from ..learning.intervals import Outcome
from ..learning.practice import practice
from ..learning.records import Answer, Mistake, ShortText

MOST_AT_ONCE = 5


class DueRequest(BaseModel):
    """How many questions at most."""

    limit: Annotated[int, Field(ge=1, le=50, strict=True), JSON_INTEGER] = MOST_AT_ONCE


class Due(BaseModel):
    """The questions that went wrong and are to be practised today, the longest due first."""

    mistakes: list[Mistake]
    next_due: date | None = None
    """When there is something again; None where nothing has gone wrong."""


@step("due-mistakes", timeout_s=10.0)
async def due_mistakes(request: DueRequest, context: StepContext) -> Due:
    """Tell which mistakes come back today.

    There is no fallback: "nothing" would be a lie when the store cannot be read.
    """
    found = await book.due(context.user_id, context.today, limit=request.limit)
    next_due = context.today if found else await book.next_due(context.user_id)
    return Due(mistakes=found, next_due=next_due)


class PracticeRequest(BaseModel):
    """The first answer to a question that is practised."""

    question: Annotated[HomeworkText, Field(min_length=1)]
    answer: HomeworkText
    correct: StrictBool
    hint_level: Annotated[int, Field(ge=0, le=LAST_LEVEL, strict=True), JSON_INTEGER] = 0
    """Level of the latest hint before it; the last one shows the answer."""
    subject: ShortText = "math"
    topic: Annotated[str, Field(max_length=64)] = ""


class Practised(BaseModel):
    """The day on which the question comes back, and how many days that is from today."""

    due_on: date
    days: int


@step("save-practice", timeout_s=15.0)
async def save_practice(request: PracticeRequest, context: StepContext) -> Practised:
    """Put an answer on record and tell when its question comes back, once for each call."""
    outcome: Outcome = "wrong"
    if request.correct and request.hint_level < LAST_LEVEL:
        outcome = "with_help" if request.hint_level else "right"
    answer = Answer(
        question=request.question,
        answer=request.answer,
        correct=request.correct,
        subject=request.subject[:64],
        topic=request.topic,
    )
    due_on = await practice.save(
        context.call_id, context.user_id, context.session_id, answer, outcome, context.now
    )
    return Practised(due_on=due_on, days=(due_on - context.today).days)
