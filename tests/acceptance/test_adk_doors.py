"""ADK's own routes open nothing that `/v1` keeps shut."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from oda.context import OdaContext
from oda.server.adk.access import access_to
from oda.server.adk.application import open_adk_app
from oda.server.adk.on_demand import DEV_SEGMENTS, SEGMENTS, first_segment
from oda.testing import ModelServer
from oda.testing.script import Error, Hang, Step, Text
from tests.support.keys import bearer, make_key
from tests.support.model_settings import gemini

pytestmark = pytest.mark.asyncio(loop_scope="module")

WITHIN_S = 30
AGENTS = Path(__file__).parents[1] / "support" / "agents"
OURS = "/v1/apps/calculator/sessions"
ADKS = "/apps/calculator/users/anna/sessions"
DEV = "/dev/apps/{app_name}"
FOR_ADMINS = {
    ("POST", "/agent-identity/finalize"),
    ("GET", "/apps/{app_name}/app-info"),
    ("PATCH", "/apps/{app_name}/users/{user_id}/memory"),
    ("GET", "/config/telemetry"),
    ("POST", "/config/telemetry"),
    ("GET", "/dev-ui"),
    ("GET", "/dev-ui/"),
    ("GET", "/dev-ui/assets/config/runtime-config.json"),
    ("GET", "/dev-ui/config"),
    ("GET", f"{DEV}/build_graph"),
    ("GET", f"{DEV}/build_graph_image"),
    ("GET", f"{DEV}/builder"),
    ("POST", f"{DEV}/builder/cancel"),
    ("POST", f"{DEV}/builder/save"),
    ("GET", f"{DEV}/debug/trace/session/{{session_id}}"),
    ("GET", f"{DEV}/debug/trace/{{event_id}}"),
    ("POST", f"{DEV}/deploy/agent_engine"),
    ("POST", f"{DEV}/deploy/cloud_run"),
    ("GET", f"{DEV}/deploy/defaults"),
    ("POST", f"{DEV}/deploy/gke"),
    ("GET", f"{DEV}/eval-results"),
    ("GET", f"{DEV}/eval-results/{{eval_result_id}}"),
    ("GET", f"{DEV}/eval-sets"),
    ("POST", f"{DEV}/eval-sets"),
    ("POST", f"{DEV}/eval-sets/{{eval_set_id}}/add-session"),
    *((m, f"{DEV}/eval-sets/{{eval_set_id}}/eval-cases/{{eval_case_id}}") for m in ("GET", "PUT")),
    ("DELETE", f"{DEV}/eval-sets/{{eval_set_id}}/eval-cases/{{eval_case_id}}"),
    ("POST", f"{DEV}/eval-sets/{{eval_set_id}}/run"),
    ("GET", f"{DEV}/eval_results"),
    ("GET", f"{DEV}/eval_results/{{eval_result_id}}"),
    ("GET", f"{DEV}/eval_sets"),
    ("POST", f"{DEV}/eval_sets/{{eval_set_id}}"),
    ("POST", f"{DEV}/eval_sets/{{eval_set_id}}/add_session"),
    ("GET", f"{DEV}/eval_sets/{{eval_set_id}}/evals"),
    *((m, f"{DEV}/eval_sets/{{eval_set_id}}/evals/{{eval_case_id}}") for m in ("GET", "PUT")),
    ("DELETE", f"{DEV}/eval_sets/{{eval_set_id}}/evals/{{eval_case_id}}"),
    ("POST", f"{DEV}/eval_sets/{{eval_set_id}}/run_eval"),
    ("GET", f"{DEV}/graph"),
    ("GET", f"{DEV}/metrics-info"),
    ("GET", f"{DEV}/tests"),
    *((method, f"{DEV}/tests/{{test_name}}") for method in ("GET", "PUT", "DELETE")),
    ("POST", f"{DEV}/tests/rebuild"),
    ("POST", f"{DEV}/tests/run"),
    ("GET", f"{DEV}/users/{{user_id}}/sessions/{{session_id}}/events/{{event_id}}/graph"),
}
"""What ADK 2.13 has for developers."""
FOR_USERS = {
    ("GET", "/list-apps"),
    ("GET", "/version"),
    ("POST", "/run"),
    ("POST", "/run_sse"),
    *((m, "/apps/{app_name}/users/{user_id}/sessions") for m in ("GET", "POST")),
    *(
        (method, "/apps/{app_name}/users/{user_id}/sessions/{session_id}")
        for method in ("GET", "POST", "PATCH", "DELETE")
    ),
    *(
        (method, f"/apps/{{app_name}}/users/{{user_id}}/sessions/{{session_id}}/artifacts{rest}")
        for method, rest in (
            ("GET", ""),
            ("POST", ""),
            ("GET", "/{artifact_name:path}"),
            ("DELETE", "/{artifact_name:path}"),
            ("GET", "/{artifact_name:path}/versions"),
            ("GET", "/{artifact_name:path}/versions/metadata"),
            ("GET", "/{artifact_name:path}/versions/{version_id}"),
            ("GET", "/{artifact_name:path}/versions/{version_id}/metadata"),
        )
    ),
}
FOR_NOBODY = {("WS", "/run_live")}


class Doors:
    """A server with keys, a user and an admin at it."""

    def __init__(self, server: Any, data: Path, anna: httpx.AsyncClient, root: httpx.AsyncClient):
        self.server = server
        self.data = data
        self.anna = anna
        self.root = root
        self._made = 0

    async def session(self) -> str:
        """The id of a new session of Anna's."""
        self._made += 1
        answer = await self.anna.post(OURS, json={"session_id": f"s{self._made}"})
        return str(answer.json()["session_id"])

    async def run(self, session: str, text: str, **more: Any) -> httpx.Response:
        message = {"role": "user", "parts": [{"text": text}]}
        named = {"appName": "calculator", "userId": "anna", "sessionId": session}
        return await self.anna.post("/run", json={**named, "newMessage": message, **more})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def doors(
    serve_folder: Any, shared_model: ModelServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Doors]:
    data = tmp_path_factory.mktemp("doors")
    root, anna = await make_key(data, "root", "admin"), await make_key(data, "anna")
    server = await serve_folder(
        AGENTS, data, LIMITS__REQUESTS_PER_MINUTE="100000", **gemini(shared_model)
    )
    async with (
        httpx.AsyncClient(base_url=server.url, headers=bearer(root), timeout=30) as as_root,
        httpx.AsyncClient(base_url=server.url, headers=bearer(anna), timeout=30) as as_anna,
    ):
        yield Doors(server, data, as_anna, as_root)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def adk(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FastAPI]:
    """ADK's application with all that it can have."""
    data = tmp_path_factory.mktemp("adk")
    async with (
        OdaContext.from_settings(agents_dir=AGENTS, data_dir=data) as oda,
        open_adk_app(oda, dev_ui=True) as app,
    ):
        yield app


