"""What children say while an item of homework is open: answers, asides, and what may be either."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from agents.companion.homework.answering import Said, named_in, said_to

LABELLED = yaml.safe_load(
    Path(__file__).with_name("companion_homework_answers.yaml").read_text(encoding="utf-8")
)
QUESTIONS = {
    "computed": "8+7",
    "words": "太阳是什么颜色？",
    "sentences": "用“高兴”造句。",
    "verdicts": "鲸鱼是鱼，对还是错？",
}


def _cases() -> Iterator[tuple[str, str, Said | str]]:
    for kind, told in LABELLED.items():
        for answer, messages in told.get("answer", {}).items():
            for message in messages:
                yield QUESTIONS[kind], message, Said("answer", answer)
        for name in ("aside", "unclear"):
            for message in told.get(name, []):
                yield QUESTIONS[kind], message, name


@pytest.mark.parametrize(("question", "message", "taken"), [*_cases()])
def test_a_message_is_taken_for_what_it_is(question: str, message: str, taken: Said | str) -> None:
    said = said_to(message, question)
    if isinstance(taken, Said):
        assert (said.kind, _bare(said.answer)) == ("answer", _bare(taken.answer))
    else:
        assert said.kind == taken


def _bare(answer: str) -> str:
    """A whole equation and the particle of a colour are as good as the answer alone."""
    return answer.replace("8+7等于", "").removesuffix("的")


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ("第三题是15", [(3, "15")]),
        ("第2题：红色", [(2, "红色")]),
        ("老师，第十二题是8", [(12, "8")]),
        ("number 3 is 15", [(3, "15")]),
        ("question 2: red", [(2, "red")]),
        ("1. 15\n2、16", [(1, "15"), (2, "16")]),
        ("第三题", []),
        ("我得了第三名", []),
    ],
)
def test_items_are_named_by_their_numbers(message: str, named: list[tuple[int, str]]) -> None:
    assert list(named_in(message)) == named


@pytest.mark.parametrize(
    "piece", ["嗯", "我觉得", "i think ", "，", " ", "15", "是", "it's ", "a "]
)
@pytest.mark.parametrize("question", ["8+7", "太阳是什么颜色？"])
def test_long_runs_take_no_time(piece: str, question: str) -> None:
    for length in (290 // len(piece), 20_000 // len(piece)):
        assert said_to(piece * length, question).kind in ("answer", "aside", "unclear")
