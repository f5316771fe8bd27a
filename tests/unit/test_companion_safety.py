"""What needs a grown-up, and what only looks like it: sets of both languages."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from agents.companion.safety.answers import for_a_child, unsafe_kind
from agents.companion.safety.concerns import concern_in

_HERE = Path(__file__).parent


def listed(name: str) -> Any:
    return yaml.safe_load((_HERE / name).read_text(encoding="utf-8"))


DANGERS = [
    (category, message)
    for categories in listed("companion_dangers.yaml").values()
    for category, messages in categories.items()
    for message in messages
]
PIECES = [" ", "*", "我 ", "死 * ", "i ", "1 ", "“", "_", "\n", "我想要他们"]
ANSWERS = listed("companion_answers.yaml")


@pytest.mark.parametrize(("category", "message"), DANGERS)
def test_message_that_needs_a_grown_up_is_known_by_its_words(category: str, message: str) -> None:
    found = concern_in(message)
    assert found is not None
    assert (found.category, found.severity != "none") == (category, True)


@pytest.mark.parametrize("message", listed("companion_look_alikes.yaml"))
def test_message_that_only_looks_alike_stays_with_the_task(message: str) -> None:
    found = concern_in(message)
    assert found is None or found.severity == "none"


@pytest.mark.parametrize("message", ["我背得想死了这首诗好难", "this homework is killing me"])
def test_frustration_gets_kind_words(message: str) -> None:
    found = concern_in(message)
    assert found is not None
    assert (found.category, found.severity) == ("frustration", "none")


@pytest.mark.parametrize(
    "message", ["笑死我了，可是我不想活了", "I'm dying to know how to kill myself"]
)
def test_harmless_phrase_does_not_hide_what_stands_beside_it(message: str) -> None:
    found = concern_in(message)
    assert found is not None
    assert found.category == "self_harm"


@pytest.mark.parametrize("answer", ANSWERS["unsafe"])
def test_unsafe_answer_is_replaced(answer: str) -> None:
    assert unsafe_kind(answer) is not None
    assert "老师" in for_a_child(answer, "zh")
    assert answer not in for_a_child(f"好的。{answer}", "zh")


@pytest.mark.parametrize("answer", ANSWERS["safe"])
def test_safe_answer_is_told_as_it_is(answer: str) -> None:
    assert for_a_child(answer) == answer


def test_long_message_is_read_quickly() -> None:
    assert concern_in("我今天和同学一起去公园玩，" * 1500 + "我不想活了") is not None


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "piece", [" ", "*", "我 ", "死 * ", "i ", "1 ", "“", "_", "\n", "我想要他们"]
)
def test_the_longest_message_is_read_in_a_moment(piece: str) -> None:
    """Patterns that go back over each run of marks took half a minute for one of these."""
    message = piece * (20_000 // len(piece))
    assert concern_in(message) is None
    assert unsafe_kind(message) is None