async def test_every_route_of_adk_is_classified(adk: FastAPI) -> None:
    """A new version of ADK may bring new ones: they are for admins until somebody has decided."""
    found = set()
    ours = {"health", "docs", "redoc", "openapi.json", ""}
    segments = {first_segment(route.path or "") for route in iter_route_contexts(adk.routes)}
    assert segments - ours == SEGMENTS | DEV_SEGMENTS
    for route in iter_route_contexts(adk.routes):
        path = route.path or ""
        if first_segment(path) in ours:
            continue
        if route.methods:
            found |= {(method, path) for method in route.methods}
        else:
            found.add(("WS", path) if path == "/run_live" else ("GET", f"{path}/"))
    assert found == FOR_USERS | FOR_ADMINS | FOR_NOBODY
    for access, expected in (
        ("user", FOR_USERS),
        ("admin", FOR_ADMINS),
        ("nobody", FOR_NOBODY),
    ):
        assert {one for one in found if access_to(*one) == access} == expected


async def test_what_is_for_admins_is_refused_to_users(doors: Doors) -> None:
    for method, template in sorted(FOR_ADMINS):
        path = template.replace("{user_id}", "anna").replace("{app_name}", "calculator")
        refused = await doors.anna.request(method, path.replace("{", "").replace("}", ""))
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden"), path
    info = await doors.root.get("/apps/calculator/app-info")
    assert info.status_code == 200
    assert "instruction" in info.text


