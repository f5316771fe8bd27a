"""What a model adds to the companion, and that nothing is lost when it fails, is slow or lies."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from google.genai.types import Blob, Content, Part

from agents.companion.agent import root_agent
from oda import OdaContext, OdaSession
from oda.orchestration import Step, StepContext
from oda.testing import ModelServer, Script
from oda.testing.script import Call, Error, Hang, Match, Text, ToolCalls
from tests.support.companion_talk import APP, CHILD, ask, companion, response, steps_in

POEM = "床前明月光，疑是地上霜。举头望明月，低头思故乡。"
BADLY = "床前看月光，疑是地下霜，举头看明月，低头想家乡"


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest.fixture
async def oda(tmp_path: Path, model: ModelServer) -> AsyncIterator[OdaContext]:
    async with companion(tmp_path, model=model) as opened:
        yield opened


@pytest.fixture
async def session(oda: OdaContext) -> OdaSession:
    return await oda.sessions.create(APP, CHILD)


def says(**fields: Any) -> Text:
    """A structured answer."""
    return Text(text=json.dumps(fields, ensure_ascii=False))


def calls(tool: str, **args: Any) -> ToolCalls:
    """What the model finds out in place of an answer."""
    return ToolCalls(calls=(Call(name=tool, args=args),))


def meant(activity: str, sure: int, **named: str) -> ToolCalls:
    """Where the model wants to go with one message."""
    return calls("go_to", activity=activity, sure=sure, **named)


async def answer(name: str, **request: Any) -> Any:
    """What a step answers that is called by itself."""
    step: Step[Any, Any] = next(step for step in root_agent.steps if step.name == name)
    context = StepContext(user_id=CHILD, now=datetime(2026, 3, 10, tzinfo=UTC))
    return (await step(step.request.model_validate(request), context)).response


async def test_the_model_talks_with_tools_and_knows_what_was_said(
    session: OdaSession, model: ModelServer
) -> None:
    find = ToolCalls(calls=(Call(name="find_poem", args={"title": "春晓"}),))
    model.play([Text(text="真可爱！"), find, Text(text="春眠不觉晓，你会背吗？")])
    answers = await ask(session, "我家有一只猫", "有没有写春天的诗？")
    assert answers.first_lines == ["真可爱！", "春眠不觉晓，你会背吗？"]
    assert answers.places == ["chat/idle"] * 2
    talk = [one for one in model.requests if "find_poem" in str(one.body)]
    assert "我家有一只猫" in str(talk[-1].messages)
    assert "处处闻啼鸟" in str(talk[-1].messages)


async def test_the_model_asks_when_a_wish_is_unclear(
    session: OdaSession, model: ModelServer
) -> None:
    model.play([calls("ask_what_is_meant", question="你想背诵还是写作业呀？")])
    answers = await ask(session, "那个，就是那个嘛")
    assert model.received == 1
    assert (answers.places, answers.first_lines) == (["chat/clarify"], ["你想背诵还是写作业呀？"])
    model.play([Text(text="要我听你背诵吗？")])
    assert (await ask(session, "聊聊天吧", "帮我一下")).places == ["chat/idle", "chat/clarify"]


async def test_the_model_tells_a_wish_and_the_child_agrees_in_its_own_words(
    session: OdaSession, model: ModelServer
) -> None:
    model.play([meant("recite", 60, title="静夜思"), says(decision="confirm")])
    answers = await ask(session, "老师让我把月亮那首记住", "嗯那就来一个呗")
    assert answers.places == ["chat/handoff_wait", "recite/listening"]
    assert "《静夜思》" in answers.texts[1]


async def test_a_title_that_the_child_does_not_want_starts_nothing(
    session: OdaSession, model: ModelServer
) -> None:
    model.play([Text(text="好的呀，那就不念这一首。")])
    answers = await ask(session, "我要背诵", "写春天的那一首我可不想再念给你听了呀")
    assert answers.places == ["recite/idle"] * 2
    assert answers.texts[1].startswith("好的呀，那就不念这一首。\n你想背哪一篇呢")


async def test_reciting_needs_no_model(session: OdaSession, model: ModelServer) -> None:
    answers = await ask(session, "背静夜思", "床前明月光", "下一句是什么", POEM)
    assert answers.places[-1] == "recite/done"
    assert model.received == 0


async def test_a_question_while_reciting_is_the_models(
    session: OdaSession, model: ModelServer
) -> None:
    model.play([Text(text="意思是怀疑地上有一层霜。")])
    answers = await ask(session, "背静夜思", "床前明月光", "疑是是什么意思？", "疑是地上霜")
    assert answers.texts[2].startswith("意思是怀疑地上有一层霜。")
    assert "疑是地上霜" in str(model.requests[-1].body), "the model sees the text"
    assert "2" in answers.texts[3]


@pytest.mark.parametrize("confidence", [1.0, 0.95, 0.4])
async def test_a_text_that_the_model_recalls_is_shown_and_asked_about(
    session: OdaSession, model: ModelServer, confidence: float
) -> None:
    text = "小池塘边柳丝长，\n青蛙唱歌呱呱响。"
    model.play([says(known=True, text=text, author="佚名", confidence=confidence)])
    answers = await ask(session, "背《小池塘边》")
    assert answers.places == ["recite/idle"]
    assert text in answers.texts[0]
    assert (await ask(session, "对")).places == ["recite/listening"]
    done = await ask(session, "小池塘边柳丝长青蛙唱歌呱呱响")
    assert done.card["score"] == 100


async def test_a_text_that_the_model_does_not_know_is_sent_by_the_child(
    session: OdaSession, model: ModelServer
) -> None:
    model.play([says(known=False)])
    answers = await ask(session, "背《我自己写的诗》")
    assert answers.places == ["recite/idle"]
    assert "发给我" in answers.texts[0]


async def test_the_model_only_words_the_tips(session: OdaSession, model: ModelServer) -> None:
    model.play([says(tips=["想象月光像霜一样白。"])])
    answers = await ask(session, "背静夜思", "床前看月光，疑是地下霜，举头看明月，低头想家乡")
    assert answers.card["tips"] == ["想象月光像霜一样白。"]
    assert answers.card["score"] == 75


async def test_the_model_checks_what_code_cannot(session: OdaSession, model: ModelServer) -> None:
    judged = [
        {"number": 2, "correct": True, "expected": "Paris", "comment": "Well done!"},
        {"number": 3, "correct": False, "expected": "8", "comment": "A spider has 8 legs."},
        {"number": 9, "correct": False, "expected": "x", "comment": "There is no such item."},
    ]
    model.play([says(items=judged)])
    answers = await ask(
        session,
        "check my homework:\n1. 3+4=7\n2. What is the capital of France? Paris\n"
        "3. How many legs does a spider have? 6",
    )
    items = answers.card["items"]
    assert [(item["correct"], item["checked_by"]) for item in items] == [
        (True, "code"),
        (True, "model"),
        (False, "model"),
    ]
    assert "8" not in answers.texts[0], "the child is to find it"
    model.play(
        [
            says(solution="8", hint="It has 8 legs."),
            says(items=[{"number": 1, "correct": True, "expected": "8", "comment": "Yes!"}]),
        ]
    )
    hinted, solved = (await ask(session, "hint", "8")).responses
    assert "8" not in hinted["content"]["text"], "a first hint tells no answer"
    assert solved["phase"] == "summary"


async def test_only_the_last_hint_may_tell_the_answer(oda: OdaContext, model: ModelServer) -> None:
    model.play([says(solution="eight", hint="The answer is eight.")] * 3)
    question = {"question": "How many legs does a spider have?", "answer": "6"}
    hints = [await answer("homework-tutor", **question, hint_level=level) for level in (1, 2, 3)]
    assert [("eight" in one.hint, one.reveals_answer) for one in hints] == [
        (False, False),
        (False, False),
        (True, True),
    ]


async def test_a_photo_of_homework_is_read_and_checked(
    session: OdaSession, model: ModelServer
) -> None:
    photo = Part(inline_data=Blob(mime_type="image/png", data=b"\x89PNG"))
    model.play([Text(text="3+4=7\n5×6=31", match=Match(system="Write down what stands"))])
    got = response(await session.ask(Content(role="user", parts=[photo])))
    assert (got["scene"], got["phase"]) == ("homework", "tutoring")
    assert [item["correct"] for item in got["content"]["items"]] == [True, False]


async def test_a_photo_in_a_request_is_read_by_the_step(
    oda: OdaContext, model: ModelServer
) -> None:
    for image in ("iVBORw0=", "data:image/png;base64,iVBORw0=", {"data": "iVBORw0="}):
        model.play([Text(text="3+4=8")])
        found = await answer("homework-correct", image=image)
        assert [(item.question, item.correct) for item in found.items] == [("3+4", False)]


async def test_a_photo_that_cannot_be_read_costs_nothing_else(
    oda: OdaContext, model: ModelServer
) -> None:
    model.play(Script(default=Error(status=400, times=None)))
    items = [{"question": "3+4", "answer": "7"}]
    found = await answer("homework-correct", items=items, image="iVBORw0=")
    assert [item.correct for item in found.items] == [True]
    assert found.problem.code == "bad_request"


async def test_what_a_photo_shows_is_kept_when_the_model_then_fails(
    oda: OdaContext, model: ModelServer
) -> None:
    page = "3+4=7\nWhat is the capital of France? Paris"
    model.play(Script(steps=(Text(text=page),), default=Error(status=503, times=None)))
    found = await answer("homework-correct", image="iVBORw0=")
    assert [(item.correct, item.checked_by) for item in found.items] == [
        (True, "code"),
        (None, "none"),
    ]


CONVERSATION = (
    *("我家有一只猫", "帮我一下", "老师让我记住月亮那首", "背《没有人知道的诗》"),
    *("背静夜思", "这是什么意思？", "床前看月光，疑是地下霜，举头看明月，低头想家乡"),
    *("不背了", "check my homework: What is the capital of France? Paris\n5*6=31"),
    *("hint", "30", "I wonder about something", "bye"),
)
PLACES = [
    *["chat/idle", "chat/clarify", "chat/idle", "recite/idle"],
    *["recite/listening"] * 3,
    *["chat/idle", "homework/tutoring", "homework/tutoring", "homework/summary"],
    *["homework/collecting", "chat/idle"],
]
LIES = Text(text='{"intent": "dance", "score": 900, "decision": 5, "items": 3}', times=None)


@pytest.mark.parametrize(
    "trouble",
    [
        Error(status=503, times=None),
        Error(status=401, times=None),
        LIES,
    ],
    ids=["down", "refused", "nonsense"],
)
async def test_no_turn_fails_because_the_model_does(
    session: OdaSession, model: ModelServer, trouble: Any
) -> None:
    model.play(Script(default=trouble))
    answers = await ask(session, *CONVERSATION)
    assert all(one["success"] for one in answers.responses)
    assert answers.places == PLACES


async def test_no_turn_fails_because_the_model_is_slow(tmp_path: Path, model: ModelServer) -> None:
    async with companion(tmp_path, model=model, model_timeout_s=0.2) as oda:
        session = await oda.sessions.create(APP, CHILD)
        model.play(Script(default=Hang(times=None)))
        answers = await ask(session, "我家有一只猫", "背静夜思", "这是什么意思？", POEM)
    assert answers.places == ["chat/idle", *["recite/listening"] * 2, "recite/done"]


async def test_what_a_fallback_has_answered_is_on_record(
    session: OdaSession, model: ModelServer
) -> None:
    model.play(Script(default=Error(status=503, times=None)))
    reply = await session.ask("我家有一只猫")
    assert steps_in(reply.events) == ["classify-intent", "chat!"]
    assert model.received == 4, "the runtime's ordinary attempts"
    assert "走神" in reply.text


async def test_one_message_is_one_call_wherever_it_is_said(
    session: OdaSession, model: ModelServer
) -> None:
    places = {
        "我家有一只猫": "chat/idle",
        "背静夜思": "recite/listening",
        "霜是什么样子的呀": "recite/listening",
        "不背了": "chat/idle",
        "批改作业：5×6=31": "homework/tutoring",
        "我今天坐了飞机": "homework/tutoring",
    }
    model.play(Script(default=Text(text="真好呀。", times=None)))
    answers = await ask(session, *places)
    assert answers.places == [*places.values()]
    assert model.received == 3
    assert "举头望明月" in str(model.requests[1].body)
    assert "5×6" in str(model.requests[2].body)
    assert answers.texts[2] == "真好呀。\n我们接着背《静夜思》吧！"


async def test_the_model_takes_an_answer_that_rules_do_not_know(
    session: OdaSession, model: ModelServer
) -> None:
    page = "批改作业：\n1. 太阳是什么颜色？\n2. 8+7="
    taken = calls("take_answer", answer="红红的颜色")
    refused = calls("take_answer", answer="我的铅笔断了")
    judged = says(items=[{"number": 1, "correct": True, "expected": "红色", "comment": "对！"}])
    model.play([taken, refused, judged])
    answers = await ask(session, page, "我猜它嘛红通通的呀老师你看", "我的铅笔断了", "15")
    assert answers.places == [*["homework/correcting"] * 3, "homework/summary"]
    assert [item["answer"] for item in answers.card["items"]] == ["红红的颜色", "15"]


async def test_the_model_leads_from_one_task_to_another(
    session: OdaSession, model: ModelServer
) -> None:
    model.play([meant("recite", 90, title="春晓"), meant("stop", 80), meant("homework", 60)])
    answers = await ask(
        session, "批改作业：5×6=31", "要不听我来一段写春天的", "哎呀我想歇会儿呢", "我有几道算式"
    )
    assert answers.places[1:] == ["recite/listening", "chat/idle", "chat/handoff_wait"]
    assert "《春晓》" in answers.texts[1]
    assert model.received == 3


async def test_the_model_knows_the_child_and_what_was_said_elsewhere(
    oda: OdaContext, model: ModelServer
) -> None:
    other = await oda.sessions.create(APP, CHILD)
    model.play(Script(default=Text(text="真棒！", times=None)))
    await ask(other, "我叫小明，上三年级", "我家有一只叫花花的猫", "背静夜思", BADLY, "5×6=31")
    session = await oda.sessions.create(APP, CHILD)
    await ask(session, "猜猜我今天做了什么好事")
    seen = str(model.requests[-1].body)
    for told in ("name: 小明", "grade: 3", "花花", "静夜思: 1 round(s), best 75", "5×6", "Pace"):
        assert told in seen
