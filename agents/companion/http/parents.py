"""`/api/companion/…`: what parents see and set; without roles everybody does so for themselves."""

from datetime import date, timedelta
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from oda.server import Conversations, problem_responses

from ..homework.progress import DAYS, SubjectProgress, progress_between
from ..learning.book import Wanted, book
from ..learning.records import (
    MOST_SCHEDULED,
    Day,
    DayTime,
    Recited,
    SavedConcern,
    Schedule,
    ScheduleItem,
)
from ..learning.store import learning
from ..learning.time_spent import Limit, time_spent
from ..parents.families import families
from ..settings import DailyMinutes, companion_settings
from .child import AskedChild, Child, ChildOfParent
from .work import LastDays

router = APIRouter()

OfDay = Annotated[Day | None, Query(description="By default today, where the child lives")]

_REFUSED = problem_responses(403)
_MOST_RECITED = 100


class ScheduleBody(BaseModel):
    """The tasks of a day."""

    model_config = ConfigDict(extra="forbid")

    day: Day | None = None
    """By default today, in the child's time zone."""
    items: Annotated[list[ScheduleItem], Field(max_length=MOST_SCHEDULED)]


class Concerns(BaseModel):
    """Records for parents: categories and times, not the child's words."""

    concerns: tuple[SavedConcern, ...]


class LimitBody(BaseModel):
    """The limit of each day."""

    model_config = ConfigDict(extra="forbid")

    daily_minutes: DailyMinutes | None
    """None: no limit."""


class TimeLimit(LimitBody):
    """The limit that holds, and what has been used of it today."""

    used_minutes: float


class Children(BaseModel):
    """User ids of the children that the caller looks after."""

    children: list[str]


class Report(BaseModel):
    """How a child gets on."""

    child: str
    since: date
    until: date
    subjects: list[SubjectProgress]
    mistakes: int
    """Questions and texts that went wrong."""
    recitations: list[Recited]
    time: list[DayTime]
    limit: TimeLimit
    concerns: list[SavedConcern]


@router.get("/children")
async def get_children(conversations: Conversations) -> Children:
    """The children of the calling parent."""
    return Children(children=[*families().children_of(conversations.user_id)])


@router.get("/schedule", responses=_REFUSED)
async def get_schedule(child: AskedChild, day: OfDay = None) -> Schedule:
    """The tasks of a child on a day."""
    return await learning.schedule(child.user_id, day or child.today)


@router.put("/schedule", responses=_REFUSED)
async def replace_schedule(body: ScheduleBody, child: ChildOfParent) -> Schedule:
    """Replace what a child is to do on a day."""
    schedule = Schedule(day=body.day or child.today, items=tuple(body.items))
    await learning.put_schedule(child.user_id, schedule, child.now)
    return schedule


@router.get("/limit", responses=_REFUSED)
async def get_limit(child: AskedChild) -> TimeLimit:
    """The time that a child has on each day, and what it has used today."""
    return await _limit_of(child)


@router.put("/limit", responses=_REFUSED)
async def replace_limit(body: LimitBody, child: ChildOfParent) -> TimeLimit:
    """Set the time that a child has on each day."""
    await time_spent.put_limit(child.user_id, Limit(body.daily_minutes), child.now)
    return await _limit_of(child)


@router.get("/concerns", responses=_REFUSED)
async def get_concerns(child: ChildOfParent, days: LastDays = 30) -> Concerns:
    """What a child has said that needs a grown-up, the latest first."""
    found = await learning.concerns_of(child.user_id, today=child.today, days=days)
    return Concerns(concerns=tuple(found))


@router.get("/report", responses=_REFUSED)
async def get_report(child: ChildOfParent, days: LastDays = DAYS) -> Report:
    """How a child gets on: results, mistakes, recitations, time and concerns of some days."""
    since = child.today - timedelta(days=days - 1)
    wanted = Wanted(child.user_id, since, child.today)
    progress = await progress_between(child.user_id, since, child.today)
    return Report(
        child=child.user_id,
        since=since,
        until=child.today,
        subjects=progress.subjects,
        mistakes=await book.mistakes_count(wanted),
        recitations=await book.recited(wanted, limit=_MOST_RECITED),
        time=[*await time_spent.days(child.user_id, since, child.today)],
        limit=await _limit_of(child),
        concerns=await learning.concerns_of(child.user_id, today=child.today, days=days),
    )


async def _limit_of(child: Child) -> TimeLimit:
    limit = await time_spent.limit(child.user_id)
    minutes = companion_settings().daily_minutes if limit is None else limit.daily_minutes
    today = await time_spent.days(child.user_id, child.today, child.today)
    return TimeLimit(daily_minutes=minutes, used_minutes=sum(day.minutes for day in today))
