"""What one user has is not there for another, on whatever way it is asked for."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from oda.clock import SystemClock
from oda.database.database import open_database
from oda.database.migrate import upgrade
from oda.identity.keys import ApiKeys
from oda.testing import ModelServer
from oda.testing.script import Call, Text, ToolCalls
from tests.support.model_settings import gemini

pytestmark = pytest.mark.asyncio(loop_scope="module")

AGENTS = Path(__file__).parents[1] / "support" / "agents"
SESSIONS = "/v1/apps/calculator/sessions"
OWNED = ("{sid}", "{tid}", "{name}")
MISSING = "not-there"

BODIES: dict[str, Any] = {
    "update_session_state": {"a": 2},
    "rewind_session": {"turn_id": "{tid}"},
    "fork_session": {"turn_id": "{tid}"},
    "submit_turn": {"message": "hello"},
    "answer_turn": {"responses": [{"id": "x", "confirmed": True}]},
    "upload_artifact": "bytes",
    "upload_artifact_by_post": "bytes",
}
"""What the operations with a body are sent."""
COVERED = {
    *("get_session", "delete_session", "list_session_events"),
    *("get_session_state", "update_session_state"),
    *("rewind_session", "fork_session", "list_artifacts", "download_artifact", "upload_artifact"),
    *("upload_artifact_by_post", "delete_artifact", "submit_turn", "list_turns", "get_turn"),
    *("list_turn_events", "cancel_turn", "answer_turn"),
}
"""Operations that name what somebody owns; a new one is to be thought about here."""


@dataclass(frozen=True)
class Two:
    """Anna has a session with a turn that has ended, one that waits, and an artifact."""

    url: str
    anna: httpx.AsyncClient
    bert: httpx.AsyncClient
    root: httpx.AsyncClient
    ended: str
    waiting: str
    document: dict[str, Any]

    async def of_anna(self) -> list[Any]:
        """All that there is of Anna's, as she sees it."""
        paths = (
            *(SESSIONS, f"{SESSIONS}/mine", f"{SESSIONS}/mine/events", f"{SESSIONS}/mine/state"),
            *(f"{SESSIONS}/mine/turns", f"{SESSIONS}/mine/artifacts"),
            *(f"/v1/turns/{turn}" for turn in (self.ended, self.waiting)),
            *(f"/v1/turns/{turn}/events" for turn in (self.ended, self.waiting)),
        )
        answers = [await self.anna.get(path) for path in paths]
        assert {answer.status_code for answer in answers} == {200}
        return [answer.json() for answer in answers]


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def two(
    serve_folder: Any, shared_model: ModelServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Two]:
    data = tmp_path_factory.mktemp("two")
    async with open_database(f"sqlite:///{data / 'oda.db'}") as database:
        await upgrade(database.engine)
        keys = ApiKeys(database, SystemClock())
        as_anna, as_bert, as_root = (
            bearer((await keys.create("anna", "user"))[1]),
            bearer((await keys.create("bert", "user"))[1]),
            bearer((await keys.create("root", "admin"))[1]),
        )
    server = await serve_folder(
        AGENTS,
        data,
        **gemini(shared_model),
        LIMITS__REQUESTS_PER_MINUTE="100000",
    )
    url = server.url
    async with (
        httpx.AsyncClient(base_url=url, headers=as_anna, timeout=30) as anna,
        httpx.AsyncClient(base_url=url, headers=as_bert, timeout=30) as bert,
        httpx.AsyncClient(base_url=url, headers=as_root, timeout=30) as root,
    ):
        await anna.post(SESSIONS, json={"session_id": "mine", "state": {"a": 1}})
        await anna.put(f"{SESSIONS}/mine/artifacts/a.txt", content=b"secret")
        shared_model.play([Text(text="Hello.")])
        ended = await anna.post(f"{SESSIONS}/mine/turns", json={"message": "hello"})
        shared_model.play([ToolCalls(calls=(Call(name="pay", args={"amount": 1}),))])
        waiting = await anna.post(f"{SESSIONS}/mine/turns", json={"message": "pay 1"})
        turns = [answer.json()["turn"] for answer in (ended, waiting)]
        assert [turn["status"] for turn in turns] == ["succeeded", "waiting_input"]
        document = (await anna.get("/openapi.json")).json()
        two = Two(url, anna, bert, root, turns[0]["turn_id"], turns[1]["turn_id"], document)
        async with asyncio.timeout(10):
            while await two.of_anna() != await two.of_anna():
                """What the turn has left is still being stored."""
        yield two


