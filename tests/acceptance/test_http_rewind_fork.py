"""Rewind, fork and the state over HTTP."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio

from oda.testing import ModelServer
from oda.testing.script import Call, Text, ToolCalls

pytestmark = pytest.mark.asyncio(loop_scope="module")

SESSIONS = "/v1/apps/calculator/sessions"
ADD = ToolCalls(calls=(Call(name="add", args={"a": 2, "b": 3}),))
PAY = ToolCalls(calls=(Call(name="pay", args={"amount": 5}),))
HANG = ToolCalls(calls=(Call(name="wait_for_ever", args={}),))
ASYNC = {"Prefer": "respond-async"}


@pytest_asyncio.fixture(loop_scope="module")
async def client(server: Any, model: ModelServer) -> AsyncIterator[httpx.AsyncClient]:
    user = {"X-Oda-User": uuid.uuid4().hex}
    async with httpx.AsyncClient(base_url=server.url, headers=user, timeout=30) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="module")
async def session(client: httpx.AsyncClient) -> str:
    """The URL of a new session."""
    created = await client.post(SESSIONS, json={"state": {"given": 1}})
    return str(created.headers["location"])


async def say(client: httpx.AsyncClient, session: str, text: str) -> str:
    answer = await client.post(f"{session}/turns", json={"message": text})
    return str(answer.json()["turn"]["turn_id"])


async def spoken(client: httpx.AsyncClient, session: str) -> list[str]:
    events = (await client.get(f"{session}/events")).json()["events"]
    parts = [part for event in events for part in event.get("content", {}).get("parts", ())]
    return [part["text"] for part in parts if "text" in part]


async def running(client: httpx.AsyncClient, session: str, model: ModelServer) -> str:
    """A turn whose tool hangs."""
    model.play([HANG])
    submitted = await client.post(f"{session}/turns", json={"message": "wait"}, headers=ASYNC)
    turn = submitted.json()["turn_id"]
    stream = {"Accept": "text/event-stream"}
    async with client.stream("GET", f"/v1/turns/{turn}/events", headers=stream) as lines:
        async for line in lines.aiter_lines():
            if "wait_for_ever" in line:
                return str(turn)
    raise AssertionError("the tool was not called")


async def test_a_rewind_takes_turns_and_state_back(
    client: Any, session: str, model: ModelServer
) -> None:
    model.play([Text(text="1"), ADD, Text(text="2"), Text(text="3"), Text(text="4")])
    turns = [await say(client, session, text) for text in ("one", "two", "three")]
    before = await client.get(session)
    last = (await client.get(f"{session}/events")).json()["events"][-1]["id"]
    assert (await client.get(f"{session}/state")).json() == {"given": 1, "sums": 1}
    answer = await client.post(f"{session}/rewind", json={"turn_id": turns[1]})
    assert answer.status_code == 200
    assert answer.json()["turns"] == 1
    assert answer.headers["etag"] != before.headers["etag"]
    assert await spoken(client, session) == ["one", "1"]
    assert (await client.get(f"{session}/state")).json() == {"given": 1}
    expired = await client.get(f"{session}/events", params={"after": last})
    assert (expired.status_code, expired.json()["code"]) == (410, "cursor_expired")
    malformed = await client.get(f"{session}/events", params={"after": "nonsense"})
    assert malformed.status_code == 422
    await say(client, session, "four")
    assert [m.text for m in model.requests[-1].messages if m.role == "user"] == ["one", "four"]


async def test_unknown_and_rewound_turns_are_not_found(client: Any, session: str) -> None:
    turn = await say(client, session, "one")
    for body in ({"turn_id": "turn_none"}, {"turn_id": "nothing"}):
        for action in ("rewind", "fork"):
            answer = await client.post(f"{session}/{action}", json=body)
            assert (answer.status_code, answer.json()["code"]) == (404, "turn_not_found")
    assert (await client.post(f"{session}/rewind", json={})).status_code == 422
    assert (await client.post(f"{session}/rewind", json={"turn_id": turn})).status_code == 200
    for action in ("rewind", "fork"):
        answer = await client.post(f"{session}/{action}", json={"turn_id": turn})
        assert answer.status_code == 404
    other = (await client.post(SESSIONS)).headers["location"]
    elsewhere = await client.post(f"{other}/rewind", json={"turn_id": turn})
    assert elsewhere.status_code == 404


async def test_a_running_turn_is_not_disturbed(
    client: Any, session: str, model: ModelServer
) -> None:
    first = await say(client, session, "one")
    turn = await running(client, session, model)
    busy = await client.post(f"{session}/rewind", json={"turn_id": first})
    assert (busy.status_code, busy.json()["code"]) == (409, "session_busy")
    patched = await client.patch(f"{session}/state", json={"a": 1})
    assert (patched.status_code, patched.json()["code"]) == (409, "session_busy")
    assert patched.json()["retryable"]
    fork = await client.post(f"{session}/fork")
    assert await spoken(client, fork.headers["location"]) == ["one", "You said: one"]
    not_ended = await client.post(f"{session}/fork", json={"turn_id": turn})
    assert not_ended.status_code in (404, 409)
    cancelled = await client.post(f"/v1/turns/{turn}/cancel")
    assert cancelled.json()["status"] == "cancelled"
    assert (await client.patch(f"{session}/state", json={"a": 1})).status_code == 200


async def test_a_fork_is_a_session_of_its_own(
    client: Any, session: str, model: ModelServer
) -> None:
    model.play([ADD, Text(text="1"), ADD, Text(text="2"), Text(text="3")])
    first = await say(client, session, "one")
    await say(client, session, "two")
    made = await client.post(f"{session}/fork", json={"turn_id": first, "session_id": "branch"})
    assert made.status_code == 201
    assert made.headers["location"] == f"{SESSIONS}/branch"
    assert (made.json()["session_id"], made.json()["turns"]) == ("branch", 1)
    assert made.headers["etag"]
    assert (await client.get(f"{SESSIONS}/branch/state")).json() == {"given": 1, "sums": 1}
    await say(client, f"{SESSIONS}/branch", "three")
    assert await spoken(client, f"{SESSIONS}/branch") == ["one", "1", "three", "3"]
    assert await spoken(client, session) == ["one", "1", "two", "2"]
    taken = await client.post(f"{session}/fork", json={"session_id": "branch"})
    assert (taken.status_code, taken.json()["code"]) == (409, "session_exists")
    wrong = await client.post(f"{session}/fork", json={"session_id": "a/b"})
    assert wrong.status_code == 422
    whole = await client.post(f"{session}/fork")
    assert await spoken(client, whole.headers["location"]) == ["one", "1", "two", "2"]


async def test_a_waiting_turn_can_be_rewound(client: Any, session: str, model: ModelServer) -> None:
    model.play([PAY])
    turn = await say(client, session, "pay")
    record = (await client.get(f"/v1/turns/{turn}")).json()
    assert record["status"] == "waiting_input"
    fork = await client.post(f"{session}/fork")
    assert await spoken(client, fork.headers["location"]) == []
    assert (await client.post(f"{session}/rewind", json={"turn_id": turn})).status_code == 200
    answer = {"responses": [{"id": record["pending_input"][0]["id"], "confirmed": True}]}
    late = await client.post(f"/v1/turns/{turn}/input", json=answer)
    assert late.status_code == 409
    assert (await client.get(f"/v1/turns/{turn}")).json()["status"] == "cancelled"
    assert await spoken(client, session) == []


async def test_of_two_patches_of_the_same_state_one_wins(client: Any, session: str) -> None:
    url = f"{session}/state"
    for n in range(5):
        tag = (await client.get(url)).headers["etag"]
        answers = await asyncio.gather(
            *(
                client.patch(url, json={"winner": [n, who]}, headers={"If-Match": tag})
                for who in range(4)
            )
        )
        assert sorted(answer.status_code for answer in answers) == [200, 412, 412, 412]
        [won] = [answer for answer in answers if answer.status_code == 200]
        now = await client.get(url)
        assert (now.json(), now.headers["etag"]) == (won.json(), won.headers["etag"])


@pytest.mark.parametrize(
    "key", ["app:x", "user:x", "temp:x", "_oda", "_oda_initial", "_adk_replay_config"]
)
async def test_clients_write_only_what_is_the_sessions(client: Any, session: str, key: str) -> None:
    created = await client.post(SESSIONS, json={"state": {"fine": 1, key: 1}})
    for value in (1, None):
        patched = await client.patch(f"{session}/state", json={"fine": 1, key: value})
        for answer in (created, patched):
            assert answer.status_code == 422
            assert key in answer.json()["detail"]
    assert (await client.get(f"{session}/state")).json() == {"given": 1}


async def test_the_etag_of_a_session_follows_its_changes(client: Any, session: str) -> None:
    tags = [(await client.get(session)).headers["etag"]]
    assert (await client.get(session)).headers["etag"] == tags[0]
    await client.patch(f"{session}/state", json={"a": 1})
    tags.append((await client.get(session)).headers["etag"])
    turn = await say(client, session, "one")
    tags.append((await client.get(session)).headers["etag"])
    await client.post(f"{session}/rewind", json={"turn_id": turn})
    tags.append((await client.get(session)).headers["etag"])
    assert len(set(tags)) == 4