async def test_live_conversations_are_refused_with_a_reason(doors: Doors) -> None:
    session = await doors.session()
    live = f"/run_live?app_name=calculator&session_id={session}&user_id=anna"
    for client in (doors.anna, doors.root):
        key = {"Authorization": client.headers["Authorization"]}
        with pytest.raises(InvalidStatus) as refused:
            url = f"ws{doors.server.url.removeprefix('http')}{live}"
            await connect(url, additional_headers=key).__aenter__()
        assert refused.value.response.status_code == 403
        problem = json.loads(refused.value.response.body or b"")
        assert problem["code"] == "live_not_served"
        assert "/ws" in problem["detail"]


@pytest.mark.parametrize("key", ["app:x", "user:x", "temp:x", "_oda_meta", "_adk_replay_config"])
async def test_state_that_v1_refuses_is_refused(doors: Doors, key: str) -> None:
    session = await doors.session()
    delta = {key: "forged"}
    for answer in (
        await doors.anna.post(ADKS, json={"state": delta}),
        await doors.anna.post(f"{ADKS}/forged", json=delta),
        await doors.anna.patch(f"{ADKS}/{session}", json={"stateDelta": delta}),
        await doors.run(session, "hi", stateDelta=delta),
    ):
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
        assert key in answer.json()["detail"]
    assert (await doors.anna.get(f"{ADKS}/forged")).status_code == 404
    assert (await doors.anna.get(f"{OURS}/{session}/state")).json() == {}
    admins = await doors.root.post("/apps/calculator/users/root/sessions", json={"state": delta})
    assert admins.status_code == 422


async def test_state_is_written_and_read_as_over_v1(doors: Doors) -> None:
    created = await doors.anna.post(ADKS, json={"state": {"a": 1}})
    path = f"{ADKS}/{created.json()['id']}"
    assert created.json()["state"] == {"a": 1}
    changed = await doors.anna.patch(path, json={"stateDelta": {"b": 2, "a": None}})
    assert (changed.status_code, changed.json()["state"]) == (200, {"b": 2})
    assert (await doors.anna.get(path)).json()["state"] == {"b": 2}
    listed = (await doors.anna.get(ADKS)).json()
    assert created.json()["id"] in [session["id"] for session in listed]
    assert all(not session["state"] and not session["events"] for session in listed)
    ours = await doors.anna.get(f"{OURS}/{created.json()['id']}")
    assert ours.json()["turns"] == 0


async def test_ids_and_apps_are_checked_as_over_v1(doors: Doors) -> None:
    for name in ("..", "x" * 129, " a"):
        answer = await doors.anna.post(ADKS, json={"sessionId": name})
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    assert (await doors.anna.post(ADKS, json={"sessionId": "twice"})).status_code == 200
    assert (await doors.anna.post(ADKS, json={"sessionId": "twice"})).status_code == 409
    unknown = "/apps/nowhere/users/anna/sessions"
    assert (await doors.anna.post(unknown, json={})).status_code == 404


