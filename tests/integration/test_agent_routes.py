"""An agent brings HTTP routes of its own; what is wrong with them harms nobody."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from oda.clock import SystemClock
from oda.database.database import open_database
from oda.database.migrate import upgrade
from oda.identity.keys import ApiKeys
from oda.server.app import create_app
from oda.settings import Settings
from tests.support.oda_command import Home

AGENT = """
from google.adk.agents import BaseAgent
from google.adk.events import Event
from google.genai.types import Content, Part

class Echo(BaseAgent):
    async def _run_async_impl(self, ctx):
        said = ctx.user_content.parts[0].text
        if said == "fail":
            raise ValueError("no")
        yield Event(
            author=self.name, invocation_id=ctx.invocation_id,
            content=Content(role="model", parts=[Part(text=f"{self.name}: {said}")]),
        )

root_agent = Echo(name="NAME")
"""
ROUTES = """
from fastapi import APIRouter
from oda.server import Conversations, Frame, Refusal, problem_responses, sse_response

router = APIRouter(prefix="/api/NAME", tags=["NAME"])

@router.post("/{session_id}", name="NAME_say", responses=problem_responses(409))
async def say(session_id: str, text: str, conversations: Conversations) -> dict[str, object]:
    if text == "busy":
        raise Refusal(409, "Not now.", code="not_now", remedy="come back", details={"until": 5})
    if text == "break":
        raise RuntimeError("secret")
    session, is_new = await conversations.get_or_begin(session_id, state={"seen": 0})
    turn = await conversations.submit(session, text, state_delta={"seen": text})
    turn = await conversations.ended(turn)
    state = await conversations.state_after(session, turn)
    return {
        "app": conversations.app, "user": conversations.user_id, "new": is_new,
        "reply": turn.reply, "status": turn.status, "turn": turn.turn_id, "seen": state["seen"],
    }

@router.get("/{session_id}", name="NAME_follow")
async def follow(session_id: str, conversations: Conversations):
    session = await conversations.get(session_id)
    turn = await conversations.submit(session, "again")
    async def frames():
        async for item in conversations.follow(turn):
            if item is not None:
                yield [Frame(None, type(item).__name__, item.model_dump_json().encode())]
    return sse_response(frames(), {})

def routes() -> APIRouter:
    return router
"""
ORCHESTRATOR = """
from oda.orchestration import Orchestrator, Reply, Workflow

class Chat(Workflow):
    name, purpose, titles, phases = "chat", "talk", {"en": "chat"}, ("idle",)

    def expects(self, text, phase, data):
        return True

    async def run(self, turn):
        return Reply(text=f"NAME: {turn.text}")

root_agent = Orchestrator("NAME", scenes=(Chat(),))
"""
ORCHESTRATOR_ROUTES = """
from oda.server import orchestrator_routes
from .agent import root_agent

def routes():
    return orchestrator_routes(root_agent, is_default=IS_DEFAULT)
