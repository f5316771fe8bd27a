"""What a user may use up in a day, and what is asked when a limit is reached."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from oda.agent.limits import COUNTED, Limits, TurnLimits, Usage, exceeded_limit
from oda.errors import DailyLimitError
from oda.settings import DaySettings
from oda.turn.record import TurnUsage

GRANT = "oda_request_limit"
"""Name of the question whether a turn may use as much again."""


@dataclass(frozen=True)
class Allowance:
    """What a turn may use."""

    limits: TurnLimits
    question: dict[str, Any] | None = None
    """What a person is asked before the turn may begin."""


def allowance(
    limits: TurnLimits,
    used: TurnUsage,
    settings: DaySettings,
    *,
    cheaper_model: str | None,
    now: datetime,
) -> Allowance:
    """What is left to a turn of a day on which `used` has been used. Pure.

    Raises:
        DailyLimitError: nothing is left, and the policy is to stop.
    """
    of_day = {name: getattr(settings, name) for name in COUNTED}
    exceeded = exceeded_limit(_as_usage(used), Limits(**of_day, timeout_s=None))
    if exceeded is None:
        return Allowance(limits.within(_left(of_day, used)))
    if settings.on_limit == "cheaper":
        cheaper = {"cheaper_model": cheaper_model, "cheaper_from_start": True}
        return Allowance(limits.model_copy(update=cheaper))
    if settings.on_limit == "ask":
        return Allowance(limits, question(f"{exceeded} a day", used, grants=0))
    raise DailyLimitError(
        f"You have used up your limit of {exceeded} a day.",
        retry_after_s=_until_tomorrow(now).total_seconds(),
        remedy="go on tomorrow (UTC), or have the limit raised",
    )


def question(limit: str, used: TurnUsage, *, grants: int) -> dict[str, Any]:
    """The question whether a turn may go on, as it stands in `pending_input`."""
    args = {"limit": limit, "used": used.model_dump(mode="json")}
    return {"id": f"limit_{grants + 1}", "name": GRANT, "args": args}


def _left(of_day: Mapping[str, float | None], used: TurnUsage) -> dict[str, float | None]:
    usage = {
        "model_calls": used.model_calls,
        "tokens": used.input_tokens + used.output_tokens,
        "cost_usd": used.cost_usd or 0.0,
    }
    return {name: None if limit is None else limit - usage[name] for name, limit in of_day.items()}


def _as_usage(used: TurnUsage) -> Usage:
    return Usage(used.model_calls, used.input_tokens, used.output_tokens, used.cost_usd)


def _until_tomorrow(now: datetime) -> timedelta:
    tomorrow = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return tomorrow - now
