"""A user who keeps as much as one may is refused more, and nothing else; deleting makes room."""

import asyncio
import base64
import uuid
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio

from oda.testing import ModelServer
from oda.testing.script import Call, Text, ToolCalls
from tests.acceptance.conftest import TEST_AGENTS, ServeFolder

pytestmark = pytest.mark.asyncio(loop_scope="module")

SESSIONS = "/v1/apps/keeper/sessions"
ROOM = 64 * 1024
FILE = bytes(40 * 1024)
BIG = "x" * 40 * 1024


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(serve_folder: ServeFolder, model_settings: dict[str, str]) -> str:
    """A server on which a user may keep 64 KiB in four sessions."""
    server = await serve_folder(
        TEST_AGENTS,
        **model_settings,
        LIMITS__USER_STORAGE_BYTES=str(ROOM),
        LIMITS__USER_SESSIONS="4",
    )
    return server.url


@pytest_asyncio.fixture(loop_scope="module")
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client whose user nobody else is."""
    async with httpx.AsyncClient(base_url=url, headers=somebody(), timeout=30) as client:
        yield client


def somebody() -> dict[str, str]:
    return {"X-Oda-User": uuid.uuid4().hex}


async def create(client: httpx.AsyncClient, name: str, **body: Any) -> str:
    made = await client.post(SESSIONS, json={"session_id": name, **body})
    assert made.status_code == 201, made.text
    return f"{SESSIONS}/{name}"


def assert_full(answer: httpx.Response, delete: str = "sessions or artifacts") -> None:
    assert answer.status_code == 413, answer.text
    problem = answer.json()
    assert (problem["type"], problem["code"]) == ("/problems/storage-quota", "storage_quota")
    assert problem["retryable"] is False
    assert f"delete {delete} that you do not need" in problem["detail"]


async def upload(client: httpx.AsyncClient, session: str, name: str) -> httpx.Response:
    return await client.put(f"{session}/artifacts/{name}", content=FILE)


async def send(client: httpx.AsyncClient, session: str) -> httpx.Response:
    data = {"mimeType": "image/png", "data": base64.b64encode(FILE).decode()}
    message = {"parts": [{"text": "look"}, {"inlineData": data}]}
    return await client.post(f"{session}/turns", json={"message": message})


async def patch(client: httpx.AsyncClient, session: str) -> httpx.Response:
    return await client.patch(f"{session}/state", json={"a": BIG})


@pytest.mark.parametrize("kind", ["upload", "message", "state"])
async def test_full_user_is_refused_all_that_is_large_until_something_is_deleted(
    client: Any, url: str, kind: str, model: ModelServer
) -> None:
    first, second = await create(client, "first"), await create(client, "second")
    model.play([Text(text="seen")])
    if kind == "upload":
        assert (await upload(client, first, "a.bin")).status_code == 201
    elif kind == "message":
        assert (await send(client, first)).json()["turn"]["status"] == "succeeded"
    else:
        assert (await patch(client, first)).status_code == 200
    assert_full(await upload(client, second, "a.bin"))
    assert_full(await send(client, second))
    assert_full(await patch(client, second))
    assert_full(await client.post(SESSIONS, json={"state": {"a": BIG}}))
    assert_full(await client.post(f"{first}/fork"))
    assert len((await client.get(SESSIONS)).json()["sessions"]) == 2
    for part in ("turns", "artifacts", "events", "state"):
        assert (await client.get(f"{second}/{part}")).status_code == 200
    assert (await client.get(f"{second}/state")).json() == {}
    assert (await client.get(f"{second}/artifacts")).json() == {"artifacts": []}
    assert (await client.get(f"{second}/turns")).json()["turns"] == []
    async with httpx.AsyncClient(base_url=url, headers=somebody(), timeout=30) as other:
        assert (await upload(other, await create(other, "first"), "a.bin")).status_code == 201
    if kind == "upload":
        assert (await client.delete(f"{first}/artifacts/a.bin")).status_code == 204
    else:
        assert (await client.delete(first)).status_code == 204
    assert (await upload(client, second, "a.bin")).status_code == 201
    assert_full(await upload(client, second, "a.bin"))


async def test_what_belongs_to_the_user_stays_counted_when_its_session_is_deleted(
    client: Any,
) -> None:
    first, second = await create(client, "first"), await create(client, "second")
    assert (await upload(client, first, "user:a.bin")).status_code == 201
    assert (await client.delete(first)).status_code == 204
    assert_full(await upload(client, second, "b.bin"))
    assert (await client.delete(f"{second}/artifacts/user:a.bin")).status_code == 204
    assert (await upload(client, second, "b.bin")).status_code == 201


async def test_what_an_agent_keeps_counts_and_does_not_break_its_turn(
    client: Any, model: ModelServer
) -> None:
    session = await create(client, "first")
    assert (await upload(client, session, "a.bin")).status_code == 201
    note = ToolCalls(calls=(Call(name="note", args={"name": "b.txt", "text": BIG}),))
    model.play([note, Text(text="noted")])
    answer = (await client.post(f"{session}/turns", json={"message": "note it"})).json()
    assert (answer["turn"]["status"], answer["reply"]) == ("succeeded", "noted")
    listed = (await client.get(f"{session}/artifacts")).json()["artifacts"]
    assert [one["name"] for one in listed] == ["a.bin", "b.txt"]
    assert_full(await client.post(f"{session}/turns", json={"message": "once more"}))
    assert (await client.delete(f"{session}/artifacts/b.txt")).status_code == 204
    model.play([Text(text="here")])
    answer = await client.post(f"{session}/turns", json={"message": "once more"})
    assert answer.json()["reply"] == "here"


async def test_no_more_sessions_than_allowed(client: Any) -> None:
    sessions = [await create(client, f"s{number}") for number in range(4)]
    for body in ({}, {"session_id": "another"}):
        assert_full(await client.post(SESSIONS, json=body), "sessions")
    assert_full(await client.post(f"{sessions[0]}/fork"), "sessions")
    taken = await client.post(SESSIONS, json={"session_id": "s0"})
    assert taken.json()["code"] == "session_exists"
    assert (await client.delete(sessions[0])).status_code == 204
    await create(client, "another")


async def test_adks_own_routes_are_counted_like_the_others(client: Any) -> None:
    of_user = f"/apps/keeper/users/{client.headers['X-Oda-User']}/sessions"
    session = await create(client, "first")
    assert (await upload(client, session, "a.bin")).status_code == 201
    refused = await client.post(of_user, json={"state": {"a": BIG}})
    assert (refused.status_code, "delete sessions" in refused.text) == (413, True)
    refused = await client.patch(f"{of_user}/first", json={"stateDelta": {"a": BIG}})
    assert (refused.status_code, "delete sessions" in refused.text) == (413, True)
    assert (await client.delete(f"{of_user}/first")).status_code == 200
    assert (await client.post(of_user, json={"state": {"a": BIG}})).status_code == 200


async def test_uploads_at_once_are_all_counted(client: Any) -> None:
    session = await create(client, "first")
    sent = [
        client.put(f"{session}/artifacts/{number}", content=bytes(9 * 1024)) for number in range(20)
    ]
    statuses = [answer.status_code for answer in await asyncio.gather(*sent)]
    assert set(statuses) == {201, 413}
    assert statuses.count(201) == (ROOM - 1024) // (10 * 1024)