"""
BROKEN = {
    "syntax": "def routes(:",
    "fails_to_load": "raise RuntimeError('no coffee')",
    "no_function": "router = 1",
    "fails_when_called": "def routes():\n    raise RuntimeError('no tea')",
    "no_router": "def routes():\n    return 'x'",
    "not_below_api": (
        "from fastapi import APIRouter\nrouter = APIRouter()\n"
        "@router.get('/v1/apps')\nasync def mine() -> str:\n    return 'mine'\n"
        "def routes():\n    return router"
    ),
}


def write(agents: Path, name: str, routes: str | None = ROUTES) -> None:
    folder = agents / name
    folder.mkdir(parents=True)
    (folder / "agent.py").write_text(AGENT.replace("NAME", name))
    if routes is not None:
        (folder / "routes.py").write_text(routes.replace("NAME", name))


@asynccontextmanager
async def serving(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    settings = Settings.load(
        agents_dir=tmp_path / "agents", data_dir=tmp_path / "data", config_dir=tmp_path / "config"
    )
    app = create_app(settings, dev_ui=False)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client,
    ):
        yield client


async def errors(client: httpx.AsyncClient) -> dict[str, str | None]:
    """What `/v1/apps` says is wrong, by app."""
    apps = (await client.get("/v1/apps")).json()["apps"]
    return {app["name"]: app["error"] for app in apps}


async def test_a_route_talks_with_its_own_app_through_recorded_turns(tmp_path: Path) -> None:
    write(tmp_path / "agents", "routed_one")
    write(tmp_path / "agents", "routed_two")
    async with serving(tmp_path) as client:
        for app in ("routed_one", "routed_two"):
            first = (await client.post(f"/api/{app}/s", params={"text": "hi"})).json()
            again = (await client.post(f"/api/{app}/s", params={"text": "ho"})).json()
            assert (first["app"], first["user"], first["new"]) == (app, "local", True)
            assert (again["reply"], again["new"], again["seen"]) == (f"{app}: ho", False, "ho")
            listed = (await client.get(f"/v1/apps/{app}/sessions/s/turns")).json()["turns"]
            assert [turn["turn_id"] for turn in listed] == [again["turn"], first["turn"]]
        failed = (await client.post("/api/routed_one/s", params={"text": "fail"})).json()
        assert failed["status"] == "failed"
        assert await errors(client) == {"routed_one": None, "routed_two": None}


async def test_a_turn_is_followed_to_its_end(tmp_path: Path) -> None:
    write(tmp_path / "agents", "routed_stream")
    async with serving(tmp_path) as client:
        await client.post("/api/routed_stream/s", params={"text": "hi"})
        told = (await client.get("/api/routed_stream/s")).text
        kinds = [line[7:] for line in told.splitlines() if line.startswith("event: ")]
        assert kinds[0] == kinds[-1] == "Turn"
        assert "Event" in kinds
        last = json.loads(told.strip().splitlines()[-1].removeprefix("data: "))
        assert (last["status"], last["reply"]) == ("succeeded", "routed_stream: again")


async def test_what_a_route_refuses_is_a_problem(tmp_path: Path) -> None:
    write(tmp_path / "agents", "routed_refusal")
    async with serving(tmp_path) as client:
        answer = await client.post("/api/routed_refusal/s", params={"text": "busy"})
        assert answer.status_code == 409
        assert answer.headers["content-type"] == "application/problem+json"
        problem = answer.json()
        assert (problem["type"], problem["code"]) == ("/problems/not-now", "not_now")
        assert (problem["detail"], problem["until"]) == ("Not now. (come back)", 5)
        missing = await client.get("/api/routed_refusal/never")
        assert (missing.status_code, missing.json()["code"]) == (404, "session_not_found")
        wrong = await client.post("/api/routed_refusal/s")
        assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, "text")
        broken = await client.post("/api/routed_refusal/s", params={"text": "break"})
        assert broken.status_code == 500
        assert "secret" not in broken.text


async def test_what_stands_around_our_routes_stands_around_an_agents(tmp_path: Path) -> None:
    write(tmp_path / "agents", "routed_closed")
    database_file = tmp_path / "data" / "oda.db"
    database_file.parent.mkdir()
    async with open_database(f"sqlite:///{database_file}") as database:
        await upgrade(database.engine)
        keys = ApiKeys(database, SystemClock())
        anna, bert = [(await keys.create(name, "user"))[1] for name in ("anna", "bert")]
        root = (await keys.create("root", "admin"))[1]
    path = "/api/routed_closed/s"
    async with serving(tmp_path) as client:
        refused = await client.post(path, params={"text": "hi"})
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        as_anna, as_bert, as_root = (
            {"Authorization": f"Bearer {key}"} for key in (anna, bert, root)
        )
        made = await client.post(path, params={"text": "hi"}, headers=as_anna)
        assert made.json()["user"] == "anna"
        assert len(made.headers["x-trace-id"]) == 32
        assert (await client.get(path, headers=as_bert)).status_code == 404
        foreign = await client.post(
            path, params={"text": "hi"}, headers={**as_anna, "Origin": "https://evil.example"}
        )
        assert foreign.status_code == 403
        metrics = (await client.get("/metrics", headers=as_root)).text
        assert 'route="/api/routed_closed/{session_id}",status="200"' in metrics


async def test_the_routes_are_in_the_document(tmp_path: Path) -> None:
    write(tmp_path / "agents", "routed_document")
    async with serving(tmp_path) as client:
        document = (await client.get("/openapi.json")).json()
    operation = document["paths"]["/api/routed_document/{session_id}"]["post"]
    assert operation["operationId"] == "routed_document_say"
    assert operation["security"] == [{"bearer": []}]
    assert {"200", "400", "401", "403", "409", "422", "429", "503"} <= set(operation["responses"])
    refused = operation["responses"]["409"]["content"]
    assert list(refused) == ["application/problem+json"]


@pytest.mark.parametrize("kind", BROKEN)
async def test_broken_routes_are_reported_and_the_agent_is_served(
    tmp_path: Path, kind: str
) -> None:
    write(tmp_path / "agents", f"routed_{kind}", BROKEN[kind])
    write(tmp_path / "agents", f"sound_{kind}")
    async with serving(tmp_path) as client:
        told = await errors(client)
        assert told.pop(f"sound_{kind}") is None
        assert told == {f"routed_{kind}": "Its own routes cannot be loaded; `oda doctor` says why."}
        created = await client.post(f"/v1/apps/routed_{kind}/sessions", json={})
        turns = f"{created.headers['location']}/turns"
        answer = await client.post(turns, json={"message": "hi"})
        assert answer.json()["reply"] == f"routed_{kind}: hi"
        sound = await client.post(f"/api/sound_{kind}/s", params={"text": "hi"})
        assert sound.json()["reply"] == f"sound_{kind}: hi"


async def test_of_two_agents_with_one_path_the_first_has_it(tmp_path: Path) -> None:
    write(tmp_path / "agents", "routed_a", ROUTES.replace("/api/NAME", "/api/same"))
    write(tmp_path / "agents", "routed_b", ROUTES.replace("/api/NAME", "/api/same"))
    async with serving(tmp_path) as client:
        answer = await client.post("/api/same/s", params={"text": "hi"})
        assert answer.json()["reply"] == "routed_a: hi"
        told = await errors(client)
        assert told["routed_a"] is None
        assert told["routed_b"] is not None


async def test_several_orchestrators_are_told_apart_by_name(tmp_path: Path) -> None:
    for name, is_default in (("orchestra_a", "True"), ("orchestra_b", "False")):
        write(tmp_path / "agents", name, ORCHESTRATOR_ROUTES.replace("IS_DEFAULT", is_default))
        agent = tmp_path / "agents" / name / "agent.py"
        agent.write_text(ORCHESTRATOR.replace("NAME", name))
    body = {"input": {"type": "text", "text": "hi"}}
    async with serving(tmp_path) as client:
        assert await errors(client) == {"orchestra_a": None, "orchestra_b": None}
        for path, name in (
            ("", "orchestra_a"),
            ("/orchestra_a", "orchestra_a"),
            ("/orchestra_b", "orchestra_b"),
        ):
            answer = await client.post(f"/api/orchestrator{path}/process", json=body)
            assert answer.json()["content"]["text"] == f"{name}: hi"
        document = (await client.get("/openapi.json")).json()["paths"]
    assert {
        "/api/agents/orchestra_a/classify-intent",
        "/api/agents/orchestra_b/classify-intent",
    } <= set(document)


async def test_a_broken_agent_has_no_routes_and_is_reported_as_before(tmp_path: Path) -> None:
    write(tmp_path / "agents", "routed_dead")
    (tmp_path / "agents" / "routed_dead" / "agent.py").write_text("raise RuntimeError('dead')")
    async with serving(tmp_path) as client:
        assert await errors(client) == {
            "routed_dead": "It cannot be loaded; `oda doctor` says why."
        }
        assert (await client.get("/api/routed_dead/s")).status_code == 404


async def test_the_doctor_says_what_is_wrong_with_routes(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write("agents/greeter/routes.py", BROKEN["fails_when_called"])
    ended = await home.run("doctor", "--json")
    found = {item["check"]: item for item in json.loads(ended.stdout)["checks"]}
    assert found["agent greeter"]["status"] == "fail"
    assert "no tea" in found["agent greeter"]["detail"]
    assert ended.code != 0
