"""A question comes back after days that grow while it is known, and soon when it is not."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from agents.companion.learning.intervals import Outcome, Recall, reviewed

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


def days_after(outcomes: Sequence[Outcome]) -> list[int]:
    """The days until a question comes back, each time answered on the day on which it is due."""
    recall: Recall | None = None
    now, days = NOON, []
    for outcome in outcomes:
        recall = reviewed(recall, outcome, now)
        days.append((recall.due_on - now.date()).days)
        now += timedelta(days=days[-1])
    return days


def test_the_days_grow_while_the_answers_are_right() -> None:
    assert days_after(["right", "right", "right", "right"]) == [2, 11, 46, 163]


def test_it_comes_back_the_next_day_after_a_mistake_or_a_hint() -> None:
    assert days_after(["wrong", "wrong"]) == [1, 1]
    assert days_after(["with_help", "right"])[0] == 1
    assert days_after(["right", "right", "wrong"])[2] < 11


def test_no_question_stays_away_for_longer_than_half_a_year() -> None:
    assert max(days_after(["right"] * 8)) == 180


@pytest.mark.parametrize(("hour", "day"), [(8, 10), (23, 10)])
def test_days_are_those_where_the_child_lives(hour: int, day: int) -> None:
    now = datetime(2026, 3, day, hour, 30, tzinfo=ZoneInfo("Asia/Shanghai"))
    assert reviewed(None, "right", now).due_on == date(2026, 3, day + 2)
