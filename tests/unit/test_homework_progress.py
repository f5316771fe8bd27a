"""What is said of a page and of days."""

from datetime import date

import pytest

from mcp_tools.homework import DayResult, Item, Verdict, by_topic, check, collect, summarise, trend


def checked(page: str) -> list[Verdict]:
    return [check(item) for item in collect(page)]


PAGE = (
    "3+4=7\n5+2=7\n27+35=52\n17÷5=3……2\n1/2+1/3=2/5\n1/4+1/4=1/2\n8-3=\n天空为什么是蓝的？因为散射"
)


def test_a_summary_names_what_went_well_and_what_to_practise() -> None:
    summary = summarise(checked(PAGE), "zh")
    assert summary.strengths == ["加法", "有余数的除法"]
    assert summary.to_practise == ["进位加法", "分数"]
    assert summary.summary == (
        "能批改的6道题里做对4道，只算这些是67分。还有1道没有作答。另有1道程序无法批改。"
        "做得好的有：加法、有余数的除法。可以多练习：进位加法、分数。"
    )


def test_a_summary_in_english() -> None:
    assert summarise(checked("3+4=7\n5+2=7"), "en").summary == (
        "You got 2 of 2 right: 100 points. All correct, wonderful! Going well: addition."
    )


def test_nothing_to_sum_up() -> None:
    summary = summarise([], "en")
    assert summary.summary == "There is nothing to sum up yet."
    assert summary.strengths == summary.to_practise == []


def test_topics_are_counted_the_best_first() -> None:
    assert [tuple(each) for each in by_topic(checked(PAGE))] == [
        ("addition", 2, 2),
        ("remainders", 1, 1),
        ("fractions", 2, 1),
        ("carrying", 1, 0),
    ]


def test_a_verdict_of_a_model_counts_as_well() -> None:
    verdict = check(Item(question="天空为什么是蓝的？", answer="因为散射"))
    assert by_topic([verdict]) == []
    judged = verdict.model_copy(update={"correct": False})
    assert summarise([judged], "en").to_practise == ["other questions"]


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ([], "new"),
        ([5], "new"),
        ([5, 8], "up"),
        ([8, 5], "down"),
        ([8, 8], "steady"),
        ([3, 3, 3, 9, 9, 9], "up"),
        ([9, 9, 9, 3, 3, 3], "down"),
        ([2, 9, 9, 9, 9, 9, 9], "steady"),
        ([5, 9, 8], "steady"),
    ],
)
def test_the_trend_compares_the_latest_days_with_those_before(
    shares: list[int], expected: str
) -> None:
    history = [
        DayResult(day=date(2026, 3, day), attempts=10, correct=share)
        for day, share in enumerate(shares, start=1)
    ]
    assert trend(history) == expected
    assert trend(reversed(history)) == expected


def test_days_without_attempts_do_not_count_and_entries_of_a_day_go_together() -> None:
    empty = DayResult(day=date(2026, 3, 1), attempts=0, correct=0)
    halves = [DayResult(day=date(2026, 3, 2), attempts=5, correct=share) for share in (1, 4)]
    assert trend([empty, *halves]) == "new"
    assert trend([*halves, DayResult(day=date(2026, 3, 3), attempts=2, correct=1)]) == "steady"
