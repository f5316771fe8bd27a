"""What the companion keeps of a child's learning, on every database."""

from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection

from agents.companion.learning.records import (
    Answer,
    DayResult,
    Recitation,
    Schedule,
    ScheduleItem,
)
from agents.companion.learning.schema import LEARNING_SCHEMA
from agents.companion.learning.store import LearningStore
from oda.application_database import ApplicationDatabase
from oda.database.database import default_database, open_database

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
TODAY = NOON.date()


@pytest.fixture
async def store(empty_database_url: str) -> AsyncIterator[LearningStore]:
    async with open_database(empty_database_url) as database:
        with default_database.set(database):
            yield LearningStore(ApplicationDatabase(LEARNING_SCHEMA))


def right(question: str = "1+1", **fields: Any) -> Answer:
    return Answer(question=question, answer="2", correct=True, topic="addition", **fields)


def wrong(question: str = "2+2", **fields: Any) -> Answer:
    return Answer(question=question, answer="5", correct=False, topic="addition", **fields)


async def test_schedule_is_the_days_and_the_users_own(store: LearningStore) -> None:
    item = ScheduleItem(title="静夜思", text="床前明月光", author="李白")
    await store.put_schedule("ana", Schedule(day=TODAY, items=(item,)), NOON)
    assert (await store.schedule("ana", TODAY)).items == (item,)
    assert (await store.schedule("ana", TODAY + timedelta(days=1))).items == ()
    assert (await store.schedule("ben", TODAY)).items == ()


async def test_schedule_is_replaced(store: LearningStore) -> None:
    for title in ("one", "two"):
        items = (ScheduleItem(title=title),)
        await store.put_schedule("ana", Schedule(day=TODAY, items=items), NOON)
    assert [item.title for item in (await store.schedule("ana", TODAY)).items] == ["two"]


async def test_recitation_is_saved_once_for_one_call(store: LearningStore) -> None:
    round_1 = Recitation(title="静夜思", score=80.5, passed=False, round=1)
    first = await store.save_recitation("call-1", "ana", round_1, NOON)
    again = await store.save_recitation("call-1", "ana", round_1, NOON + timedelta(hours=1))
    assert again == first
    results = await store.results("ana", today=TODAY, days=1)
    assert results == [DayResult(subject="recitation", day=TODAY, attempts=1, correct=0)]


async def test_answers_are_saved_once_for_one_call(store: LearningStore) -> None:
    for _ in range(2):
        await store.save_answers("call-1", "ana", "s1", [right(), wrong()], NOON)
    assert await store.answers_of("ana", "s1") == [right(), wrong()]
    assert await store.answers_of("ben", "s1") == []


async def test_answers_of_a_session_come_in_their_order(store: LearningStore) -> None:
    await store.save_answers("b", "ana", "s1", [right("first")], NOON)
    await store.save_answers(
        "a", "ana", "s1", [right("second"), wrong("third")], NOON.replace(hour=13)
    )
    await store.save_answers("c", "ana", "s2", [right("elsewhere")], NOON)
    found = [answer.question for answer in await store.answers_of("ana", "s1")]
    assert found == ["first", "second", "third"]


async def test_results_count_by_subject_and_day_what_could_be_judged(store: LearningStore) -> None:
    unknown = Answer(question="Why?", subject="math")
    await store.save_answers("1", "ana", "s", [right(), wrong(), unknown], NOON)
    await store.save_answers("2", "ana", "s", [right(subject="english")], NOON)
    await store.save_answers("3", "ana", "s", [wrong()], NOON - timedelta(days=2))
    assert await store.results("ana", today=TODAY, days=2) == [
        DayResult(subject="english", day=TODAY, attempts=1, correct=1),
        DayResult(subject="math", day=TODAY, attempts=2, correct=1),
    ]
    assert await store.results("ana", today=TODAY, days=3, subject="math") == [
        DayResult(subject="math", day=TODAY - timedelta(days=2), attempts=1, correct=0),
        DayResult(subject="math", day=TODAY, attempts=2, correct=1),
    ]


async def test_day_is_that_of_the_users_time_zone(store: LearningStore) -> None:
    late = datetime(2026, 5, 4, 20, tzinfo=UTC).astimezone(ZoneInfo("Asia/Shanghai"))
    await store.save_answers("1", "ana", "s", [right()], late)
    results = await store.results("ana", today=date(2026, 5, 5), days=1)
    assert [result.day for result in results] == [date(2026, 5, 5)]


async def test_migrated_schema_is_the_one_in_the_code(
    store: LearningStore, empty_database_url: str
) -> None:
    await store.schedule("ana", TODAY)

    def differences(connection: Connection) -> list[Any]:
        ours = LEARNING_SCHEMA.metadata.tables
        options = {
            "version_table": LEARNING_SCHEMA.version_table,
            "compare_type": True,
            "include_name": lambda name, kind, _: kind != "table" or name in ours,
        }
        found: list[Any] = compare_metadata(
            MigrationContext.configure(connection, opts=options), LEARNING_SCHEMA.metadata
        )
        return found

    async with open_database(empty_database_url) as database:
        assert await database.read(differences) == []


async def test_without_a_context_the_configured_database_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODA_DATABASE_URL", f"sqlite:///{tmp_path / 'own.db'}")
    alone = LearningStore(ApplicationDatabase(LEARNING_SCHEMA))
    await alone.save_answers("1", "ana", "s", [right()], NOON)
    assert await alone.answers_of("ana", "s") == [right()]
