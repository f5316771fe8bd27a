"""Apps, sessions and their state over HTTP, and how wrong requests are answered."""

import uuid
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio

pytestmark = pytest.mark.asyncio(loop_scope="module")

SESSIONS = "/v1/apps/calculator/sessions"


@pytest_asyncio.fixture(loop_scope="module")
async def client(keyless: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client whose user nobody else is."""
    user = {"X-Oda-User": uuid.uuid4().hex}
    async with httpx.AsyncClient(base_url=keyless.url, headers=user, timeout=30) as client:
        yield client


async def test_apps_say_what_they_are_and_which_cannot_be_loaded(client: Any) -> None:
    apps = {app["name"]: app for app in (await client.get("/v1/apps")).json()["apps"]}
    assert apps["calculator"]["description"] == "Adds and divides."
    assert apps["calculator"]["model"] == {"state": "not_configured", "name": None}
    assert {"add", "divide"} <= set(apps["calculator"]["tools"])
    assert apps["calculator"]["error"] is None
    assert apps["broken"]["error"]
    assert "/etc" not in str(apps["broken"])


async def test_without_a_model_the_agent_says_what_to_set(client: Any) -> None:
    created = (await client.post(SESSIONS)).json()
    url = f"{SESSIONS}/{created['session_id']}/turns"
    answer = (await client.post(url, json={"message": "hello"})).json()
    assert answer["turn"]["status"] == "succeeded"
    assert "ODA_MODEL" in answer["reply"]
    assert answer["turn"]["usage"]["model_calls"] == 0
    chinese = (await client.post(url, json={"message": "你好"})).json()
    assert "没有配置模型" in chinese["reply"]


async def test_a_session_is_created_read_listed_and_deleted(client: Any) -> None:
    created = await client.post(SESSIONS, json={"session_id": "s-1", "state": {"a": 1}})
    assert created.status_code == 201
    assert created.headers["location"] == f"{SESSIONS}/s-1"
    body = created.json()
    assert set(body) == {
        *("app", "user_id", "session_id", "created_at", "updated_at", "busy", "turns")
    }
    assert (body["app"], body["user_id"], body["busy"], body["turns"]) == (
        *("calculator", client.headers["X-Oda-User"], False, 0),
    )
    assert body["created_at"].endswith("Z")
    read = await client.get(f"{SESSIONS}/s-1")
    assert read.headers["etag"]
    assert read.json()["session_id"] == "s-1"
    taken = await client.post(SESSIONS, json={"session_id": "s-1"})
    assert (taken.status_code, taken.json()["code"]) == (409, "session_exists")
    assert (await client.delete(f"{SESSIONS}/s-1")).status_code == 204
    assert (await client.get(f"{SESSIONS}/s-1")).status_code == 404
    assert (await client.delete(f"{SESSIONS}/s-1")).status_code == 404


async def test_sessions_are_listed_newest_first_page_by_page(client: Any) -> None:
    made = [(await client.post(SESSIONS)).json()["session_id"] for _ in range(5)]
    found: list[str] = []
    cursor: str | None = None
    while True:
        params = {"limit": 2, **({"cursor": cursor} if cursor else {})}
        page = (await client.get(SESSIONS, params=params)).json()
        found += [session["session_id"] for session in page["sessions"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == made[::-1]
    wrong = await client.get(SESSIONS, params={"cursor": "nonsense"})
    assert wrong.status_code == 422


async def test_another_users_session_is_not_found(client: Any) -> None:
    await client.post(SESSIONS, json={"session_id": "mine"}, headers={"X-Oda-User": "ann"})
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/state"), ("GET", "/events")):
        answer = await client.request(
            method, f"{SESSIONS}/mine{path}", headers={"X-Oda-User": "bob"}
        )
        assert answer.status_code == 404
    assert (await client.get(SESSIONS, headers={"X-Oda-User": "bob"})).json()["sessions"] == []
    own = await client.get(f"{SESSIONS}/mine", headers={"X-Oda-User": "ann"})
    assert own.json()["user_id"] == "ann"


async def test_another_users_turn_is_not_found(client: Any) -> None:
    await client.post(SESSIONS, json={"session_id": "mine"})
    turn = (await client.post(f"{SESSIONS}/mine/turns", json={"message": "x"})).json()["turn"]
    for path in ("", "/events"):
        other = await client.get(
            f"/v1/turns/{turn['turn_id']}{path}", headers={"X-Oda-User": "bob"}
        )
        assert other.status_code == 404


async def test_state_is_patched_by_merge_and_guarded_by_its_etag(client: Any) -> None:
    await client.post(SESSIONS, json={"session_id": "s", "state": {"a": {"x": 1, "y": 2}, "b": 3}})
    url = f"{SESSIONS}/s/state"
    read = await client.get(url)
    tag = read.headers["etag"]
    changed = await client.patch(
        url, json={"a": {"x": None, "z": 9}, "b": None, "c": [1]}, headers={"If-Match": tag}
    )
    assert changed.json() == {"a": {"y": 2, "z": 9}, "c": [1]}
    stale = await client.patch(url, json={"c": 2}, headers={"If-Match": tag})
    assert (stale.status_code, stale.json()["type"]) == (412, "/problems/stale-state")
    assert (await client.get(url)).json() == {"a": {"y": 2, "z": 9}, "c": [1]}
    fresh = await client.patch(url, json={"c": 2}, headers={"If-Match": changed.headers["etag"]})
    assert fresh.json()["c"] == 2


@pytest.mark.parametrize("key", ["_oda", "_adk_replay_config", "temp:x"])
async def test_reserved_state_keys_are_refused(client: Any, key: str) -> None:
    refused = await client.post(SESSIONS, json={"state": {key: 1}})
    assert refused.status_code == 422
    await client.post(SESSIONS, json={"session_id": "s"})
    patched = await client.patch(f"{SESSIONS}/s/state", json={key: 1})
    assert patched.status_code == 422
    assert key in patched.json()["detail"]


async def test_history_is_paged(client: Any) -> None:
    await client.post(SESSIONS, json={"session_id": "s"})
    for text in ("one", "two", "three"):
        await client.post(f"{SESSIONS}/s/turns", json={"message": text})
    whole = (await client.get(f"{SESSIONS}/s/events")).json()
    assert whole["next_after"] is None
    assert len(whole["events"]) == 6
    assert whole["events"][0]["invocationId"]
    pages, after = [], None
    while True:
        params = {"limit": 4, **({"after": after} if after else {})}
        page = (await client.get(f"{SESSIONS}/s/events", params=params)).json()
        pages += page["events"]
        after = page["next_after"]
        if after is None:
            break
    assert pages == whole["events"]


@pytest.mark.parametrize(
    ("method", "path", "options", "status", "code"),
    [
        ("GET", "/v1/nothing", {}, 404, "not_found"),
        ("PUT", "/v1/apps", {}, 405, "method_not_allowed"),
        ("POST", "/v1/apps/nobody/sessions", {}, 404, "agent_not_found"),
        ("GET", f"{SESSIONS}/missing", {}, 404, "session_not_found"),
        ("GET", "/v1/turns/missing", {}, 404, "turn_not_found"),
        ("POST", SESSIONS, {"json": {"unknown": 1}}, 422, "invalid_request"),
        ("POST", SESSIONS, {"json": {"session_id": ""}}, 422, "invalid_request"),
        ("POST", SESSIONS, {"json": {"session_id": "x" * 129}}, 422, "invalid_request"),
        ("POST", f"{SESSIONS}/s/turns", {"json": {"message": " "}}, 422, "invalid_request"),
        ("POST", f"{SESSIONS}/s/turns", {"json": {"message": {"parts": []}}}, 422, None),
        ("POST", f"{SESSIONS}/s/turns", {"json": {"message": {"parts": [7]}}}, 422, None),
        ("POST", f"{SESSIONS}/s/turns", {"json": {}}, 422, "invalid_request"),
        (
            *("POST", f"{SESSIONS}/s/turns"),
            {"json": {"message": {"parts": [{"functionResponse": {"name": "add", "id": "1"}}]}}},
            *(422, "invalid_request"),
        ),
        ("POST", SESSIONS, {"json": {"session_id": "a/b"}}, 422, "invalid_request"),
        ("POST", f"{SESSIONS}/s/turns", {"json": {"message": "x", "on_busy": "hm"}}, 422, None),
        (
            *("POST", f"{SESSIONS}/s/turns"),
            {"content": b"{", "headers": {"Content-Type": "application/json"}},
            *(400, "malformed"),
        ),
        (
            *("POST", f"{SESSIONS}/s/turns"),
            {"content": b"message=x", "headers": {"Content-Type": "text/plain"}},
            *(415, "unsupported_media_type"),
        ),
        ("GET", SESSIONS, {"params": {"limit": 0}}, 422, "invalid_request"),
        ("GET", "/v1/apps", {"headers": {"Host": "evil.example"}}, 403, "forbidden"),
        ("GET", "/v1/apps", {"headers": {"Origin": "http://evil.example"}}, 403, "forbidden"),
    ],
)
async def test_what_is_wrong_is_a_problem_with_a_stable_type(
    client: Any, method: str, path: str, options: Any, status: int, code: str | None
) -> None:
    await client.post(SESSIONS, json={"session_id": "s"})
    answer = await client.request(method, path, **options)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert {
        "type",
        "title",
        "status",
        "detail",
        "instance",
        "code",
        "retryable",
        "trace_id",
    } <= set(problem)
    assert problem["status"] == status
    assert problem["type"] == f"/problems/{problem['code'].replace('_', '-')}"
    if code is not None:
        assert problem["code"] == code
    assert "Traceback" not in answer.text


async def test_a_broken_agent_is_an_error_without_its_secrets(client: Any) -> None:
    answer = await client.post("/v1/apps/broken/sessions")
    assert answer.status_code == 500
    assert answer.json()["code"] == "agent_load_error"
    assert "secret" not in answer.text


async def test_health_and_the_trace_id(client: Any) -> None:
    assert (await client.get("/livez")).json() == {"status": "ok"}
    assert (await client.get("/readyz")).json() == {"status": "ok"}
    details = (await client.get("/health")).json()
    assert details.pop("sandbox") in ("not tested yet", "bwrap", "landlock")
    assert details == {"status": "ok"}
    trace = "0af7651916cd43dd8448eb211c80319c"
    answer = await client.get(
        "/v1/turns/none", headers={"traceparent": f"00-{trace}-b7ad6b7169203331-01"}
    )
    assert answer.headers["x-trace-id"] == answer.json()["trace_id"] == trace


async def test_the_documentation_describes_every_route_with_its_errors(client: Any) -> None:
    schema = (await client.get("/openapi.json")).json()
    paths = {path for path in schema["paths"] if path.startswith("/v1")}
    assert "/v1/apps/{app}/sessions/{sid}/turns" in paths
    for path in paths:
        for operation in schema["paths"][path].values():
            problem = operation["responses"]["422"]["content"]["application/problem+json"]
            assert problem["schema"]["$ref"].endswith("/ProblemDetails")


async def test_characters_that_no_store_takes_do_no_harm(client: Any) -> None:
    created = await client.post(SESSIONS, json={"session_id": "s", "state": {"a": "x\x00y"}})
    assert created.status_code == 201
    patched = await client.patch(
        f"{SESSIONS}/s/state",
        content=b'{"b": "\\ud800"}',
        headers={"Content-Type": "application/json"},
    )
    assert patched.json() == {"a": "x\ufffdy", "b": "\ufffd"}
    for body in (
        b'{"message": "a\\u0000b"}',
        b'{"message": "\\ud800", "metadata": {"a": "\\udfff"}}',
    ):
        turn = await client.post(
            f"{SESSIONS}/s/turns", content=body, headers={"Content-Type": "application/json"}
        )
        assert turn.status_code == 200, turn.text
        assert turn.json()["turn"]["status"] == "succeeded"


async def test_the_traceback_of_a_broken_agent_is_logged_once(serve: Any) -> None:
    server = await serve()
    for n in range(5):
        refused = await server.client.post("/v1/apps/broken/sessions", json={"session_id": f"s{n}"})
        assert refused.status_code == 500
    await server.stop()
    log = "".join(server.output)
    assert log.count("Traceback (most recent call last)") == 1
    assert log.count("request_failed") == 5
