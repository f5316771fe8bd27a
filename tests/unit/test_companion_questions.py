"""Questions about the records of a child are told from what only looks like them."""

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from agents.companion.lookback.period import period_in
from agents.companion.lookback.questions import question_in

TODAY = date(2026, 3, 11)
LABELLED: dict[str, list[Any]] = yaml.safe_load(
    Path(__file__).with_name("companion_questions.yaml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("labelled", LABELLED["questions"], ids=lambda labelled: labelled[0])
def test_a_question(labelled: list[Any]) -> None:
    message, about, since, until, subject = [*labelled, None, None, None][:5]
    found = question_in(message, TODAY)
    assert found is not None
    days = (found.period.since, found.period.until) if found.period else (None, None)
    assert (found.about, *days, found.subject) == (about, since, until, subject)


@pytest.mark.parametrize("message", LABELLED["others"])
def test_what_is_no_question(message: str) -> None:
    assert question_in(message, TODAY) is None


def test_a_day_that_has_not_come_is_one_of_the_past() -> None:
    period, _ = period_in("on Friday", TODAY)
    assert period is not None
    assert period.since == TODAY - timedelta(days=5)
    period, _ = period_in("12月24日", TODAY)
    assert period is not None
    assert period.since == date(2025, 12, 24)
    assert period_in("2月30日", TODAY) == (None, "2月30日")


@pytest.mark.parametrize("said", ["我", "都", "错题", "看看", "show me ", "what did i ", "最近"])
def test_no_message_keeps_a_pattern_busy(said: str) -> None:
    for filling in ("有", "的", "看", "tell me ", " "):
        assert question_in(f"{(said + filling) * 20}!x"[:80], TODAY) is None
