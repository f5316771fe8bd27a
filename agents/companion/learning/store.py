"""Schedules, recitations and answers in SQL.

What a turn saves has the id of the call that saves it, so a turn that is tried again saves once.
"""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, case, delete, func, insert, select

from oda import ApplicationDatabase

from .notices import new_notice
from .records import (
    Answer,
    Channel,
    Concern,
    DayResult,
    NoticeState,
    Recitation,
    Saved,
    SavedConcern,
    Schedule,
    ScheduleItem,
)
from .schema import answers, concerns, learning_database, notices, recitations, schedules

RECITATION = "recitation"
"""The subject of recited texts."""


class LearningStore:
    """Stores what children are to learn and have learnt.

    Raises (all methods):
        UnavailableError: the database cannot be reached.
    """

    def __init__(self, database: ApplicationDatabase) -> None:
        self._database = database

    async def schedule(self, user_id: str, day: date) -> Schedule:
        """Return the tasks of a day; empty by default."""
        query = select(schedules.c["items"]).where(
            schedules.c.user_id == user_id, schedules.c.day == day
        )
        items = await self._database.read(lambda connection: connection.scalar(query)) or []
        return Schedule(day=day, items=tuple(map(ScheduleItem.model_validate, items)))

    async def put_schedule(self, user_id: str, schedule: Schedule, now: datetime) -> None:
        """Replace what is to be done on a day."""
        mine = (schedules.c.user_id == user_id) & (schedules.c.day == schedule.day)
        row = {
            "user_id": user_id,
            "day": schedule.day,
            "items": [item.model_dump(mode="json") for item in schedule.items],
            "updated_at": now,
        }

        def replace(connection: Connection) -> None:
            connection.execute(delete(schedules).where(mine))
            connection.execute(insert(schedules), [row])

        await self._database.write(replace)

    async def save_recitation(
        self, call_id: str, user_id: str, recitation: Recitation, now: datetime
    ) -> Saved:
        """Save one round, unless this call has saved it before. `now` is in the user's zone."""
        row = {
            "id": call_id,
            "user_id": user_id,
            "day": now.date(),
            **recitation.model_dump(mode="json"),
            "saved_at": now,
        }
        saved = select(recitations.c.saved_at).where(recitations.c.id == call_id)

        def save_once(connection: Connection) -> datetime:
            saved_at: datetime | None = connection.scalar(saved)
            if saved_at is None:
                connection.execute(insert(recitations), [row])
            return saved_at or now

        return Saved(id=call_id, saved_at=await self._database.write(save_once))

    async def save_answers(
        self,
        call_id: str,
        user_id: str,
        session_id: str | None,
        given: Sequence[Answer],
        now: datetime,
    ) -> None:
        """Save answers, unless this call has saved them before. `now` is in the user's zone."""
        rows = [
            {
                "id": call_id,
                "number": number,
                "user_id": user_id,
                "session_id": session_id,
                "day": now.date(),
                **answer.model_dump(),
                "saved_at": now,
            }
            for number, answer in enumerate(given)
        ]
        if not rows:
            return
        saved = select(func.count()).where(answers.c.id == call_id)

        def save_once(connection: Connection) -> None:
            if not connection.scalar(saved):
                connection.execute(insert(answers), rows)

        await self._database.write(save_once)

    async def answers_of(self, user_id: str, session_id: str) -> list[Answer]:
        """All answers of a session, the oldest first."""
        query = (
            select(answers)
            .where(answers.c.user_id == user_id, answers.c.session_id == session_id)
            .order_by(answers.c.saved_at, answers.c.id, answers.c.number)
        )
        rows = await self._database.read(
            lambda connection: connection.execute(query).mappings().all()
        )
        return [Answer.model_validate(dict(row)) for row in rows]

    async def save_concern(
        self,
        call_id: str,
        user_id: str,
        session_id: str | None,
        concern: Concern,
        now: datetime,
        *,
        told: Sequence[tuple[str, Channel]] = (),
    ) -> None:
        """Save a concern, unless this call has saved it before.

        Args:
            now: In the user's zone.
            told: The parents that are to be told at once, and how.
        """
        row = {
            "id": call_id,
            "user_id": user_id,
            "session_id": session_id,
            "day": now.date(),
            **concern.model_dump(),
            "saved_at": now,
        }
        waiting = [new_notice(call_id, user_id, parent, channel, now) for parent, channel in told]
        saved = select(concerns.c.id).where(concerns.c.id == call_id)

        def save_once(connection: Connection) -> None:
            if connection.scalar(saved) is None:
                connection.execute(insert(concerns), [row])
                if waiting:
                    connection.execute(insert(notices), waiting)

        await self._database.write(save_once)

    async def concerns_of(self, user_id: str, *, today: date, days: int) -> list[SavedConcern]:
        """The concerns of the last `days` days, the latest first; today is one."""
        since = today - timedelta(days=days - 1)
        query = (
            select(concerns)
            .where(concerns.c.user_id == user_id, concerns.c.day >= since)
            .order_by(concerns.c.saved_at.desc(), concerns.c.id)
        )
        of_them = (
            select(notices)
            .join(concerns, concerns.c.id == notices.c.concern_id)
            .where(concerns.c.user_id == user_id, concerns.c.day >= since)
            .order_by(notices.c.parent_id, notices.c.channel)
        )
        rows, told = await self._database.read(
            lambda connection: (
                connection.execute(query).mappings().all(),
                connection.execute(of_them).mappings().all(),
            )
        )
        states: dict[str, list[NoticeState]] = {}
        for one in told:
            state = NoticeState.model_validate({**one, "parent": one["parent_id"]})
            states.setdefault(one["concern_id"], []).append(state)
        return [
            SavedConcern.model_validate({**row, "notices": states.get(row["id"], ())})
            for row in rows
        ]

    async def results(
        self, user_id: str, *, since: date, until: date, subject: str | None = None
    ) -> list[DayResult]:
        """Return the results of days by subject and day, the oldest first."""
        found = await self._database.read(
            lambda connection: (
                _homework(connection, user_id, since, until)
                + _recited(connection, user_id, since, until)
            )
        )
        wanted = [result for result in found if subject in (None, result.subject)]
        return sorted(wanted, key=lambda result: (result.subject, result.day))


learning = LearningStore(learning_database)


def _homework(connection: Connection, user_id: str, since: date, until: date) -> list[DayResult]:
    columns = answers.c
    right = func.sum(case((columns.correct, 1), else_=0))
    query = (
        select(columns.subject, columns.day, func.count(), right)
        .where(
            columns.user_id == user_id,
            columns.day.between(since, until),
            columns.correct.is_not(None),
        )
        .group_by(columns.subject, columns.day)
    )
    return _results(connection.execute(query).all())


def _recited(connection: Connection, user_id: str, since: date, until: date) -> list[DayResult]:
    columns = recitations.c
    right = func.sum(case((columns.passed, 1), else_=0))
    query = (
        select(columns.day, func.count(), right)
        .where(columns.user_id == user_id, columns.day.between(since, until))
        .group_by(columns.day)
    )
    return _results([(RECITATION, *row) for row in connection.execute(query).all()])


def _results(rows: Sequence[Any]) -> list[DayResult]:
    return [
        DayResult(subject=subject, day=day, attempts=attempts, correct=right)
        for subject, day, attempts, right in rows
    ]
