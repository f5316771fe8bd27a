"""Whole conversations with the companion without a model: by rules, algorithms and the store."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from google.adk.platform.time import reset_time_provider, set_time_provider
from google.adk.sessions import BaseSessionService, DatabaseSessionService, InMemorySessionService
from google.genai.types import Blob, Content, Part

from agents.companion.agent import app
from agents.companion.learning.records import Schedule, ScheduleItem
from agents.companion.learning.store import learning
from agents.companion.learning.time_spent import Limit, time_spent
from oda import OdaContext, OdaSession, Runner
from oda.orchestration.state import STATE_KEY
from oda.testing import FakeClock
from tests.support.companion_talk import APP, CHILD, ask, companion, response, run, steps_in

POEM = "床前明月光，疑是地上霜。举头望明月，低头思故乡。"
BADLY = "床前看月光，疑是地下霜，举头看明月，低头想家乡"
NOON = datetime(2026, 3, 10, 4, tzinfo=UTC)
"""In Shanghai."""
DAY = date(2026, 3, 10)


@pytest.fixture(autouse=True)
def clock() -> Iterator[FakeClock]:
    """When messages are stored."""
    clock = FakeClock(start=NOON.timestamp())
    set_time_provider(clock.now)
    yield clock
    reset_time_provider()


@pytest.fixture
async def oda(tmp_path: Path) -> AsyncIterator[OdaContext]:
    async with companion(tmp_path) as opened:
        yield opened


@pytest.fixture
async def session(oda: OdaContext) -> OdaSession:
    return await oda.sessions.create(APP, CHILD)


@pytest.fixture(params=["memory", "sqlite"])
def sessions(request: pytest.FixtureRequest, tmp_path: Path) -> BaseSessionService:
    if request.param == "memory":
        return InMemorySessionService()
    return DatabaseSessionService(f"sqlite+aiosqlite:///{tmp_path / 'sessions.db'}")


async def plan(*items: ScheduleItem) -> None:
    await learning.put_schedule(CHILD, Schedule(day=DAY, items=items), NOON)


async def on_record() -> list[tuple[str, int, int]]:
    """Of each subject, how many attempts there were and how many were right."""
    results = await learning.results(CHILD, since=DAY, until=DAY)
    return [(one.subject, one.attempts, one.correct) for one in results]


@pytest.mark.usefixtures("oda")
async def test_three_scenes_through_a_runner(sessions: BaseSessionService) -> None:
    runner = Runner(app=app, session_service=sessions)
    session = await sessions.create_session(app_name=APP, user_id=CHILD)
    answers = await run(
        runner,
        session.id,
        *("你好", "我要背《静夜思》", "床前明月光，疑是地上霜", "举头望明月，低头思故乡"),
        *("批改作业：3+4=7\n5×6=31", "30", "再见"),
    )
    assert answers.places == [
        "chat/idle",
        "recite/listening",
        "recite/listening",
        "recite/done",
        "homework/tutoring",
        "homework/summary",
        "chat/idle",
    ]
    assert answers.responses[3]["device_actions"] == [{"type": "dance"}, {"type": "smile"}]
    assert answers.responses[3]["content"]["score"] == 100
    assert await on_record() == [("math", 2, 1), ("recitation", 1, 1)]


async def test_an_unclear_wish_is_asked_about(session: OdaSession) -> None:
    answers = await ask(session, "帮我一下", "聊聊天")
    assert answers.places == ["chat/clarify", "chat/idle"]
    assert answers.responses[0]["suggested_actions"] == ["我要背诵", "批改作业", "聊聊天"]


async def test_a_guess_is_asked_about_and_agreed_to(session: OdaSession) -> None:
    answers = await ask(session, "我喜欢古诗", "好的，开始吧")
    assert answers.places == ["chat/handoff_wait", "recite/idle"]
    assert answers.responses[0]["suggested_actions"] == ["是的", "不用"]


async def test_a_guess_that_is_refused_leads_back(session: OdaSession) -> None:
    answers = await ask(session, "I like poems", "no thanks, sorry", "what time is it?")
    assert answers.places == ["chat/handoff_wait", "chat/idle", "chat/idle"]
    assert answers.texts[-1] == "It is 12:00."


async def test_a_question_stays_open_for_three_turns(session: OdaSession) -> None:
    answers = await ask(session, "我喜欢古诗", "你好", "谢谢", "你是谁", "是的")
    assert answers.places == [*["chat/handoff_wait"] * 3, "chat/idle", "chat/idle"]
    assert "背诵" in answers.texts[1]


async def test_refusing_with_another_wish_goes_where_it_says(session: OdaSession) -> None:
    answers = await ask(session, "我喜欢古诗", "不，我要做作业")
    assert answers.places == ["chat/handoff_wait", "homework/collecting"]


async def test_who_has_no_model_is_told_so(session: OdaSession) -> None:
    chinese, english = (await ask(session, "我家有一只猫", "tell me about the moon")).texts
    assert "没有接上大模型" in chinese
    assert "no language model" in english


async def test_what_the_store_knows_is_told(session: OdaSession) -> None:
    await plan(ScheduleItem(title="春晓"), ScheduleItem(kind="homework", title="口算"))
    answers = await ask(session, "今天的安排", "今天星期几", "3+4=7", "bye", "how am I doing?")
    assert "背诵《春晓》、作业“口算”" in answers.texts[0]
    assert "2026年3月10日，星期二" in answers.texts[1]
    assert "maths: 1 of 1 right" in answers.texts[-1]


async def test_the_schedule_says_what_is_recited(session: OdaSession) -> None:
    kitten = ScheduleItem(title="小猫", text="小猫小猫喵喵叫，\n爱吃鱼来爱睡觉。")
    await plan(kitten, ScheduleItem(title="春晓"))
    answers = await ask(session, "我要背诵", "小猫小猫喵喵叫，爱吃鱼来爱睡觉")
    assert answers.places == ["recite/listening", "recite/done"]
    assert "《小猫》" in answers.texts[0]
    assert answers.last["suggested_actions"][0] == "背《春晓》"


async def test_a_schedule_goes_from_scene_to_scene_until_the_day_ends(
    session: OdaSession, clock: FakeClock
) -> None:
    await plan(ScheduleItem(title="静夜思", text=POEM), ScheduleItem(title="春晓"))
    await ask(session, "我要背诵", POEM, "批改作业：1+1=2")
    carried = session.state[STATE_KEY]["scene_state"]["learning_schedule"]
    assert carried["passed"] == ["静夜思"]
    assert "明月" not in str(carried), "texts stay in the store"
    clock.advance(601)
    assert (await ask(session, "你好")).places == ["chat/idle"]
    assert session.state[STATE_KEY]["scene_state"]["learning_schedule"] == carried
    assert "《春晓》" in (await ask(session, "我要背诵")).texts[0]
    clock.advance(86_400 - 3_600)
    assert (await ask(session, "你好")).places == ["chat/idle"]
    assert "learning_schedule" not in session.state[STATE_KEY]["scene_state"]


async def test_a_child_that_recites_at_once_is_listened_to(session: OdaSession) -> None:
    answers = await ask(session, "我要背诵", POEM, "锄禾日当午汗滴禾下土谁知盘中餐粒粒皆辛苦")
    assert answers.places == ["recite/idle", "recite/done", "recite/done"]
    assert [one["content"].get("title") for one in answers.responses] == [None, "静夜思", "悯农"]


async def test_a_text_on_the_schedule_that_nobody_knows_is_sent_with_its_title(
    session: OdaSession,
) -> None:
    await plan(ScheduleItem(title="我的小猫"))
    text = "《我的小猫》\n小猫小猫喵喵叫\n爱吃鱼来爱睡觉"
    answers = await ask(session, "我要背诵", text, "小猫小猫喵喵叫，爱吃鱼来爱睡觉")
    assert answers.places == ["recite/idle", "recite/listening", "recite/done"]


@pytest.mark.parametrize(
    ("wish", "title"),
    [
        ("第二个", "春晓"),
        ("随便", "静夜思"),
        ("背一首孟浩然的诗", "春晓"),
        ("the first one", "The Star"),
    ],
)
async def test_a_child_may_choose_as_it_likes(session: OdaSession, wish: str, title: str) -> None:
    answers = await ask(session, "我要背诵", wish)
    assert answers.places == ["recite/idle", "recite/listening"]
    assert title in answers.texts[1]


async def test_a_child_may_turn_to_another_text(session: OdaSession) -> None:
    other = "锄禾日当午，汗滴禾下土，谁知盘中餐，粒粒皆辛苦"
    answers = await ask(session, "背《静夜思》", "春晓", "春眠不觉晓", other)
    assert "《春晓》" in answers.texts[1]
    assert (answers.card["title"], answers.card["score"]) == ("悯农", 100)


async def test_nobody_is_hurried(session: OdaSession) -> None:
    answers = await ask(session, "背《静夜思》", "等一下", "嗯……", "5×6=31", "我想想", "30")
    assert answers.texts[1] == answers.texts[2] == "不着急，慢慢想，我等你。" == answers.texts[4]


@pytest.mark.parametrize("no", ["没有了", "No.", "不用了，谢谢", "就这些"])
async def test_homework_ends_when_there_is_no_more(session: OdaSession, no: str) -> None:
    answers = await ask(session, "5×6=30", no)
    assert answers.places == ["homework/summary", "chat/idle"]


async def test_what_is_neither_an_answer_nor_a_question_changes_nothing(
    session: OdaSession,
) -> None:
    answers = await ask(session, "5×6=31", "no", "好的", "hmm", "好的，是30")
    assert answers.places == [*["homework/tutoring"] * 4, "homework/summary"]


async def test_several_missing_answers_come_in_one_message(session: OdaSession) -> None:
    answers = await ask(session, "批改作业：6×7=\n8×8=\n9-4=", "8×8=64\n6×7=42", "是不是5呀？")
    assert answers.places == ["homework/correcting"] * 2 + ["homework/summary"]
    assert "9-4" in answers.texts[1]
    assert await on_record() == [("math", 3, 3)]


async def test_a_text_that_nobody_knows_is_sent_by_the_child(session: OdaSession) -> None:
    text = "My name is Ozymandias, king of kings;\nLook on my works, ye Mighty, and despair!"
    answers = await ask(session, "recite Ozymandias", text, text)
    assert answers.places == ["recite/idle", "recite/listening", "recite/done"]
    assert (answers.card["title"], answers.card["score"]) == ("Ozymandias", 100)


@pytest.mark.parametrize(("answer", "place"), [("对", "recite/listening"), ("不对", "recite/idle")])
async def test_a_title_that_is_only_like_another_is_asked_about(
    session: OdaSession, answer: str, place: str
) -> None:
    asked, answered = (await ask(session, "背《静夜诗》", answer)).responses
    assert (asked["phase"], POEM[:5] in asked["content"]["text"]) == ("idle", True)
    assert f"{answered['scene']}/{answered['phase']}" == place


async def test_three_rounds_and_a_kind_end(session: OdaSession) -> None:
    answers = await ask(session, "背《静夜思》", BADLY, BADLY, BADLY)
    assert answers.places == [*["recite/listening"] * 3, "recite/done"]
    assert [one["content"].get("round") for one in answers.responses] == [None, 1, 2, 3]
    assert (answers.card["passed"], answers.card["score"]) == (False, 75)
    assert len(answers.card["tips"]) == 4
    assert {"type": "dance"} not in answers.last["device_actions"]
    assert await on_record() == [("recitation", 3, 0)]


async def test_help_on_the_way(session: OdaSession) -> None:
    answers = await ask(
        session,
        *("背《静夜思》", "床前明月光", "下一句是什么", "还是想不起来了", "谁写的"),
        *("这首诗是什么意思？", "看看原文", "疑是地上霜", "背完了"),
    )
    assert set(answers.places) == {"recite/listening"}
    assert "“疑是……”" in answers.texts[2]
    assert "疑是地上霜" in answers.texts[3]
    assert "李白" in answers.texts[4]
    assert "举头望明月" in answers.texts[6]
    assert answers.card["score"] == 50


async def test_a_page_of_homework_with_hints_in_three_levels(session: OdaSession) -> None:
    page = "1. 47+38=75\n2. 3+4=7\n3. 8×7="
    answers = await ask(
        session,
        *("check my homework", page, "56", "76", "答案是多少", "还是不会", "明白了"),
    )
    assert answers.places == [
        "homework/collecting",
        "homework/correcting",
        *["homework/tutoring"] * 4,
        "homework/summary",
    ]
    corrected = answers.responses[2]["content"]
    assert [item["correct"] for item in corrected["items"]] == [False, True, True]
    assert "85" not in str(corrected)
    assert not any("85" in text for text in answers.texts[:5])
    assert "85" in answers.texts[5]
    assert "进位" in answers.card["to_practise"][0]
    assert await on_record() == [("math", 3, 2)]


async def test_an_item_that_was_put_right_is_praised(session: OdaSession) -> None:
    answers = await ask(session, "5×6=31\n9-4=5", "我觉得是30吧")
    assert answers.places == ["homework/tutoring", "homework/summary"]
    assert [item["solved"] for item in answers.card["items"]] == [True, False]
    assert answers.last["device_actions"] == [{"type": "smile"}]


async def test_who_knows_no_answer_is_helped_and_the_answer_counts(session: OdaSession) -> None:
    answers = await ask(session, "帮我看看作业：6×7=", "不会", "提示", "42")
    assert answers.places == [
        "homework/correcting",
        "homework/tutoring",
        "homework/tutoring",
        "homework/summary",
    ]
    assert await on_record() == [("math", 1, 1)]


async def test_what_code_cannot_judge_is_left_to_a_person(session: OdaSession) -> None:
    answers = await ask(session, "check my homework: What is the capital of France? Paris")
    (item,) = answers.card["items"]
    assert (item["correct"], item["checked_by"], answers.card["score"]) == (None, "none", None)
    assert await on_record() == []


async def test_what_was_not_judged_is_not_counted_as_right(session: OdaSession) -> None:
    answers = await ask(session, "批改作业：1. 3+4=7 2. 法国的首都是哪里？ 巴黎")
    assert [item["correct"] for item in answers.card["items"]] == [True, None]
    assert (answers.card["score"], answers.card["judged"]) == (100, 1)
    said = answers.texts[0] + answers.card["summary"]
    assert "2道题里我能判断1道" in said
    assert "只算这些是100分" in said
    assert "全" not in said
    assert not answers.last["device_actions"]


async def test_a_sheet_on_one_line_and_the_values_of_unknowns_are_judged(
    session: OdaSession,
) -> None:
    answers = await ask(session, "批改作业：1、3+4=7，2、x+3=7 x=4，3、9-4=6")
    assert [item["correct"] for item in answers.card["items"]] == [True, True, False]
    assert (answers.card["score"], answers.card["judged"]) == (67, 3)


async def test_talk_in_the_middle_of_homework_loses_nothing(session: OdaSession) -> None:
    answers = await ask(session, "5×6=31", "为什么要背乘法口诀？", "30")
    assert answers.places == [*["homework/tutoring"] * 2, "homework/summary"]
    assert "5×6" in answers.texts[1]


async def test_too_much_homework_is_refused_in_words(session: OdaSession) -> None:
    page = "\n".join(f"{n}+1={n + 1}" for n in range(300))
    answers = await ask(session, "批改作业", page, "1+1=2")
    assert answers.places[1:] == ["homework/collecting", "homework/summary"]
    assert "200" in answers.texts[1]


@pytest.mark.parametrize(
    "long",
    [
        "小明有3个苹果" * 500 + "一共有几个？ 8个",
        "床前明月光" * 780,
        "背《" + "长" * 3000 + "》",
        "x" * 3900,
    ],
    ids=["question", "lines", "title", "word"],
)
async def test_a_long_message_is_no_failed_turn(session: OdaSession, long: str) -> None:
    for place in ("聊聊天", "批改作业", "5×6=31", "背《静夜思》"):
        answers = await ask(session, place, long)
        assert answers.last["success"]


async def test_a_photo_without_a_model_is_no_failed_turn(session: OdaSession) -> None:
    photo = Part(inline_data=Blob(mime_type="image/png", data=b"\x89PNG"))
    await ask(session, "批改作业")
    got = response(await session.ask(Content(role="user", parts=[photo])))
    assert (got["success"], got["error"]["code"]) == (False, "not_configured")
    assert (await ask(session, "1+1=2")).places == ["homework/summary"]


async def test_every_step_is_on_record(session: OdaSession) -> None:
    await ask(session, "背《静夜思》")
    reply = await session.ask(BADLY)
    assert steps_in(reply.events) == [
        "check-is-recitation-content",
        "compare-and-evaluate",
        "save-history",
        "generate-memory-tips",
    ]


@pytest.mark.parametrize(
    "spoilt",
    [
        {"material": 5, "phase": "listening"},
        {"round": 99, "phase": "listening"},
        {"learning_schedule": {"items": 3}, "phase": "idle"},
    ],
)
async def test_a_spoilt_state_is_no_crash(session: OdaSession, spoilt: dict[str, object]) -> None:
    await ask(session, "我要背诵")
    state = session.state[STATE_KEY]
    await session.state.set(STATE_KEY, {**state, "scene_state": spoilt})
    answers = await ask(session, "床前明月光", "再来一遍", "退出")
    assert answers.places[-1] == "chat/idle"


async def test_mistakes_come_back_after_days_and_stay_away_longer_each_time(
    session: OdaSession, clock: FakeClock
) -> None:
    await ask(session, "批改作业：3+4=8", "不做了")
    gaps = []
    for _ in range(3):
        asked = await ask(session, "练练错题")
        assert asked.places == ["practice/practising"]
        assert (await ask(session, "7")).places == ["chat/idle"]
        assert (await ask(session, "练练错题")).places == ["chat/idle"]
        days = 0
        while (await ask(session, "练练错题")).places == ["chat/idle"]:
            days += 1
            clock.advance(24 * 3600)
        gaps.append(days)
        await ask(session, "不练了")
    assert gaps == [2, 11, 46]


async def test_the_time_of_a_day_ends_and_the_next_day_begins_anew(
    session: OdaSession, clock: FakeClock
) -> None:
    await time_spent.put_limit(CHILD, Limit(daily_minutes=7), NOON)
    answers = []
    for minutes in (0.0, 1.5, 60.0, 0.5, 24 * 60.0):
        clock.advance(60 * minutes)
        answers.append((await ask(session, "背静夜思")).places[0])
    assert answers == [*["recite/listening"] * 3, "chat/idle", "recite/listening"]
    spent = await time_spent.days(CHILD, DAY, date(2026, 3, 11))
    assert [day.minutes for day in spent] == [7.0, 0.0]
