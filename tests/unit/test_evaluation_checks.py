"""What an evaluation looks at: replies, calls, and values in the state."""

from typing import Any

import pytest

from oda.evaluation.cases import Expectation
from oda.evaluation.checks import Seen, problems, value_at

STATE = {"resume": {"work": [{"name": "腾讯", "highlights": ["Cut load time by 40%"]}], "n": 0}}


def found(expected: dict[str, Any], **seen: Any) -> list[str]:
    given: dict[str, Any] = {"reply": "", "before": STATE, "after": STATE, **seen}
    return list(problems(Expectation.model_validate(expected), Seen(**given)))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("resume.work[0].name", "腾讯"),
        ("resume.work[0].highlights[0]", "Cut load time by 40%"),
        ("resume.work[1].name", None),
        ("resume.work.name", None),
        ("resume.n", 0),
        ("nothing.there", None),
    ],
)
def test_a_path_leads_to_a_value(path: str, value: Any) -> None:
    assert value_at(STATE, path) == value


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        ("腾讯", True),
        ("腾", False),
        ({"has": "腾"}, True),
        ({"has": "美团"}, False),
        ({"lacks": "美团"}, True),
        ({"lacks": "讯"}, False),
        ({"any": ["美团", {"has": "讯"}]}, True),
        ({"any": ["美团"]}, False),
        (None, False),
        ({"has": "腾", "lacks": "x"}, False),
    ],
)
def test_a_value_is_as_wanted(wanted: Any, fits: bool) -> None:
    assert (not found({"state": {"resume.work[0].name": wanted}})) is fits


def test_a_place_can_be_looked_into_as_a_whole() -> None:
    assert not found({"state": {"resume.work": {"has": "cut LOAD"}}})
    assert not found({"state": {"resume.education": None}})


def test_what_stays_is_compared_with_before() -> None:
    after = {"resume": {**STATE["resume"], "n": 1}}
    assert found({"unchanged": ["resume.work", "resume.n"]}, after=after) == [
        "resume.n was 0 and is 1"
    ]


def test_a_reply_says_this_and_one_of_those_in_its_language() -> None:
    expected = {"says": ["Rome", ["sun", "warm"]], "never_says": ["rain"], "language": "en"}
    assert not found(expected, reply="It is WARM in Rome.")
    assert len(found(expected, reply="罗马在下雨 rain")) == 4


def test_calls_are_all_made_or_none_is() -> None:
    assert not found({"calls": ["a"]}, calls=["b", "a"])
    assert found({"calls": ["a"]}, calls=["b"]) == ["a was not called"]
    assert found({"calls": []}, calls=["b"]) == ["tools were called: b"]
    assert found({"model_calls": 1}, model_calls=2) == ["the model answered 2 times, not 1"]


def test_a_failed_turn_is_the_only_problem() -> None:
    assert found({"says": ["a"]}, failure="no answer") == ["the turn failed: no answer"]
