"""Daily usage of users on all nodes, and their remaining budgets.

If daily limits are set, each model call is drawn from the user's budget before it is made, by one
conditional update, so concurrent turns cannot exceed the limit. The answer's tokens are not known
at that time, so an estimate is drawn and corrected when the answer arrives. If the process dies
first, the estimate stays drawn, since the provider may have billed the call.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, select, update
from sqlalchemy.dialects import postgresql, sqlite

from oda.agent.limits import COUNTED, Limits, Usage, exceeded_limit
from oda.clock import Clock, utc
from oda.database.database import Database
from oda.database.schema import usage_days
from oda.errors import DailyLimitError
from oda.settings import Settings

_COLUMNS = ("turns", "model_calls", "input_tokens", "output_tokens", "cost_usd")


class DayBudgets:
    """The daily budgets of all users, which share the same limits."""

    def __init__(self, database: Database, settings: Settings, clock: Clock) -> None:
        day = settings.day
        self.on_limit = day.on_limit
        self.cheaper_model = settings.turn.cheaper_model if day.on_limit == "cheaper" else None
        """Name of the model that takes over when a day is used up; None if the policy is another
        one.
        """
        self._database = database
        self._clock = clock
        self._limits = {name: getattr(day, name) for name in COUNTED}

    @property
    def today(self) -> str:
        """The current date in UTC, see `day_of`."""
        return day_of(utc(self._clock))

    @property
    def limited(self) -> bool:
        """Whether any daily limit is set."""
        return any(limit is not None for limit in self._limits.values())

    @property
    def counts_tokens(self) -> bool:
        """Whether tokens or their cost are limited."""
        return self._limits["tokens"] is not None or self._limits["cost_usd"] is not None

    async def used(self, user_id: str) -> Usage:
        """Return what a user has used today."""
        return await self._database.read(
            lambda connection: used_on(connection, user_id, self.today)
        )

    async def draw(self, user_id: str, day: str, expected: Usage, *, bounded: bool) -> str | None:
        """Draw a model call from a user's day.

        Return the exceeded limit, or None if the call is allowed.

        Args:
            user_id: The user who pays.
            day: The day to draw from, see `day_of`.
            expected: Estimated usage of the call.
            bounded: Whether limits apply; if not, the call is only counted.
        """
        if not bounded:
            self.add(user_id, day, expected)
            return None
        left = [
            column < limit
            for column, limit in (
                (usage_days.c.model_calls, self._limits["model_calls"]),
                (usage_days.c.input_tokens + usage_days.c.output_tokens, self._limits["tokens"]),
                (usage_days.c.cost_usd, self._limits["cost_usd"]),
            )
            if limit is not None
        ]
        drawn = (
            update(usage_days)
            .where(usage_days.c.user_id == user_id, usage_days.c.day == day, *left)
            .values({name: usage_days.c[name] + value for name, value in _amounts(expected)})
        )

        def operation(connection: Connection) -> str | None:
            if connection.execute(drawn).rowcount:
                return None
            new = _new_day(connection, user_id, day, {})
            connection.execute(new.on_conflict_do_nothing())
            if connection.execute(drawn).rowcount:
                return None
            return self.exceeded(used_on(connection, user_id, day))

        return await self._database.journal.run(operation)

    def add(self, user_id: str, day: str, used: Usage) -> None:
        """Add to the usage of a day in the background; negative amounts correct an estimate."""
        amounts = dict(_amounts(used))

        def operation(connection: Connection) -> None:
            add_to_day(connection, user_id, day, amounts)

        self._database.journal.defer(operation)

    def exceeded(self, used: Usage) -> str | None:
        """Return the exceeded daily limit, such as `20 model calls`; None if none is exceeded."""
        return exceeded_limit(used, Limits(**self._limits, timeout_s=None))

    def used_up(self, exceeded: str) -> DailyLimitError:
        """Return the error for an exceeded limit, with the time until the next day begins."""
        return DailyLimitError(
            f"You have used up your limit of {exceeded} a day.",
            retry_after_s=_until_tomorrow(utc(self._clock)).total_seconds(),
            remedy="go on tomorrow (UTC), or have the limit raised",
        )


def day_of(moment: datetime) -> str:
    """Return the UTC date of a time in UTC, as 2026-01-31."""
    return f"{moment:%Y-%m-%d}"


def used_on(connection: Connection, user_id: str, day: str) -> Usage:
    """Return the recorded usage of a user on a day."""
    query = select(usage_days).where(usage_days.c.user_id == user_id, usage_days.c.day == day)
    row = connection.execute(query).one_or_none()
    if row is None:
        return Usage(cost_usd=0.0)
    return Usage(row.model_calls, row.input_tokens, row.output_tokens, row.cost_usd)


def add_to_day(
    connection: Connection,
    user_id: str,
    day: str,
    amounts: Mapping[str, float | ColumnElement[Any]],
) -> None:
    """Add amounts to the usage of a user on a day."""
    new = _new_day(connection, user_id, day, amounts)
    added = {name: usage_days.c[name] + new.excluded[name] for name in amounts}
    connection.execute(new.on_conflict_do_update(index_elements=["user_id", "day"], set_=added))


def _new_day(
    connection: Connection,
    user_id: str,
    day: str,
    amounts: Mapping[str, float | ColumnElement[Any]],
) -> postgresql.Insert | sqlite.Insert:
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    row = {**dict.fromkeys(_COLUMNS, 0), **amounts}
    return insert(usage_days).values(user_id=user_id, day=day, **row)


def _amounts(used: Usage) -> list[tuple[str, float]]:
    return [
        ("model_calls", used.model_calls),
        ("input_tokens", used.input_tokens),
        ("output_tokens", used.output_tokens),
        ("cost_usd", used.cost_usd or 0.0),
    ]


def _until_tomorrow(now: datetime) -> timedelta:
    tomorrow = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return tomorrow - now
