"""When a question comes back: spaced repetition by `fsrs`, in whole days. Pure."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from fsrs import Scheduler

Outcome = Literal["wrong", "with_help", "right"]

_LONGEST_DAYS = 180


@dataclass(frozen=True)
class Recall:
    """How well a question is remembered, as `fsrs` has it."""

    stability: float
    difficulty: float
    due_on: date
    """In the child's time zone."""
    reviewed_at: datetime


def reviewed(before: Recall | None, outcome: Outcome, now: datetime) -> Recall:
    """Return how well it is remembered after an answer.

    Args:
        before: None at the first time.
        now: In the child's time zone.
    """
    from fsrs import Card, Rating, State

    rating = {"wrong": Rating.Again, "with_help": Rating.Hard, "right": Rating.Good}[outcome]
    moment = _noon(now)
    card = Card(card_id=0, due=moment)
    if before is not None:
        card = Card(
            card_id=0,
            state=State.Review,
            stability=before.stability,
            difficulty=before.difficulty,
            due=moment,
            last_review=_noon(before.reviewed_at.astimezone(now.tzinfo)),
        )
    after, _ = _scheduler().review_card(card, rating, moment)
    assert after.stability is not None and after.difficulty is not None
    return Recall(
        stability=after.stability,
        difficulty=after.difficulty,
        due_on=now.date() + timedelta(days=(after.due - moment).days),
        reviewed_at=now,
    )


def _noon(moment: datetime) -> datetime:
    """Return a time that stands for a day: hours do not count."""
    return datetime.combine(moment.date(), time(12), UTC)


@cache
def _scheduler() -> "Scheduler":
    """Steps of minutes are left out: a child practises once a day."""
    from fsrs import Scheduler

    return Scheduler(
        learning_steps=(),
        relearning_steps=(),
        maximum_interval=_LONGEST_DAYS,
        enable_fuzzing=False,
    )
