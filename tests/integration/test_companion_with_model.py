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
CLASSIFIES = Match(system="You classify one message")
CONTINUES = Text(text='{"intent": "continue_current", "score": 90}', match=CLASSIFIES, times=None)


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


def meant(intent: str, score: int, **slots: str) -> Text:
    """What the model takes one message for."""
    named = [{"name": name, "value": value} for name, value in slots.items()]
    fields = {"intent": intent, "score": score, "slots": named}
    return Text(text=json.dumps(fields, ensure_ascii=False), match=CLASSIFIES)


async def answer(name: str, **request: Any) -> Any:
    """What a step answers that is called by itself."""
    step: Step[Any, Any] = next(step for step in root_agent.steps if step.name == name)
    context = StepContext(user_id=CHILD, now=datetime(2026, 3, 10, tzinfo=UTC))
    return (await step(step.request.model_validate(request), context)).response


async def test_the_model_talks_with_tools_and_knows_what_was_said(
    session: OdaSession, model: ModelServer
) -> None:
    find = ToolCalls(calls=(Call(name="find_poem", args={"title": "春晓"}),))
    model.play([CONTINUES, Text(text="真可爱！"), find, Text(text="春眠不觉晓，你会背吗？")])
    answers = await ask(session, "我家有一只猫", "有没有写春天的诗？")
    assert answers.texts == ["真可爱！", "春眠不觉晓，你会背吗？"]
    assert answers.places == ["chat/idle"] * 2
    talk = [one for one in model.requests if "find_poem" in str(one.body)]
    assert "我家有一只猫" in str(talk[-1].messages)
    assert "处处闻啼鸟" in str(talk[-1].messages)


async def test_the_model_asks_when_a_wish_is_unclear(
    session: OdaSession, model: ModelServer
) -> None:
    unclear = ToolCalls(calls=(Call(name="wish_is_unclear", args={}),))
    model.play([CONTINUES, unclear, Text(text="你想背诵还是写作业呀？")])
    answers = await ask(session, "那个，就是那个嘛")
    assert (answers.places, answers.texts) == (["chat/clarify"], ["你想背诵还是写作业呀？"])
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
    refused = says(wants_recitation=False, title="春晓", reason="it is fed up with it")
    model.play([meant("recite", 90), refused, Text(text="好的呀。")])
    answers = await ask(session, "写春天的那一首我可不想再念给你听了呀")
    assert answers.places == ["recite/idle"]
    assert "春晓" not in answers.texts[0].splitlines()[0]


async def test_reciting_needs_no_model(session: OdaSession, model: ModelServer) -> None:
    answers = await ask(session, "背静夜思", "床前明月光", "下一句是什么", POEM)
    assert answers.places[-1] == "recite/done"
    assert model.received == 0


async def test_a_question_while_reciting_is_the_models(
    session: OdaSession, model: ModelServer
) -> None:
    model.play([CONTINUES, Text(text="意思是怀疑地上有一层霜。")])
    answers = await ask(session, "背静夜思", "床前明月光", "疑是是什么意思？", "疑是地上霜")
    assert answers.texts[2].startswith("意思是怀疑地上有一层霜。")
    assert "疑是地上霜" in str(model.requests[-1].body), "the model sees the text"
    assert "2" in answers.texts[3]


@pytest.mark.parametrize(("confidence", "phase"), [(0.95, "listening"), (0.4, "idle")])
async def test_a_text_that_the_model_recalls_is_trusted_or_asked_about(
    session: OdaSession, model: ModelServer, confidence: float, phase: str
) -> None:
    text = "小池塘边柳丝长，\n青蛙唱歌呱呱响。"
    model.play([says(known=True, text=text, author="佚名", confidence=confidence)])
    answers = await ask(session, "背《小池塘边》")
    assert answers.places == [f"recite/{phase}"]
    if phase == "idle":
        answers = await ask(session, "对")
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
    assert steps_in(reply.events) == ["classify-intent!", "chat!"]
    assert "走神" in reply.text
