"""How lines become attempts, and what a child wants to recite: pure parts of the scene `recite`."""

from datetime import UTC, datetime

import pytest
from pydantic import JsonValue

from agents.companion.recite.attempt import Attempt, heard, next_line
from agents.companion.recite.judging import Error, TipsRequest, generate_memory_tips
from agents.companion.recite.memory import Material, Memory
from agents.companion.recite.sentences import controls
from agents.companion.recite.wishes import IdleRequest, Wish, analyze_idle_intent
from agents.companion.schedule import Today
from mcp_tools.recitation import compare
from oda.orchestration import StepContext

POEM = "床前明月光，疑是地上霜。\n举头望明月，低头思故乡。"
STAR = (
    "Twinkle, twinkle, little star,\nHow I wonder what you are!\n"
    "Up above the world so high,\nLike a diamond in the sky."
)
CONTEXT = StepContext(user_id="child", now=datetime(2026, 3, 10, tzinfo=UTC))


def recited(text: str, *messages: str) -> list[Attempt]:
    """What becomes of messages that wait for each other."""
    attempts: list[Attempt] = []
    said, stopped_at = "", None
    for message in messages:
        attempts.append(heard(text, message, said=said, stopped_at=stopped_at))
        said = attempts[-1].said if attempts[-1].waits else ""
        stopped_at = attempts[-1].stopped_at
    return attempts


def test_line_by_line_is_one_attempt() -> None:
    attempts = recited(POEM, "床前明月光", "疑是地上霜", "举头望明月", "低头思故乡")
    assert [attempt.waits for attempt in attempts] == [True, True, True, False]
    assert [attempt.stopped_at for attempt in attempts] == [5, 10, 15, None]
    assert attempts[-1].evaluation.score == 100


def test_all_at_once_is_judged_at_once() -> None:
    (attempt,) = recited(POEM, "床前明月光疑是地上霜举头望明月低头思家乡")
    assert (attempt.waits, attempt.evaluation.score) == (False, 95)


def test_a_line_that_is_left_out_counts_and_nobody_waits_for_it() -> None:
    *_, last = recited(POEM, "床前明月光", "举头望明月", "低头思故乡")
    assert (last.waits, last.evaluation.score) == (False, 75)


def test_beginning_anew_and_getting_further_costs_nothing() -> None:
    _, anew, end = recited(POEM, "床前明月光", "床前明月光，疑是地上霜", "举头望明月，低头思故乡")
    assert (anew.waits, anew.stopped_at) == (True, 10)
    assert (end.waits, end.evaluation.score) == (False, 100)


def test_beginning_anew_line_by_line_costs_nothing_either() -> None:
    messages = ("床前明月光", "疑是地上霜", "床前明月光", "疑是地上霜", "举头望明月", "低头思故乡")
    attempts = recited(POEM, *messages)
    assert [attempt.stopped_at for attempt in attempts] == [5, 10, 5, 10, 15, None]
    assert all(attempt.waits for attempt in attempts[:-1])
    assert attempts[-1].evaluation.score == 100


def test_who_is_stuck_at_the_same_line_is_judged() -> None:
    *_, again, third = recited(POEM, "床前明月光", "床前明月光", "床前明月光")
    assert (again.is_stuck, again.waits, again.evaluation.score) == (True, False, 25)
    assert (third.is_stuck, third.waits) == (True, False)


def test_a_run_up_from_the_line_before_is_no_mistake() -> None:
    *_, repeated, last = recited(
        STAR,
        "twinkle twinkle little star how I wonder what you are",
        "up above the world so high",
        "up above the world so high",
        "up above the world so high like a diamond in the sky",
    )
    assert (repeated.waits, repeated.stopped_at) == (True, 16)
    assert (last.waits, last.evaluation.score) == (False, 100)


def test_a_text_of_one_line_does_not_wait() -> None:
    (attempt,) = recited("鹅鹅鹅曲项向天歌", "鹅鹅鹅")
    assert not attempt.waits


def test_the_line_that_comes_next() -> None:
    following = [next_line(POEM, stopped_at) for stopped_at in (0, 5, 19, 20)]
    assert [line.text if line else None for line in following] == [
        "床前明月光",
        "疑是地上霜",
        "低头思故乡",
        None,
    ]