def owned(two: Two) -> dict[str, tuple[str, str]]:
    """Method and path of each operation that names what somebody owns."""
    return {
        operation["operationId"]: (method.upper(), path)
        for path, operations in two.document["paths"].items()
        for method, operation in operations.items()
        if any(name in path for name in OWNED)
    }


async def ask(
    client: httpx.AsyncClient, operation: str, method: str, path: str, *, sid: str, tid: str
) -> httpx.Response:
    names = {"app": "calculator", "sid": sid, "tid": tid, "name": "a.txt"}
    body = BODIES.get(operation)
    request: dict[str, Any] = {}
    if body == "bytes":
        request["content"] = b"changed"
    elif body is not None:
        request["json"] = {
            key: value.format(**names) if isinstance(value, str) else value
            for key, value in body.items()
        }
    return await client.request(method, path.format(**names), **request)


def told(answer: httpx.Response, *names: str) -> Any:
    """An answer without what is different each time, and without the names that were asked for."""
    problem = {k: v for k, v in answer.json().items() if k not in ("trace_id", "instance")}
    for name in names:
        problem["detail"] = problem["detail"].replace(name, "NAME")
    return answer.status_code, sorted(answer.headers), problem


async def test_every_route_that_names_what_is_owned_is_thought_about(two: Two) -> None:
    assert set(owned(two)) == COVERED


@pytest.mark.parametrize("operation", sorted(COVERED))
async def test_what_is_anothers_is_not_there(two: Two, operation: str) -> None:
    before = await two.of_anna()
    method, path = owned(two)[operation]
    for tid in (two.waiting, two.ended):
        theirs = await ask(two.bert, operation, method, path, sid="mine", tid=tid)
        absent = await ask(two.bert, operation, method, path, sid=MISSING, tid=MISSING)
        assert theirs.status_code == 404, theirs.text
        assert told(theirs, "mine", tid) == told(absent, MISSING)
        assert len(theirs.headers["X-Trace-Id"]) == 32
        headers = {**two.bert.headers, "X-Oda-User": "anna"}
        bert = httpx.AsyncClient(base_url=two.url, timeout=30, headers=headers)
        async with bert:
            refused = await ask(bert, operation, method, path, sid="mine", tid=tid)
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert await two.of_anna() == before


async def test_streams_and_keys_open_nothing_either(two: Two) -> None:
    before = await two.of_anna()
    stream = {"Accept": "text/event-stream", "Last-Event-ID": "0"}
    for turn in (two.ended, two.waiting):
        answer = await two.bert.get(f"/v1/turns/{turn}/events", headers=stream)
        assert answer.status_code == 404
    body = {"message": "hello"}
    key = {"Idempotency-Key": "one", "Prefer": "respond-async"}
    assert (
        await two.bert.post(f"{SESSIONS}/mine/turns", json=body, headers=key)
    ).status_code == 404
    assert (await two.bert.get(SESSIONS)).json() == {"sessions": [], "next_cursor": None}
    assert await two.of_anna() == before


