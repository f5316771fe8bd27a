"""A coach whose dialogue a model leads: one that does well, one that does badly, one that lies."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio

from oda.testing import ModelServer
from oda.testing.script import Error, Hang, Match, Step, Text
from tests.support.coached import AGENTS, ANSWERS, RESUME
from tests.support.model_settings import gemini, openai

pytestmark = pytest.mark.asyncio(loop_scope="module")

SESSIONS = "/api/resume-coach/sessions"
LINE = "work[1].highlights[1]"
WORDED = "Planned the trade fair stand that won 9 customers"
TOLD = ANSWERS["weak_verbs"]
PLAN = Text(text='{"tasks": []}', match=Match(system="defects"), times=None)

Json = dict[str, Any]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=[gemini, openai])
async def client(serve_folder: Any, model: ModelServer, request: Any) -> httpx.AsyncClient:
    settings = request.param(model)
    server = await serve_folder(AGENTS, **settings, LIMITS__REQUESTS_PER_MINUTE="100000")
    http: httpx.AsyncClient = server.client
    return http


def turn(
    say: str, understood: str = "talk", next: str = "ask", text: str | None = None, **draft: Any
) -> str:
    """What the model answers."""
    edits = [{"path": LINE, "action": "update", "value": text, **draft.pop("edit", {})}]
    proposed = None if text is None else {"edits": edits, "wordings": [], **draft}
    return json.dumps(
        {"say": say, "understood": understood, "draft": proposed, "next": next}, ensure_ascii=False
    )


def says(*args: Any, **kwargs: Any) -> Text:
    return Text(text=turn(*args, **kwargs), match=Match(system="mend one thing"))


async def at_weak_verbs(client: httpx.AsyncClient, model: ModelServer, *steps: Step) -> Json:
    """A coaching at the task with the weak verb, with a model that plays the steps."""
    model.play([PLAN, *steps])
    created = await client.post(SESSIONS, json={"resume": RESUME, "intent": "sales jobs"})
    assert created.status_code == 201, created.text
    return await say(client, created.json(), "back to task 3")


async def say(client: httpx.AsyncClient, view: Json, *messages: str | bool) -> Json:
    for message in messages:
        body = {"confirm": message} if isinstance(message, bool) else {"message": message}
        where = f"{SESSIONS}/{view['session_id']}/messages"
        said = await client.post(where, json=body)
        assert said.status_code == 200, said.text
        view = said.json()
    return view


async def test_a_conversation(client: httpx.AsyncClient, model: ModelServer) -> None:
    why = 'A reader cannot tell what you did when it says "helped". What was your part?'
    view = await at_weak_verbs(
        client,
        model,
        says(why, "question"),
        says("That says much more. Like this?", "answer", "confirm", text=TOLD),
        says("Here it is a little shorter.", "wish", "confirm", text=WORDED),
        says("Glad you like it!", "talk"),
    )
    received = model.received
    asked = await say(client, view, "Why is that a problem?")
    assert (asked["reply"], asked["draft"]) == (why, None)
    assert model.received == received + 1, "a turn that only talks makes one call"
    drafted = await say(client, asked, "I planned the stand, we won 9 customers there")
    assert drafted["action"] == "REQUEST_CONFIRM"
    assert drafted["reply"].startswith("That says much more. Like this?")
    shorter = await say(client, drafted, "make it shorter")
    assert [one["value"] for one in shorter["draft"]["edits"]] == [WORDED]
    sent = str(model.requests[-1].body)
    assert "Holloway Timber" in sent
    assert "we won 9 customers there" in sent
    assert why[:30] in json.dumps(model.requests[-1].body).replace("\\", "")
    liked = await say(client, shorter, "oh, lovely")
    assert liked["reply"] == "Glad you like it!"
    assert liked["draft"] == shorter["draft"]
    received = model.received
    done = await say(client, liked, "yes")
    assert done["resume"]["work"][1]["highlights"][1] == WORDED
    assert model.received == received, "a yes asks no model"


async def test_what_the_model_says_streams_word_by_word(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    why = "It tells nobody what “you” did.\nWhat was your own part?"
    view = await at_weak_verbs(client, model, says(why, "question"))
    answer = await client.post(
        f"{SESSIONS}/{view['session_id']}/messages",
        json={"message": "Why is that a problem?"},
        headers={"Accept": "text/event-stream"},
    )
    frames = [frame.split("\n") for frame in answer.text.split("\n\n") if "event: " in frame]
    told = [json.loads(data.removeprefix("data: ")) for _, data in frames]
    kinds = [kind.removeprefix("event: ") for kind, _ in frames]
    assert kinds[-1] == "view"
    assert kinds.count("text") >= 1
    spoken = "".join(one["text"] for kind, one in zip(kinds, told, strict=True) if kind == "text")
    assert spoken == why == told[-1]["reply"]


async def test_up_to_three_wordings_to_choose_from(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    others = ["Won 9 customers with a stand planned for the trade fair", "Ran the stand: 9 won"]
    view = await at_weak_verbs(
        client, model, says("Which one?", "answer", "confirm", text=WORDED, wordings=others)
    )
    shown = await say(client, view, TOLD)
    assert all(text in shown["reply"] for text in (WORDED, *others))
    assert shown["draft"]["edits"][0]["value"] == WORDED
    chosen = await say(client, shown, "the second one")
    assert chosen["draft"]["edits"][0]["value"] == others[0]
    done = await say(client, chosen, True)
    assert done["resume"]["work"][1]["highlights"][1] == others[0]


@pytest.mark.parametrize(
    "step",
    [
        says("Like this?", "answer", "confirm", text=f"{WORDED} and raised sales by 30%"),
        says("Like this?", "answer", "confirm", text=f"{WORDED} for Google"),
        says("Like this?", "answer", "confirm", text=WORDED, edit={"path": "basics.name"}),
        says("Like this?", "answer", "confirm", text=WORDED, edit={"action": "delete"}),
        says("Like this?", "answer", "confirm", text=WORDED, edit={"path": "work[7].summary"}),
        says("Like this?", "answer", "confirm", text=WORDED, wordings=["Won 900 customers"]),
        says("I have updated your resume for you.", "answer"),
        says("   ", "answer"),
        Text(text="Sure, happy to help!", match=Match(system="mend one thing"), times=2),
        Text(text='{"say": 7}', match=Match(system="mend one thing"), times=2),
        Text(text="", match=Match(system="mend one thing"), times=2),
        Error(status=503, match=Match(system="mend one thing"), times=None),
    ],
    ids=[
        *("a figure", "an employer", "another place", "a deletion", "no place", "another wording"),
        *("done already", "blank", "prose", "wrong fields", "empty", "down"),
    ],
)
async def test_a_model_that_does_badly_leaves_the_turn_to_the_rules(
    client: httpx.AsyncClient, model: ModelServer, step: Step
) -> None:
    view = await say(client, await at_weak_verbs(client, model, step), TOLD)
    assert [one["value"] for one in view["draft"]["edits"]] == [TOLD]
    assert "I would change this" in view["reply"]
    assert view["resume"] == RESUME


@pytest.mark.parametrize("message", ["Why is that a problem?", "thanks a lot", "make it shorter"])
async def test_nothing_is_written_unasked(
    client: httpx.AsyncClient, model: ModelServer, message: str
) -> None:
    view = await at_weak_verbs(
        client,
        model,
        says("Like this?", "answer", "confirm", text=TOLD),
        says("Good, we take it.", "consent", "apply"),
        says("And this?", "answer", "confirm", text=f"{message} - planned the stand"),
    )
    drafted = await say(client, view, TOLD)
    after = await say(client, drafted, message)
    assert after["resume"] == RESUME
    assert after["draft"] == drafted["draft"]
    again = await say(client, after, message)
    assert again["resume"] == RESUME
    assert message not in json.dumps(again["draft"])


async def test_the_model_may_take_other_words_for_a_yes(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    view = await at_weak_verbs(
        client,
        model,
        says("Like this?", "answer", "confirm", text=WORDED),
        says("Good.", "consent", "apply"),
    )
    done = await say(client, view, TOLD, "alles klar, so nehmen wir das")
    assert done["resume"]["work"][1]["highlights"][1] == WORDED


async def test_a_slow_model_is_not_waited_for_for_ever(serve_folder: Any) -> None:
    async with ModelServer() as slow:
        slow.play([PLAN, Hang(times=None)])
        server = await serve_folder(AGENTS, **gemini(slow), MODEL_TIMEOUT_S="1")
        created = await server.client.post(SESSIONS, json={"resume": RESUME, "intent": "x"})
        view = await say(server.client, created.json(), "back to task 3", TOLD)
    assert view["draft"]["edits"][0]["value"] == TOLD


async def test_a_chinese_conversation(client: httpx.AsyncClient, model: ModelServer) -> None:
    resume = {
        "basics": {"name": "王芳", "email": "wang@example.com", "phone": "13800000000"},
        "work": [
            {
                "name": "青山物流",
                "position": "运营专员",
                "startDate": "2021-03",
                "highlights": ["参与仓库日常管理工作", "带领 6 人小组完成 3 个分仓的搬迁"],
            }
        ],
        "education": [{"institution": "武汉大学", "startDate": "2017-09", "endDate": "2021-01"}],
        "skills": [{"name": "Excel"}],
    }
    opening = {
        "id": "weak_verbs:work[0]",
        "diagnosis": "“参与”看不出你做了什么。",
        "goal": "写清楚你的动作和结果。",
        "opening": "先看青山物流这段：仓库管理里，哪件事是你亲手做的？",
    }
    told = "我重新排了货位，拣货时间少了百分之三十"
    better = "重新规划仓库货位，拣货时间缩短 30%"
    place = {"path": "work[0].highlights[0]"}
    model.play(
        [
            Text(text=json.dumps({"tasks": [opening]}), match=Match(system="defects")),
            says("那就写成这样，你看行吗？", "answer", "confirm", text=better, edit=place),
        ]
    )
    created = await client.post(SESSIONS, json={"resume": resume, "intent": "只改工作经历"})
    view = created.json()
    assert view["current_task"]["diagnosis"] == opening["diagnosis"]
    assert opening["opening"] in view["reply"]
    drafted = await say(client, view, told)
    assert [one["value"] for one in drafted["draft"]["edits"]] == [better]
    done = await say(client, drafted, "可以")
    assert done["resume"]["work"][0]["highlights"][0] == better
