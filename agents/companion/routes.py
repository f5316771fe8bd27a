"""The agent's HTTP routes: its messages, its steps, and the schedule that parents set."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from oda.clock import SystemClock, utc
from oda.orchestration.state import user_time_zone
from oda.server import Conversations, orchestrator_routes

from .agent import root_agent
from .learning.records import MOST_SCHEDULED, Day, Schedule, ScheduleItem
from .learning.store import learning
from .rules import rules

_schedule = APIRouter(prefix="/api/companion", tags=["companion"])
_clock = SystemClock()

OfDay = Annotated[Day | None, Query(description="By default today, where the child lives")]


class ScheduleBody(BaseModel):
    """The tasks of a day."""

    model_config = ConfigDict(extra="forbid")

    day: Day | None = None
    """By default today, in the child's time zone."""
    items: Annotated[list[ScheduleItem], Field(max_length=MOST_SCHEDULED)]


@_schedule.get("/schedule")
async def get_schedule(conversations: Conversations, day: OfDay = None) -> Schedule:
    """The tasks of the calling user on a day."""
    zone = user_time_zone(await conversations.user_state(), rules())
    today = utc(_clock).astimezone(zone).date()
    return await learning.schedule(conversations.user_id, day or today)


@_schedule.put("/schedule")
async def replace_schedule(body: ScheduleBody, conversations: Conversations) -> Schedule:
    """Replace what the calling user is to do on a day."""
    now = utc(_clock).astimezone(user_time_zone(await conversations.user_state(), rules()))
    schedule = Schedule(day=body.day or now.date(), items=tuple(body.items))
    await learning.put_schedule(conversations.user_id, schedule, now)
    return schedule


def routes() -> APIRouter:
    """Messages, steps, schedule."""
    router = APIRouter()
    router.include_router(orchestrator_routes(root_agent))
    router.include_router(_schedule)
    return router
