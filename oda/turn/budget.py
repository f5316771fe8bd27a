"""The budget of a turn when it is accepted, and the question asked when a limit is reached."""

from dataclasses import dataclass
from typing import Literal

from oda.agent.day_budget import DayBudgets
from oda.agent.limits import TurnLimits
from oda.agent.outcome import OpenQuestion
from oda.turn.record import TurnUsage

GRANT = "oda_request_limit"
"""Name of the question whether a turn may use its limit once more."""

Period = Literal["turn", "day"]


@dataclass(frozen=True)
class Allowance:
    """The limits under which a turn may run."""

    limits: TurnLimits
    question: OpenQuestion | None = None
    """Asked before the turn may begin, if any."""


async def allowance(limits: TurnLimits, days: DayBudgets, user_id: str) -> Allowance:
    """Return what a new turn may use; the database is queried only if daily limits are set.

    This only avoids accepting a turn that cannot make any call. The limit itself is enforced, also
    among turns that begin at the same time, by drawing each model call from the day.

    Raises:
        DailyLimitError: nothing is left, and the policy is to stop.
    """
    if not days.limited:
        return Allowance(limits)
    used = await days.used(user_id)
    exceeded = days.exceeded(used)
    if exceeded is None:
        return Allowance(limits)
    if days.cheaper_model is not None:
        cheaper = {"cheaper_model": days.cheaper_model, "cheaper_from_start": True}
        return Allowance(limits.model_copy(update=cheaper))
    if days.on_limit == "ask":
        today = TurnUsage.model_validate(used, from_attributes=True)
        return Allowance(limits, question(exceeded, today, grants=0, period="day"))
    raise days.used_up(exceeded)


def question(exceeded: str, used: TurnUsage, *, grants: int, period: Period) -> OpenQuestion:
    """Return the question whether a turn may go on, in the form of `pending_input`."""
    limit = f"{exceeded} a day" if period == "day" else exceeded
    args = {"limit": limit, "period": period, "used": used.model_dump(mode="json")}
    return {"id": f"limit_{grants + 1}", "name": GRANT, "args": args}
