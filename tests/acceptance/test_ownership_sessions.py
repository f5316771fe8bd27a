"""What belongs to one user is not there for another: on every route of sessions and artifacts."""

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
    async with httpx.AsyncClient(base_url=keyless.url, timeout=30) as client:
        yield client


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None),
        ("DELETE", "", None),
        ("GET", "/events", None),
        ("GET", "/state", None),
        ("PATCH", "/state", {"a": 2}),
        ("GET", "/turns", None),
        ("POST", "/turns", {"message": "x"}),
        ("POST", "/rewind", {"turn_id": "TURN"}),
        ("POST", "/fork", {"turn_id": "TURN"}),
        ("POST", "/fork", None),
        ("GET", "/artifacts", None),
        ("GET", "/artifacts/own.txt", None),
        ("GET", "/artifacts/own.txt?version=0", None),
        ("PUT", "/artifacts/own.txt", {"new": 1}),
        ("POST", "/artifacts/own.txt", {"new": 1}),
        ("DELETE", "/artifacts/own.txt", None),
        ("GET", "/artifacts/user:card.txt", None),
        ("PUT", "/artifacts/user:card.txt", {"new": 1}),
        ("DELETE", "/artifacts/user:card.txt", None),
    ],
)
async def test_another_users_session_is_not_found(
    client: Any, method: str, path: str, body: Any
) -> None:
    ann, bob = ({"X-Oda-User": f"{name}-{uuid.uuid4().hex}"} for name in ("ann", "bob"))
    await client.post(SESSIONS, json={"session_id": "mine", "state": {"a": 1}}, headers=ann)
    url = f"{SESSIONS}/mine"
    said = await client.post(f"{url}/turns", json={"message": "hello"}, headers=ann)
    turn = said.json()["turn"]["turn_id"]
    for name in ("own.txt", "user:card.txt"):
        await client.put(f"{url}/artifacts/{name}", content=b"ann's", headers=ann)
    before = await _all_of(client, url, ann)
    if body == {"turn_id": "TURN"}:
        body = {"turn_id": turn}

    answer = await client.request(method, url + path, json=body, headers=bob)
    assert (answer.status_code, answer.json()["code"]) == (404, "session_not_found")
    assert "ann" not in answer.text
    assert await _all_of(client, url, ann) == before
    listed = await client.get(SESSIONS, headers=bob)
    assert listed.json()["sessions"] == []


async def test_the_same_names_of_two_users_are_two_things(client: Any) -> None:
    ann, bob = ({"X-Oda-User": f"{name}-{uuid.uuid4().hex}"} for name in ("ann", "bob"))
    for user, text in ((ann, b"ann's"), (bob, b"bob's")):
        await client.post(SESSIONS, json={"session_id": "same"}, headers=user)
        for name in ("a.txt", "user:a.txt"):
            url = f"{SESSIONS}/same/artifacts/{name}"
            assert (await client.put(url, content=text, headers=user)).json()["version"] == 0
    for user, text in ((ann, b"ann's"), (bob, b"bob's")):
        for name in ("a.txt", "user:a.txt"):
            url = f"{SESSIONS}/same/artifacts/{name}"
            assert (await client.get(url, headers=user)).content == text


async def _all_of(client: httpx.AsyncClient, url: str, user: dict[str, str]) -> list[Any]:
    """What the owner sees."""
    paths = ("", "/events", "/state", "/artifacts")
    return [(await client.get(url + path, headers=user)).json() for path in paths]
