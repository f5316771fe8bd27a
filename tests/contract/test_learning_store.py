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

from agents.companion.learning.book import Book, Wanted
from agents.companion.learning.notices import NoticeStore
from agents.companion.learning.practice import PracticeStore
from agents.companion.learning.records import (
    Answer,
    Concern,
    DayResult,
    Recitation,
    Schedule,
    ScheduleItem,
)
from agents.companion.learning.schema import LEARNING_SCHEMA, learning_database
from agents.companion.learning.store import LearningStore
from agents.companion.learning.time_spent import Limit, TimeStore
from oda.application_database import ApplicationDatabase
from oda.database.database import default_database, open_database
from oda.errors import InvalidRequestError

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
    results = await store.results("ana", since=TODAY, until=TODAY)
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
    assert await store.results("ana", since=TODAY - timedelta(days=1), until=TODAY) == [
        DayResult(subject="english", day=TODAY, attempts=1, correct=1),
        DayResult(subject="math", day=TODAY, attempts=2, correct=1),
    ]
    assert await store.results(
        "ana", since=TODAY - timedelta(days=2), until=TODAY, subject="math"
    ) == [
        DayResult(subject="math", day=TODAY - timedelta(days=2), attempts=1, correct=0),
        DayResult(subject="math", day=TODAY, attempts=2, correct=1),
    ]


async def test_the_book_holds_each_mistake_once_and_practice_plans_it(
    store: LearningStore,
) -> None:
    book, practice = Book(learning_database), PracticeStore(learning_database)
    earlier = NOON - timedelta(days=7)
    await store.save_answers("1", "ana", "s", [wrong("2+2"), wrong("3+3"), right()], earlier)
    await store.save_answers("2", "ana", "s", [wrong("2+2")], NOON)
    await store.save_recitation(
        "3", "ana", Recitation(title="静夜思", score=50.0, passed=False, round=1), NOON
    )
    last_week = Wanted("ana", until=earlier.date())
    found = (await book.mistakes(last_week, limit=9)).entries
    assert [(one.title, one.times, one.day) for one in found] == [
        ("2+2", 1, earlier.date()),
        ("3+3", 1, earlier.date()),
    ]
    everything = (await book.mistakes(Wanted("ana"), limit=9)).entries
    assert [(one.title, one.times, one.due_on) for one in everything] == [
        ("2+2", 2, TODAY),
        ("静夜思", 1, None),
        ("3+3", 1, earlier.date()),
    ]
    assert await book.mistakes_count(Wanted("ana")) == 3
    for _ in range(2):
        due_on = await practice.save("4", "ana", "s", right("3+3"), "right", NOON)
        assert due_on == TODAY + timedelta(days=2)
    assert [one.title for one in await book.due("ana", TODAY, limit=9)] == ["2+2"]
    assert await book.due("ben", TODAY, limit=9) == []
    soon = await book.due("ana", TODAY + timedelta(days=2), limit=9)
    assert [(one.title, one.reviews) for one in soon] == [("2+2", 0), ("3+3", 1)]
    await practice.save("5", "ana", "s", right("2+2"), "right", NOON)
    assert await book.next_due("ana") == TODAY + timedelta(days=2)
    (text,) = await book.recited(Wanted("ana"), limit=9)
    assert (text.title, text.best, text.passed) == ("静夜思", 50.0, False)


async def test_history_comes_in_pages_that_hold_all_of_it(store: LearningStore) -> None:
    book = Book(learning_database)
    for number in range(3):
        given = [right(f"{number}+{item}") for item in range(3)]
        await store.save_answers(f"call-{number}", "ana", "s", given, NOON)
    titles: list[str] = []
    cursor = None
    for _ in range(5):
        page = await book.history(Wanted("ana", subject="math"), limit=2, cursor=cursor)
        titles += [work.title for work in page.entries]
        cursor = page.next_cursor
    assert titles == [f"{number}+{item}" for number in range(3) for item in range(3)]
    assert cursor is None
    with pytest.raises(InvalidRequestError):
        await book.history(Wanted("ana"), limit=2, cursor="nonsense")


async def test_time_is_added_up_by_day_and_a_message_counts_once(store: LearningStore) -> None:
    spent = TimeStore(learning_database)
    assert await spent.spend("ana", NOON) == (0, None)
    for _ in range(2):
        assert await spent.spend("ana", NOON + timedelta(seconds=90.4)) == (90, None)
    assert await spent.spend("ana", NOON + timedelta(seconds=180.8)) == (180, None)
    late = NOON + timedelta(hours=2)
    assert (await spent.spend("ana", late))[0] == 480
    await spent.put_limit("ana", Limit(daily_minutes=20), NOON)
    assert await spent.spend("ana", NOON + timedelta(days=1)) == (0, Limit(20))
    found = await spent.days("ana", TODAY, TODAY + timedelta(days=1))
    assert [day.minutes for day in found] == [8.0, 0.0]
    await spent.put_limit("ana", Limit(daily_minutes=None), NOON)
    assert await spent.limit("ana") == Limit(None)
    assert await spent.limit("ben") is None
    assert await spent.spend("ben", NOON) == (0, None)


async def test_a_notice_is_given_to_one_sender_until_it_is_sent(store: LearningStore) -> None:
    notices = NoticeStore(learning_database)
    concern = Concern(category="bullying", severity="high")
    for _ in range(2):
        await store.save_concern("1", "ana", "s", concern, NOON, told=[("mum", "email")])
    (notice,) = await notices.take(NOON)
    assert (notice.child_id, notice.parent_id, notice.category) == ("ana", "mum", "bullying")
    assert await notices.take(NOON) == []
    later = NOON + timedelta(hours=1)
    (again,) = await notices.take(later)
    assert (again.id, again.attempts) == (notice.id, 2), "its sender has died"
    await notices.not_sent(again, "nobody answers", later + timedelta(hours=1))
    assert await notices.next_at() == later + timedelta(hours=1)
    assert await notices.take(later) == []
    (last,) = await notices.take(later + timedelta(hours=1))
    await notices.sent(last)
    assert await notices.next_at() is None
    (saved,) = await store.concerns_of("ana", today=TODAY, days=1)
    assert [(one.parent, one.status, one.attempts) for one in saved.notices] == [("mum", "sent", 3)]


async def test_day_is_that_of_the_users_time_zone(store: LearningStore) -> None:
    late = datetime(2026, 5, 4, 20, tzinfo=UTC).astimezone(ZoneInfo("Asia/Shanghai"))
    await store.save_answers("1", "ana", "s", [right()], late)
    results = await store.results("ana", since=date(2026, 5, 5), until=date(2026, 5, 5))
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