async def wish(message: str, schedule: JsonValue = None) -> Wish:
    request = IdleRequest(user_input=message, learning_schedule=schedule)
    return (await analyze_idle_intent(request, CONTEXT)).response


SCHEDULE: JsonValue = {
    "items": [
        {"kind": "recite", "title": "春晓", "text": "春眠不觉晓，处处闻啼鸟。"},
        {"kind": "homework", "title": "口算"},
        {"kind": "recite", "title": "我的小猫", "author": "王老师"},
    ]
}


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("我要背《静夜思》", "静夜思"),
        ("静夜思", "静夜思"),
        ("床前明月光", "静夜思"),
        ("Humpty Dumpty", "Humpty Dumpty"),
        ("recite The Raven", "The Raven"),
        ("背我的小猫吧", "我的小猫"),
        ("第二首", "我的小猫"),
        ("我准备好了", "春晓"),
    ],
)
async def test_what_a_child_names_is_what_it_wants(message: str, title: str) -> None:
    found = await wish(message, SCHEDULE)
    assert (found.wants_recitation, found.title) == (True, title)


async def test_a_wish_in_many_words_is_no_text() -> None:
    found = await wish("老师说今天要背静夜思，可以吗？我准备好了")
    assert (found.title, found.text) == ("静夜思", None)


async def test_the_schedule_gives_the_text() -> None:
    assert (await wish("背春晓", SCHEDULE)).text == "春眠不觉晓，处处闻啼鸟。"


async def test_a_text_that_is_sent_has_its_heading_or_first_words_as_title() -> None:
    headed = await wish("《小雨》\n小雨小雨沙沙沙，\n种子发芽要长大。")
    assert (headed.title, headed.text) == ("小雨", "小雨小雨沙沙沙，\n种子发芽要长大。")
    bare = await wish("小雨小雨沙沙沙，\n种子发芽要长大。")
    assert bare.title == "小雨小雨沙沙沙"


@pytest.mark.parametrize("message", ["今天天气真好", "what a nice day", "我家有一只猫"])
async def test_what_names_no_text_is_no_wish(message: str) -> None:
    assert not (await wish(message, SCHEDULE)).wants_recitation


@pytest.mark.parametrize("schedule", [None, [], "nonsense", 5, {"items": 3}, [{"kind": "dance"}]])
async def test_a_schedule_that_is_none_is_no_crash(schedule: JsonValue) -> None:
    assert Today.of(schedule).items == []
    assert (await wish("我准备好了", schedule)).title is None


@pytest.mark.parametrize(
    ("message", "topic"),
    [
        ("背完了", "done"),
        ("I'm done", "done"),
        ("再来一遍", "again"),
        ("start over", "again"),
        ("下一句是什么", "hint"),
        ("我忘了", "hint"),
        ("give me a hint", "hint"),
        ("看看原文", "show"),
        ("这首诗是谁写的", "author"),
        ("换一首", "another"),
        ("准备好了", "ready"),
    ],
)
def test_what_is_said_around_a_recitation(message: str, topic: str) -> None:
    found = controls().find(message)
    assert found is not None
    assert found.topic == topic


def test_memory_survives_being_kept() -> None:
    material = Material(title="静夜思", text=POEM, author="李白")
    memory = Memory(material=material, said="床前", stopped_at=2, round=2, today=Today.of(["春晓"]))
    assert Memory.of(dict(memory.kept())) == memory


@pytest.mark.parametrize("spoilt", [{"round": 9}, {"material": "x"}, {"stopped_at": -1}])
def test_spoilt_memory_is_forgotten_and_the_schedule_kept(spoilt: dict[str, JsonValue]) -> None:
    memory = Memory.of({**spoilt, "learning_schedule": ["春晓"]})
    assert (memory.material, [item.title for item in memory.today.items]) == (None, ["春晓"])


async def test_tips_need_no_more_than_the_contract_says_of_a_mistake() -> None:
    found = compare(POEM, "床前明月光，移是地下霜")
    told = [error.model_dump(exclude={"cost"}) for error in found.errors]
    request = TipsRequest.model_validate({"errors": told, "expected_text": POEM})
    assert [Error.as_mistake(one).cost for one in request.errors] == [
        error.cost for error in found.errors
    ]
    assert (await generate_memory_tips(request, CONTEXT)).response.tips
