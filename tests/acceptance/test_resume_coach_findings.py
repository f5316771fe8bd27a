"""What a model finds in a resume besides the rules: it counts where its quotation stands there."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio

from oda.testing import ModelServer
from oda.testing.script import Error, Match, Step, Text
from tests.support.coached import AGENTS, RESUME
from tests.support.model_settings import gemini, openai

pytestmark = pytest.mark.asyncio(loop_scope="module")

SESSIONS = "/api/resume-coach/sessions"
PLANNING = Match(system="defects")
CLICHE = "likes difficult regions"
SENTENCE = "Keeps long relations with wholesalers and likes difficult regions."

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


def finding(path: str = "basics.summary", quotation: str = CLICHE, **more: str) -> Json:
    words = {"diagnosis": "Nobody can check that.", "goal": "Say which regions.", "opening": ""}
    return {"path": path, "quotation": quotation, **words, **more}


def finds(*findings: Json) -> Text:
    answer = json.dumps({"tasks": [], "findings": findings}, ensure_ascii=False)
    return Text(text=answer, match=PLANNING)


async def planned(
    client: httpx.AsyncClient, model: ModelServer, *steps: Step, resume: Json = RESUME
) -> Json:
    model.play([*steps])
    created = await client.post(SESSIONS, json={"resume": resume, "intent": ""})
    assert created.status_code == 201, created.text
    view: Json = created.json()
    return view


async def say(client: httpx.AsyncClient, view: Json, message: str) -> Json:
    where = f"{SESSIONS}/{view['session_id']}/messages"
    said = await client.post(where, json={"message": message})
    assert said.status_code == 200, said.text
    answered: Json = said.json()
    return answered


def contents(view: Json) -> list[Json]:
    return [task for task in view["tasks"] if task["kind"] == "content"]


def others(view: Json) -> list[str]:
    return [task["id"] for task in view["tasks"] if task["kind"] != "content"]


async def rules_alone(client: httpx.AsyncClient, model: ModelServer) -> Json:
    return await planned(client, model, Error(status=503, match=PLANNING, times=None))


async def test_a_finding_becomes_a_task_that_quotes_the_resume(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    before = await rules_alone(client, model)
    received = model.received
    opening = "Which region was hard, and what did you do there?"
    view = await planned(client, model, finds(finding(opening=opening)))
    assert model.received == received + 1, "the words and the findings are one call"
    (task,) = contents(view)
    assert (task["section"], task["entry"], task["status"]) == ("basics", None, "pending")
    assert CLICHE in task["diagnosis"]
    assert "Nobody can check that." in task["diagnosis"]
    assert task["goal"] == "Say which regions."
    assert others(view) == others(before)
    assert view["score"] == before["score"]
    number = view["tasks"].index(task) + 1
    opened = await say(client, view, f"back to task {number}")
    assert opening in opened["reply"]


async def test_what_is_told_takes_the_place_of_the_whole_statement(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    silent = Error(status=503, match=Match(system="mend one thing"), times=None)
    view = await planned(client, model, finds(finding()), silent)
    number = view["tasks"].index(contents(view)[0]) + 1
    told = "Opened up the Highlands, where 14 wholesalers had never bought from us."
    drafted = await say(client, await say(client, view, f"back to task {number}"), f"write: {told}")
    assert drafted["action"] == "REQUEST_CONFIRM"
    done = await say(client, drafted, "yes")
    assert done["resume"]["basics"]["summary"] == f"Sales manager in building materials. {told}"
    assert contents(done)[0]["status"] == "done"


async def test_a_finding_follows_its_entry(client: httpx.AsyncClient, model: ModelServer) -> None:
    quoted = "wrote the handbook for the ordering system"
    silent = Error(status=503, match=Match(system="mend one thing"), times=None)
    view = await planned(client, model, finds(finding("work[0]", quoted)), silent)
    order = next(n for n, task in enumerate(view["tasks"], 1) if task["kind"] == "order")
    moved = view
    for message in (f"back to task {order}", "yes", "yes"):
        moved = await say(client, moved, message)
    assert moved["resume"]["work"][1]["name"] == "Brickworks"
    (task,) = contents(moved)
    assert (task["entry"], task["status"]) == (1, "pending")
    number = moved["tasks"].index(task) + 1
    told = "Trained 12 new colleagues, 9 of whom sold within a month"
    for message in (f"back to task {number}", f"write: {told}", "yes"):
        moved = await say(client, moved, message)
    assert moved["resume"]["work"][1]["highlights"][1] == told


@pytest.mark.parametrize(
    "lie",
    [
        finding(quotation="Led a team of 50 people"),
        finding("work[1]", CLICHE),
        finding("work[7].highlights[0]", CLICHE),
        finding("work[0].highlights[7]", "Won 40 new accounts"),
        finding("hobbies", CLICHE),
        finding("basics..summary", CLICHE),
        finding("work", "Won 40 new accounts"),
        finding("basics.name", "Tom Brennan"),
        finding("", CLICHE),
        finding(quotation="  "),
        finding(quotation="."),
    ],
    ids=[
        *("invented", "elsewhere", "no entry", "no line", "no section", "no path", "a section"),
        *("a name", "nowhere", "blank", "a dot"),
    ],
)
async def test_a_finding_that_quotes_what_is_not_there_is_dropped(
    client: httpx.AsyncClient, model: ModelServer, lie: Json
) -> None:
    view = await planned(client, model, finds(lie, finding(quotation="likes\n difficult  regions")))
    assert [task["id"] for task in contents(view)] == ["content:basics.summary"]
    assert SENTENCE.rstrip(".") in contents(view)[0]["diagnosis"]


async def test_doubles_are_dropped(client: httpx.AsyncClient, model: ModelServer) -> None:
    weak = finding("work[1].highlights[1]", "Helped the marketing department")
    again = finding("basics", "Keeps long relations")
    view = await planned(client, model, finds(weak, finding(), again))
    assert [task["id"] for task in contents(view)] == ["content:basics.summary"]


async def test_no_more_than_five(client: httpx.AsyncClient, model: ModelServer) -> None:
    lines = [f"Sold roof tiles to {number} builders in Leeds" for number in range(11, 20)]
    resume = {**RESUME, "work": [{**RESUME["work"][1], "highlights": lines}]}
    found = [finding(f"work[0].highlights[{n}]", line) for n, line in enumerate(lines)]
    view = await planned(client, model, finds(*found), resume=resume)
    assert len(contents(view)) == 5


@pytest.mark.parametrize(
    "step",
    [
        Text(text="Your resume is fine!", match=PLANNING, times=None),
        Text(text='{"tasks": [], "findings": [{"path": 7}]}', match=PLANNING, times=None),
        Text(text='{"tasks": [], "findings": "none"}', match=PLANNING, times=None),
        Text(text="", match=PLANNING, times=None),
    ],
    ids=["prose", "wrong fields", "no list", "empty"],
)
async def test_a_model_that_answers_badly_leaves_the_plan_to_the_rules(
    client: httpx.AsyncClient, model: ModelServer, step: Step
) -> None:
    before = await rules_alone(client, model)
    view = await planned(client, model, step)
    assert view["tasks"] == before["tasks"]
    assert view["reply"] == before["reply"]


async def test_a_wish_for_one_section_holds_for_the_model_too(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    model.play([finds(finding(), finding("work[0]", "Trained 12 new colleagues"))])
    wished = {"resume": RESUME, "intent": "only work on my work experience"}
    view = (await client.post(SESSIONS, json=wished)).json()
    assert [task["section"] for task in contents(view)] == ["work"]
