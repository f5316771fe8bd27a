"""The time that a child spends with the companion, and the limit of a day."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from sqlalchemy import Connection, delete, insert, select, update

from oda import ApplicationDatabase

from .records import DayTime
from .schema import days, learning_database, limits

_LONGEST_GAP = timedelta(minutes=5)
"""Two messages with more time between them count as if there were this much."""


@dataclass(frozen=True)
class Limit:
    """What a parent has set; None is no limit."""

    daily_minutes: int | None


class TimeStore:
    """Adds up days.

    Raises (all methods):
        UnavailableError: the database cannot be reached.
    """

    def __init__(self, database: ApplicationDatabase) -> None:
        self._database = database

    async def spend(self, user_id: str, now: datetime) -> tuple[int, Limit | None]:
        """Add the time up to a message to its day; a message counts once.

        Args:
            now: In the user's time zone.

        Returns:
            The seconds of the day, and the limit that a parent has set.
        """
        this = (days.c.user_id == user_id) & (days.c.day == now.date())

        def add(connection: Connection) -> tuple[int, Limit | None]:
            limit = _limit(connection, user_id)
            row = connection.execute(select(days).where(this).with_for_update()).first()
            if row is None:
                first = {"user_id": user_id, "day": now.date(), "seconds": 0, "last_at": now}
                connection.execute(insert(days), [first])
                return 0, limit
            seconds: int = row.seconds
            gap = min(now - row.last_at, _LONGEST_GAP)
            if gap <= timedelta(0):
                return seconds, limit
            # what remains of a second is counted with the next message
            seconds += int(gap.total_seconds())
            last_at = now - timedelta(microseconds=gap.microseconds)
            connection.execute(update(days).where(this).values(seconds=seconds, last_at=last_at))
            return seconds, limit

        return await self._database.write(add)

    async def limit(self, user_id: str) -> Limit | None:
        """Return the limit that a parent has set; None where nobody has."""
        return await self._database.read(lambda connection: _limit(connection, user_id))

    async def put_limit(self, user_id: str, limit: Limit, now: datetime) -> None:
        """Set the limit of each day."""
        row = {"user_id": user_id, "daily_minutes": limit.daily_minutes, "updated_at": now}

        def replace(connection: Connection) -> None:
            connection.execute(delete(limits).where(limits.c.user_id == user_id))
            connection.execute(insert(limits), [row])

        await self._database.write(replace)

    async def days(self, user_id: str, since: date, until: date) -> Sequence[DayTime]:
        """Return the time of each day that had any message, the oldest first."""
        query = (
            select(days.c.day, days.c.seconds)
            .where(days.c.user_id == user_id, days.c.day.between(since, until))
            .order_by(days.c.day)
        )
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return [DayTime(day=row.day, minutes=round(row.seconds / 60, 1)) for row in rows]


time_spent = TimeStore(learning_database)


def _limit(connection: Connection, user_id: str) -> Limit | None:
    found = select(limits.c.daily_minutes).where(limits.c.user_id == user_id)
    row = connection.execute(found).first()
    return None if row is None else Limit(row.daily_minutes)