async def test_a_history_is_not_forged(doors: Doors) -> None:
    said = {"author": "calculator", "content": {"role": "model", "parts": [{"text": "I owe you."}]}}
    body = {"sessionId": "forged-history", "events": [said]}
    refused = await doors.anna.post(ADKS, json=body)
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert (await doors.anna.get(f"{ADKS}/forged-history")).status_code == 404
    theirs = "/apps/calculator/users/root/sessions"
    assert (await doors.root.post(theirs, json=body)).status_code == 200
    restored = (await doors.root.get(f"{theirs}/forged-history")).json()["events"]
    assert [event["content"]["parts"][0]["text"] for event in restored] == ["I owe you."]


async def test_deleting_leaves_nothing_that_v1_would_not(doors: Doors, model: ModelServer) -> None:
    session = await doors.session()
    model.play([Text(text="First.")])
    assert (await doors.run(session, "hello")).status_code == 200
    await doors.anna.put(f"{OURS}/{session}/artifacts/a.txt", content=b"mine")
    (turn,) = (await doors.anna.get(f"{OURS}/{session}/turns")).json()["turns"]
    assert (await doors.anna.delete(f"{ADKS}/{session}")).status_code == 200
    assert (await doors.anna.get(f"/v1/turns/{turn['turn_id']}")).status_code == 404
    await doors.anna.post(ADKS, json={"sessionId": session})
    assert (await doors.anna.get(f"{OURS}/{session}/turns")).json()["turns"] == []
    assert (await doors.anna.get(f"{OURS}/{session}/artifacts")).json()["artifacts"] == []
    assert (await doors.anna.get(f"{ADKS}/{session}/artifacts")).json() == []
    assert (await doors.anna.delete(f"{ADKS}/not-there")).status_code == 200


async def test_artifacts_keep_to_the_rules_of_v1(doors: Doors) -> None:
    session = await doors.session()
    path = f"{ADKS}/{session}/artifacts"
    data = base64.b64encode(b"<script>").decode()
    page = {"inlineData": {"mimeType": "text/html", "data": data}}
    saved = await doors.anna.post(path, json={"filename": "a/x.html", "artifact": page})
    assert saved.status_code == 200
    address = f"{path}/a/x.html/versions/0"
    assert saved.json()["canonicalUri"] == address
    answers = [
        await doors.anna.get(f"{path}{rest}")
        for rest in (
            "",
            "/a/x.html",
            "/a/x.html/versions",
            "/a/x.html/versions/0",
            "/a/x.html/versions/latest",
            "/a/x.html/versions/metadata",
            "/a/x.html/versions/0/metadata",
        )
    ]
    for answer in (saved, *answers):
        assert answer.status_code == 200, answer.url
        assert str(doors.data) not in answer.text
        assert "file:" not in answer.text
        assert answer.headers["content-disposition"].startswith("attachment")
        assert answer.headers["content-security-policy"].startswith("sandbox")
    assert (await doors.anna.get(address)).json()["inlineData"]["data"] == data
    assert answers[0].json() == ["a/x.html"]
    ours = await doors.anna.get(f"{OURS}/{session}/artifacts/a/x.html")
    assert ours.content == b"<script>"
    text = {"filename": "t.txt", "artifact": {"text": "words"}, "customMetadata": {"k": "v"}}
    assert (await doors.anna.post(path, json=text)).json()["customMetadata"] == {"k": "v"}
    assert (await doors.anna.get(f"{path}/t.txt")).json() == {"text": "words"}
    for name, part in (
        ("../x", page),
        ("a\\b", page),
        ("metadata.json", page),
        ("x", {"fileData": {"fileUri": "file:///etc/passwd"}}),
        ("x", {"fileData": {"fileUri": "artifact://apps/a/users/b/sessions/c/artifacts/d"}}),
        ("x", {"inlineData": {"mimeType": "text/html\r\nX: y", "data": data}}),
        ("x", {}),
    ):
        refused = await doors.anna.post(path, json={"filename": name, "artifact": part})
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request"), part
    assert (await doors.anna.get(f"{path}/nothing")).status_code == 404
    nowhere = await doors.anna.get(f"{ADKS}/not-there/artifacts")
    assert (nowhere.status_code, nowhere.json()) == (404, {"detail": "Session not found"})
    assert (await doors.anna.delete(f"{path}/a/x.html")).status_code == 200
    assert (await doors.anna.get(path)).json() == ["t.txt"]


