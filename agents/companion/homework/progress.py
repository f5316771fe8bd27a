"""How a child gets on, and the step `learning-progress` that tells it."""

from datetime import date, timedelta
from itertools import groupby
from typing import Annotated

from pydantic import BaseModel, Field

from mcp_tools.homework import DayResult, Trend, trend
from oda.message.json_integer import JSON_INTEGER
from oda.orchestration import StepContext, step

from ..learning.records import Label
from ..learning.store import learning

DAYS = 7


class ProgressRequest(BaseModel):
    """The subject and the number of days back, including today."""

    subject: Label | None = None
    days: Annotated[int, Field(ge=1, le=366, strict=True), JSON_INTEGER] | None = None


class SubjectProgress(BaseModel):
    """Progress in a subject: attempts, right answers, and the trend."""

    subject: str
    attempts: int
    correct: int
    trend: Trend


class Progress(BaseModel):
    """All subjects in which there was something."""

    subjects: list[SubjectProgress]


async def progress_of(request: ProgressRequest, context: StepContext) -> Progress:
    """Sum up the last days of the store."""
    since = context.today - timedelta(days=(request.days or DAYS) - 1)
    return await progress_between(context.user_id, since, context.today, request.subject)


async def progress_between(
    user_id: str, since: date, until: date, subject: str | None = None
) -> Progress:
    """Sum up what the store holds of some days."""
    found = await learning.results(user_id, since=since, until=until, subject=subject)
    subjects = []
    for name, results in groupby(found, key=lambda result: result.subject):
        days = [
            DayResult(day=each.day, attempts=each.attempts, correct=each.correct)
            for each in results
        ]
        subjects.append(
            SubjectProgress(
                subject=name,
                attempts=sum(day.attempts for day in days),
                correct=sum(day.correct for day in days),
                trend=trend(days),
            )
        )
    return Progress(subjects=subjects)


@step("learning-progress", timeout_s=10.0)
async def learning_progress(request: ProgressRequest, context: StepContext) -> Progress:
    """Tell how the child gets on, by subject and over days.

    There is no fallback: no progress would be a lie when the store cannot be read.
    """
    return await progress_of(request, context)
