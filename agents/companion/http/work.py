"""`/api/companion/…`: what a child has done, how it went, and what went wrong."""

from datetime import date, timedelta
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel

from oda.server import problem_responses

from ..homework.progress import DAYS, SubjectProgress, progress_between
from ..learning.book import Wanted, book
from ..learning.records import Day, DayResult, Kind, Mistake, Recited, Work
from ..learning.store import learning
from .child import AskedChild

router = APIRouter()

Since = Annotated[Day | None, Query(description="The first day; by default there is no limit")]
Until = Annotated[Day | None, Query(description="The last day; by default there is no limit")]
Subject = Annotated[
    str | None,
    Query(
        max_length=200,
        pattern=r"^[^\x00]*$",
        description="`math`, `chinese`, `recitation`, …",
    ),
]
Limit = Annotated[int, Query(ge=1, le=200)]
Cursor = Annotated[str | None, Query(max_length=400, description="`next_cursor` of a page")]
LastDays = Annotated[int, Query(ge=1, le=366, description="Today is one of them")]


class WorkPage(BaseModel):
    """Answers and recitations, the latest first."""

    history: list[Work]
    next_cursor: str | None


class MistakePage(BaseModel):
    """Questions that were answered wrongly and texts that did not pass, the latest first."""

    mistakes: list[Mistake]
    next_cursor: str | None


class RecitedTexts(BaseModel):
    """Texts, the latest first."""

    recitations: list[Recited]


class ProgressReport(BaseModel):
    """How it goes, by subject and by day."""

    since: date
    until: date
    subjects: list[SubjectProgress]
    days: list[DayResult]


def _wanted(
    child: AskedChild,
    since: Since = None,
    until: Until = None,
    subject: Subject = None,
    kind: Kind | None = None,
) -> Wanted:
    days = {"since": since, "until": until}
    return Wanted(
        child.user_id,
        **{name: day for name, day in days.items() if day is not None},
        subject=subject,
        kind=kind,
    )


Asked = Annotated[Wanted, Depends(_wanted)]


@router.get("/history", responses=problem_responses(403))
async def get_history(asked: Asked, limit: Limit = 50, cursor: Cursor = None) -> WorkPage:
    """All answers and recitations on record, the latest first."""
    page = await book.history(asked, limit=limit, cursor=cursor)
    return WorkPage(history=[*page.entries], next_cursor=page.next_cursor)


@router.get("/mistakes", responses=problem_responses(403))
async def get_mistakes(asked: Asked, limit: Limit = 50, cursor: Cursor = None) -> MistakePage:
    """The mistakes book: each question and text once, with its latest mistake."""
    page = await book.mistakes(asked, limit=limit, cursor=cursor)
    return MistakePage(mistakes=[*page.entries], next_cursor=page.next_cursor)


@router.get("/recitations", responses=problem_responses(403))
async def get_recitations(asked: Asked, limit: Limit = 50) -> RecitedTexts:
    """The texts that have been recited, with their best score."""
    return RecitedTexts(recitations=await book.recited(asked, limit=limit))


@router.get("/progress", responses=problem_responses(403))
async def get_progress(
    child: AskedChild, days: LastDays = DAYS, subject: Subject = None
) -> ProgressReport:
    """How many answers of the last days were right, by subject and by day, and the trend."""
    since = child.today - timedelta(days=days - 1)
    progress = await progress_between(child.user_id, since, child.today, subject)
    found = await learning.results(child.user_id, since=since, until=child.today, subject=subject)
    return ProgressReport(since=since, until=child.today, subjects=progress.subjects, days=found)
