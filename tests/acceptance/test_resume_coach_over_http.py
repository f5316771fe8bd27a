"""The coach as clients meet it: over HTTP and SSE, over killed servers, in `oda chat` and /v1."""

import json
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from mcp_tools.resume import apply_patch
from oda.testing import ModelServer
from oda.testing.script import Error, Text
from tests.support.coached import AGENTS, ANSWERS, APP, RESUME
from tests.support.model_settings import gemini
from tests.support.oda_command import Home

pytestmark = pytest.mark.asyncio(loop_scope="module")

SESSIONS = "/api/resume-coach/sessions"
FIELDS = {
    *("session_id", "action", "reply", "draft", "current_task", "tasks", "progress", "resume"),
    *("diff", "score", "finished", "trace_id"),
}
TASK_FIELDS = {"id", "section", "entry", "kind", "diagnosis", "goal", "priority", "status"}
SSE = {"Accept": "text/event-stream"}

Json = dict[str, Any]


TALK: tuple[str | bool, ...] = (
    *(ANSWERS["missing_contact"], True, "skip", ANSWERS["weak_verbs"], "stop for today", "yes"),
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def killed_at(serve_folder: Any, data: Path) -> list[Json]:
    """A coaching behind each message of `TALK`, when its server was killed."""
    server = await serve_folder(AGENTS, data, LIMITS__REQUESTS_PER_MINUTE="100000")
    views = [
        await say(server.client, await begin(server.client), *TALK[:count])
        for count in range(len(TALK))
    ]
    await server.stop(signal.SIGKILL)
    return views


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(serve_folder: Any, data: Path, killed_at: list[Json]) -> httpx.AsyncClient:
    """Of the server that goes on with the data of the first one."""
    server = await serve_folder(AGENTS, data, LIMITS__REQUESTS_PER_MINUTE="100000")
    http: httpx.AsyncClient = server.client
    return http


async def begin(client: httpx.AsyncClient, resume: Json | None = None, intent: str = "") -> Json:
    body = {"resume": RESUME if resume is None else resume, "intent": intent}
    created = await client.post(SESSIONS, json=body)
    assert created.status_code == 201, created.text
    view: Json = created.json()
    assert created.headers["Location"] == f"{SESSIONS}/{view['session_id']}"
    return view


async def post(client: httpx.AsyncClient, view: Json, body: Json) -> httpx.Response:
    return await client.post(f"{SESSIONS}/{view['session_id']}/messages", json=body)


async def say(client: httpx.AsyncClient, view: Json, *messages: str | bool) -> Json:
    """Say something; a bool answers the draft."""
    for message in messages:
        body = {"confirm": message} if isinstance(message, bool) else {"message": message}
        said = await post(client, view, body)
        assert said.status_code == 200, said.text
        view = said.json()
        assert set(view) == FIELDS
    return view


def mending(view: Json) -> str:
    """What to say to get a draft."""
    return ANSWERS.get(view["current_task"]["kind"], "好的")


async def test_the_whole_flow(client: httpx.AsyncClient) -> None:
    view = await begin(client, intent="找销售经理的工作")
    assert set(view) == FIELDS
    assert (view["action"], view["draft"], view["finished"]) == ("WAIT_INPUT", None, False)
    assert [set(task) for task in view["tasks"]] == [TASK_FIELDS] * 4
    assert view["current_task"] == view["tasks"][0] | {"status": "active"}
    assert view["current_task"]["diagnosis"] in view["reply"]
    asked = await say(client, view, mending(view))
    assert asked["action"] == "REQUEST_CONFIRM"
    assert asked["draft"]["edits"][0]["path"] == "basics.email"
    refused = await say(client, asked, False)
    assert (refused["action"], refused["draft"]) == ("WAIT_INPUT", None)
    view = await say(client, refused, "跳过", "回到基本信息")
    assert view["current_task"]["kind"] == "missing_contact"
    while not view["finished"]:
        view = await say(client, view, mending(view), True)
    assert view["action"] == "FINISH"
    assert view["progress"] == {"done": 4, "skipped": 0, "total": 4}
    score = view["score"]
    assert set(score) == {"before", "after", "parts"}
    assert set(score["parts"]) == {"completeness", "evidence", "relevance", "form"}
    assert score["before"] < 75 < score["after"] < 100
    assert apply_patch(RESUME, view["diff"]) == view["resume"]
    again = (await client.get(f"{SESSIONS}/{view['session_id']}")).json()
    assert again | {"trace_id": ""} == view | {"trace_id": ""}


async def test_a_draft_is_agreed_to_with_other_values(client: httpx.AsyncClient) -> None:
    view = await begin(client)
    view = await say(client, view, mending(view))
    edits = {"basics.phone": "+44 161 496 0000"}
    done = (await post(client, view, {"confirm": True, "edits": edits})).json()
    assert done["resume"]["basics"]["phone"] == "+44 161 496 0000"
    assert done["resume"]["basics"]["email"] == "tom@brennan.example"
    assert done["progress"]["done"] == 1


async def test_an_edit_that_fails_changes_nothing(client: httpx.AsyncClient) -> None:
    view = await begin(client)
    view = await say(client, view, mending(view))
    edits = {"work[9].name": "x"}
    failed = (await post(client, view, {"confirm": True, "edits": edits})).json()
    assert json.dumps(failed["resume"]) == json.dumps(view["resume"])
    assert (failed["action"], failed["diff"]) == ("WAIT_INPUT", [])


async def test_a_task_that_does_not_exist_gives_the_list(client: httpx.AsyncClient) -> None:
    view = await say(client, await begin(client), "back to hobbies")
    assert view["action"] == "SWITCH_TASK"
    assert all(task["diagnosis"] in view["reply"] for task in view["tasks"])


async def test_a_clean_resume_has_an_empty_plan_and_says_so(client: httpx.AsyncClient) -> None:
    view = await begin(client)
    while not view["finished"]:
        view = await say(client, view, mending(view), True)
    clean = await begin(client, view["resume"], intent="投递前再看看")
    assert (clean["tasks"], clean["finished"], clean["action"]) == ([], True, "FINISH")
    assert "没有发现需要改的地方" in clean["reply"]


async def test_the_stream_tells_what_the_agents_say_and_then_the_view(
    client: httpx.AsyncClient,
) -> None:
    body = {"resume": RESUME, "intent": ""}
    begun = await streamed(client, SESSIONS, body)
    kind, view = begun[-1]
    assert (kind, set(view)) == ("view", FIELDS)
    where = f"{SESSIONS}/{view['session_id']}/messages"
    (_, asked) = (await streamed(client, where, {"message": mending(view)}))[-1]
    assert asked["action"] == "REQUEST_CONFIRM"
    *progress, (kind, done) = await streamed(client, where, {"confirm": True})
    assert (kind, done["progress"]["done"]) == ("view", 1)
    assert [(kind, told["agent"], told["content"]) for kind, told in progress] == [
        ("progress", "editor", "1/2 updated basics.email"),
        ("progress", "editor", "2/2 updated basics.phone"),
    ]


async def streamed(client: httpx.AsyncClient, path: str, body: Json) -> list[tuple[str, Json]]:
    """The events of a stream, with their data."""
    answer = await client.post(path, json=body, headers=SSE)
    assert answer.headers["content-type"].startswith("text/event-stream")
    frames = [frame.split("\n") for frame in answer.text.split("\n\n") if "event: " in frame]
    return [
        (kind.removeprefix("event: "), json.loads(data.removeprefix("data: ")))
        for kind, data in frames
    ]


async def test_the_diff_in_three_formats(client: httpx.AsyncClient) -> None:
    resume = {**RESUME, "interests": [{"name": "<script>alert(1)</script>"}]}
    view = await begin(client, resume)
    view = await say(client, view, mending(view), True)
    where = f"{SESSIONS}/{view['session_id']}/diff"
    assert (await client.get(where)).json() == view["diff"]
    text = await client.get(where, params={"format": "text"})
    assert text.headers["content-type"] == "text/plain; charset=utf-8"
    assert "+  email: tom@brennan.example" in text.text
    assert "version" not in text.text
    html = await client.get(where, params={"format": "html"})
    assert html.headers["content-type"] == "text/html; charset=utf-8"
    assert "<ins>+  email: tom@brennan.example</ins>" in html.text
    assert "<script" not in html.text
    assert "default-src 'none'" in html.headers["content-security-policy"]
    assert (await client.get(where, params={"format": "pdf"})).status_code == 422


async def test_what_cannot_be_done_is_a_problem(client: httpx.AsyncClient) -> None:
    begun = await begin(client)
    finished = await say(client, await begin(client), *["skip"] * 4)
    bare = {"session_id": "bare"}
    assert (await client.post(f"/v1/apps/{APP}/sessions", json=bare)).status_code == 201
    unknown = {"session_id": "nobody"}
    for view, body, status, code in (
        (unknown, {"message": "hi"}, 404, "session_not_found"),
        (bare, {"message": "hi"}, 409, "not_begun"),
        (begun, {"confirm": True}, 409, "nothing_to_confirm"),
        (finished, {"message": "hi"}, 409, "session_finished"),
        (begun, {"message": ""}, 422, "invalid_request"),
        (begun, {"message": "hi", "confirm": True}, 422, "invalid_request"),
        (begun, {"confirm": "yes"}, 422, "invalid_request"),
        (begun, {}, 422, "invalid_request"),
    ):
        refused = await post(client, view, body)
        assert (refused.status_code, refused.json()["code"]) == (status, code), refused.text
        assert refused.headers["content-type"] == "application/problem+json"
    assert (await client.get(f"{SESSIONS}/nobody")).status_code == 404
    assert (await client.get(f"{SESSIONS}/bare/diff")).status_code == 409
    other = {"X-Oda-User": "mallory"}
    of_mine = f"{SESSIONS}/{begun['session_id']}"
    assert (await client.get(of_mine, headers=other)).status_code == 404


HOSTILE: list[tuple[Any, int]] = [
    ({"resume": {"work": 5}, "intent": ""}, 422),
    ({"resume": [], "intent": ""}, 422),
    ({"resume": RESUME, "intent": 5}, 422),
    ({"resume": RESUME, "intent": "", "admin": True}, 422),
    ({"intent": "x"}, 422),
    ({"resume": {"basics": {"summary": "x" * 250_000}}, "intent": ""}, 413),
    ({"resume": {}, "intent": ""}, 201),
    ({"resume": {"basics": {"name": "\x00\ud800{}%s"}, "x": [[[[1]]]]}, "intent": "{0}"}, 201),
    ({"resume": {"work": [{}] * 300, "meta": {"version": -1}}, "intent": "\u202e"}, 201),
]


@pytest.mark.parametrize(("body", "status"), HOSTILE)
async def test_hostile_resumes(client: httpx.AsyncClient, body: Any, status: int) -> None:
    content = json.dumps(body).encode()
    got = await client.post(SESSIONS, content=content, headers={"Content-Type": "application/json"})
    assert got.status_code == status, got.text
    if status == 201 and not (view := got.json())["finished"]:
        for message in ("{" * 300, '{"resume": 1}', "回到" * 90, "%s {x} \x00", "🙂"):
            view = await say(client, view, message)


async def test_through_v1_a_draft_is_a_turn_that_waits(client: httpx.AsyncClient) -> None:
    turns = f"/v1/apps/{APP}/sessions/v1/turns"
    assert (await client.post(f"/v1/apps/{APP}/sessions", json={"session_id": "v1"})).is_success
    start = {"message": json.dumps({"resume": RESUME, "intent": "x"})}
    assert (await client.post(turns, json=start)).json()["turn"]["status"] == "succeeded"
    asked = await client.post(turns, json={"message": ANSWERS["missing_contact"]})
    waits = asked.json()["turn"]
    assert waits["status"] == "waiting_input"
    (question,) = waits["pending_input"]
    assert question["args"]["payload"]["edits"][0]["path"] == "basics.email"
    assert (await client.get(f"{SESSIONS}/v1")).json()["action"] == "REQUEST_CONFIRM"
    agreed = {"confirm": True, "edits": {"basics.phone": "+44 161 496 0000"}}
    answer = {"responses": [{"id": question["id"], "payload": agreed}]}
    done = await client.post(f"/v1/turns/{waits['turn_id']}/input", json=answer)
    assert done.status_code == 200, done.text
    view = (await client.get(f"{SESSIONS}/v1")).json()
    assert view["progress"]["done"] == 1
    assert view["resume"]["basics"]["phone"] == "+44 161 496 0000"


async def test_the_same_coaching_on_the_terminal(tmp_path: Path) -> None:
    lines = f"{json.dumps(RESUME)}\n{ANSWERS['missing_contact']}\nyes\n"
    ended = await Home(tmp_path).run("chat", APP, "--agents", str(AGENTS), stdin=lines)
    assert ended.code == 0, ended.stderr
    for shown in ("nobody can reach you", "basics.email", "now scores"):
        assert shown in ended.stdout


async def test_the_server_was_killed_between_any_two_messages(
    client: httpx.AsyncClient, killed_at: list[Json]
) -> None:
    ends = []
    for number, view in enumerate(killed_at):
        before = (await client.get(f"{SESSIONS}/{view['session_id']}")).json()
        assert before | {"trace_id": ""} == view | {"trace_id": ""}
        ends.append(await say(client, view, *TALK[number:]))
    assert ends[0]["progress"] == {"done": 2, "skipped": 1, "total": 4}
    assert ends[0]["current_task"]["kind"] == "missing_dates"
    different = {"session_id": "", "trace_id": ""}
    assert all(end | different == ends[0] | different for end in ends)


async def test_the_whole_flow_with_a_model(serve_folder: Any) -> None:
    phrase = {"id": "missing_contact:basics", "diagnosis": "Nobody can call.", "goal": "Call."}
    async with ModelServer() as model:
        model.play([Text(text=json.dumps({"tasks": [phrase]})), Error(status=500, times=None)])
        server = await serve_folder(AGENTS, **gemini(model))
        view = await begin(server.client, intent="sales")
        assert view["current_task"]["diagnosis"] == "Nobody can call."
        while not view["finished"]:
            view = await say(server.client, view, mending(view), True)
        assert view["tasks"][0]["diagnosis"] == "Nobody can call."
        assert view["score"]["before"] < 75 < view["score"]["after"] < 100
        again = await begin(server.client)
        assert "nobody can reach you" in again["current_task"]["diagnosis"]