async def test_the_same_id_is_another_session(two: Two) -> None:
    created = await two.bert.post(SESSIONS, json={"session_id": "twin"})
    other = await two.anna.post(SESSIONS, json={"session_id": "twin"})
    assert (created.status_code, other.status_code) == (201, 201)
    await two.bert.patch(f"{SESSIONS}/twin/state", json={"a": "bert"})
    assert (await two.anna.get(f"{SESSIONS}/twin/state")).json() == {}
    for client in (two.anna, two.bert):
        assert (await client.delete(f"{SESSIONS}/twin")).status_code == 204


async def test_an_artifact_of_the_user_is_the_users(two: Two) -> None:
    await two.anna.put(f"{SESSIONS}/mine/artifacts/user:a.txt", content=b"anna's")
    await two.bert.post(SESSIONS, json={"session_id": "berts"})
    path = f"{SESSIONS}/berts/artifacts"
    assert (await two.bert.get(path)).json() == {"artifacts": []}
    assert (await two.bert.get(f"{path}/user:a.txt")).status_code == 404
    assert (await two.bert.delete(f"{path}/user:a.txt")).status_code == 404
    await two.bert.delete(f"{SESSIONS}/berts")
    assert (await two.anna.get(f"{SESSIONS}/mine/artifacts/user:a.txt")).content == b"anna's"


async def test_adks_routes_do_not_have_it(two: Two) -> None:
    before = await two.of_anna()
    theirs = "/apps/calculator/users/anna/sessions"
    for method, path in (
        ("GET", theirs),
        ("POST", theirs),
        *((method, f"{theirs}/mine") for method in ("GET", "POST", "PATCH", "DELETE")),
        *((method, f"{theirs}/mine/artifacts") for method in ("GET", "POST")),
        *((method, f"{theirs}/mine/artifacts/a.txt") for method in ("GET", "DELETE")),
        ("GET", f"{theirs}/mine/artifacts/a.txt/versions"),
        ("GET", f"{theirs}/mine/artifacts/a.txt/versions/0"),
        ("GET", f"{theirs}/mine/artifacts/a.txt/versions/0/metadata"),
        ("PATCH", "/apps/calculator/users/anna/memory"),
    ):
        answer = await two.bert.request(method, path)
        absent = await two.bert.request(method, path.replace("/mine", f"/{MISSING}"))
        assert (answer.status_code, answer.json()) == (404, {"detail": "Session not found"})
        assert absent.json() == answer.json()
    message = {"role": "user", "parts": [{"text": "hello"}]}
    for path in ("/run", "/run_sse"):
        for user in ("anna", "bert"):
            named = {"appName": "calculator", "userId": user, "newMessage": message}
            there = await two.bert.post(path, json={**named, "sessionId": "mine"})
            absent = await two.bert.post(path, json={**named, "sessionId": MISSING})
            assert there.status_code == absent.status_code == 404
            assert there.text.replace("mine", MISSING) == absent.text
    assert await two.of_anna() == before


async def test_no_socket_opens_on_it(two: Two) -> None:
    key = two.bert.headers["Authorization"]
    sockets = f"ws{two.url.removeprefix('http')}"
    for path in (
        f"{SESSIONS}/mine/ws",
        f"{SESSIONS}/{MISSING}/ws",
        "/run_live?app_name=calculator&user_id=anna&session_id=mine",
    ):
        with pytest.raises(InvalidStatus) as refused:
            await connect(
                f"{sockets}{path}", additional_headers={"Authorization": key}
            ).__aenter__()
        assert refused.value.response.status_code == 404, path


async def test_an_admin_acts_for_others_and_for_nobody_by_chance(two: Two) -> None:
    as_anna = {"X-Oda-User": "anna"}
    for path in (f"{SESSIONS}/mine", f"/v1/turns/{two.waiting}", f"{SESSIONS}/mine/events"):
        assert (await two.root.get(path)).status_code == 404
        assert (await two.root.get(path, headers=as_anna)).status_code == 200
        assert (await two.bert.get(path, headers=as_anna)).status_code == 403
        assert (await two.bert.get(path, headers={"X-Oda-User": "bert"})).status_code == 404