async def test_traces_have_no_words_of_users_and_go_with_the_session(
    doors: Doors, model: ModelServer
) -> None:
    session = await doors.session()
    model.play([Text(text="The answer is SECRET-ANSWER.")])
    events = (await doors.run(session, "My SECRET-QUESTION")).json()
    dev = "/dev/apps/calculator/debug/trace"
    trace = await doors.root.get(f"{dev}/session/{session}")
    spans = {span["name"].partition(" ")[0] for span in trace.json()}
    assert spans >= {"invoke_agent", "generate_content"}
    event = await doors.root.get(f"{dev}/{events[-1]['id']}")
    assert event.json()["gen_ai.conversation.id"] == session
    for answer in (trace, event):
        assert "SECRET" not in answer.text
    assert (await doors.anna.get(f"{dev}/session/{session}")).status_code == 403
    assert (await doors.anna.delete(f"{OURS}/{session}")).status_code == 204
    assert (await doors.root.get(f"{dev}/session/{session}")).json() == []
    assert (await doors.root.get(f"{dev}/{events[-1]['id']}")).status_code == 404


async def test_a_session_reads_as_it_was_streamed(doors: Doors, model: ModelServer) -> None:
    session = await doors.session()
    model.play([Error(status=500), Text(text="Back again.")])
    streamed = (await doors.run(session, "hi")).json()
    model.play([Error(status=400)])
    streamed += (await doors.run(session, "again")).json()
    read = (await doors.anna.get(f"{ADKS}/{session}")).json()["events"]
    told = [event for event in read if event["author"] != "user"]
    assert [_short(event) for event in told] == [_short(event) for event in streamed]
    assert [event.get("errorCode") for event in read] == [
        *(None, "RETRY_ATTEMPT", None),
        *(None, "NON_RETRYABLE_ERROR"),
    ]


async def test_metadata_of_a_run_is_kept_with_its_turn(doors: Doors, model: ModelServer) -> None:
    session = await doors.session()
    model.play([Text(text="Yes.")])
    await doors.run(session, "hi", customMetadata={"from": "a test"})
    (turn,) = (await doors.anna.get(f"{OURS}/{session}/turns")).json()["turns"]
    assert turn["metadata"] == {"from": "a test"}


@pytest.mark.parametrize("path", ["/run", "/run_sse"])
@pytest.mark.parametrize(
    ("headers", "answer", "status"),
    [
        ({}, Text(text="Done.", delay_s=1), "succeeded"),
        ({"Sec-Fetch-Site": "same-origin"}, Hang(), "cancelled"),
    ],
    ids=["client", "page"],
)
async def test_a_turn_outlives_its_client_but_stops_with_the_dev_uis_page(
    doors: Doors,
    model: ModelServer,
    path: str,
    headers: dict[str, str],
    answer: Step,
    status: str,
) -> None:
    session = await doors.session()
    model.play([answer])
    message = {"role": "user", "parts": [{"text": "hi"}]}
    body = {"appName": "calculator", "userId": "anna", "sessionId": session, "newMessage": message}
    asking = asyncio.create_task(doors.anna.post(path, json=body, headers=headers))
    async with asyncio.timeout(WITHIN_S):
        while True:
            if model.requests:
                break
            await asyncio.sleep(0.02)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        while True:
            (turn,) = (await doors.anna.get(f"{OURS}/{session}/turns")).json()["turns"]
            if turn["status"] not in ("queued", "running"):
                break
            await asyncio.sleep(0.02)
    assert turn["status"] == status


def _short(event: dict[str, Any]) -> tuple[Any, Any]:
    return event["id"], event.get("errorCode")
