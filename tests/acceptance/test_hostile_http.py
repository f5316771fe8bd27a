"""Whatever is sent: no 5xx, no hang, no word about the inside, and the server stays well."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
import pytest_asyncio

from tests.support.hostile import (
    ACCEPTED_TURNS,
    BODIES,
    HEADERS,
    IDS,
    JSON,
    LEAKS,
    PATHS,
    QUERIES,
    REFUSED_AGENTS,
    REFUSED_PATCHES,
    REFUSED_TURNS,
    Hostile,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

AGENTS = Path(__file__).parents[1] / "support" / "agents"
OURS = "/v1/apps/calculator/sessions"
ADKS = "/apps/calculator/users/local/sessions"
NO_HTTP = b"Invalid HTTP request received."
"""What the parser of HTTP says, before there is a request."""
WITHIN_S = 20
LARGEST_GROWTH = 400 * 2**20
"""Bytes by which the process may grow: bodies of 20 MB have been parsed in it."""

WITH_BODY = [
    ("POST", OURS),
    ("PATCH", f"{OURS}/s/state"),
    ("POST", f"{OURS}/s/rewind"),
    ("POST", f"{OURS}/s/fork"),
    ("POST", f"{OURS}/s/turns"),
    ("POST", "/v1/turns/{tid}/input"),
    ("POST", ADKS),
    ("POST", f"{ADKS}/other"),
    ("PATCH", f"{ADKS}/a"),
    ("POST", f"{ADKS}/a/artifacts"),
    ("PATCH", "/apps/calculator/users/local/memory"),
    ("POST", "/run"),
    ("POST", "/run_sse"),
]
WITH_IDS = [
    "/v1/apps/{}/sessions",
    "/v1/apps/{}/sessions/s/turns",
    "/v1/apps/calculator/sessions/{}",
    "/v1/apps/calculator/sessions/{}/events",
    "/v1/apps/calculator/sessions/{}/state",
    "/v1/apps/calculator/sessions/{}/turns",
    "/v1/apps/calculator/sessions/{}/artifacts",
    "/v1/apps/calculator/sessions/s/artifacts/{}",
    "/v1/turns/{}",
    "/v1/turns/{}/events",
    "/apps/{}/app-info",
    "/apps/{}/users/local/sessions",
    "/apps/calculator/users/{}/sessions",
    "/apps/calculator/users/local/sessions/{}",
    "/apps/calculator/users/local/sessions/{}/artifacts",
    "/apps/calculator/users/local/sessions/a/artifacts/{}",
    "/apps/calculator/users/local/sessions/a/artifacts/{}/versions",
    "/apps/calculator/users/local/sessions/a/artifacts/x/versions/{}",
]
LISTS = [
    OURS,
    f"{OURS}/s/events",
    f"{OURS}/s/turns",
    f"{OURS}/s/artifacts/a.txt",
    "/v1/turns/{tid}/events",
    ADKS,
    f"{ADKS}/a/artifacts/x",
]


@dataclass
class Target:
    """A server with a session of ours `s` and one of ADK's `a`, a turn and an artifact."""

    server: Any
    turn_id: str
    grown_from: int

    @property
    def memory(self) -> int:
        processes = psutil.Process(self.server.process.pid)
        return int(processes.memory_info().rss)

    def path(self, template: str) -> str:
        return template.replace("{tid}", self.turn_id)

    async def ask(self, method: str, path: str, **request: Any) -> httpx.Response:
        async with asyncio.timeout(WITHIN_S):
            answer: httpx.Response = await self.server.client.request(
                method, self.path(path), **request
            )
        return answer


@pytest_asyncio.fixture(
    scope="module",
    loop_scope="module",
    params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)],
)
async def target(request: Any, serve_folder: Any) -> AsyncIterator[Target]:
    settings = {}
    if request.param == "postgres":
        settings["DATABASE_URL"] = request.getfixturevalue("postgres_url")
    server = await serve_folder(AGENTS, **settings)
    client = server.client
    await client.post(OURS, json={"session_id": "s", "state": {"a": 1}})
    await client.post(f"{ADKS}/a")
    turn = await client.post(f"{OURS}/s/turns", json={"message": "hello"})
    stored = await client.put(f"{OURS}/s/artifacts/a.txt", content=b"x")
    assert (turn.status_code, stored.status_code) == (200, 201)
    target = Target(server, turn.json()["turn"]["turn_id"], 0)
    target.grown_from = target.memory
    yield target


def check(
    path: str, status: int, headers: Mapping[str, str], body: bytes, *, echo: str = ""
) -> None:
    """Check an answer: no fault of the server, and nothing of its inside."""
    assert status < 500, body[:500]
    if status < 400 or body == NO_HTTP:
        return
    text = body.decode()
    if path.startswith("/v1/") and body:
        assert headers["content-type"] == "application/problem+json", text[:500]
        problem = json.loads(text)
        assert problem["status"] == status
        assert problem["trace_id"] == headers["x-trace-id"]
        assert all(problem[name] for name in ("type", "title", "detail", "code"))
        del problem["instance"]
        text = json.dumps(problem)
    found = LEAKS.search(text)
    assert found is None or found[0] in echo, text[:1000]


async def asked(target: Target, method: str, path: str, **request: Any) -> httpx.Response:
    echo = path + str(request.get("content", b"")) + str(request.get("json", ""))
    if "json" in request:
        request["content"] = json.dumps(request.pop("json")).encode()
        request["headers"] = {**JSON, **request.get("headers", {})}
    answer = await target.ask(method, path, **request)
    check(path, answer.status_code, answer.headers, answer.content, echo=echo)
    return answer


async def say(target: Target, request: bytes) -> tuple[int, dict[str, str], bytes]:
    """Send bytes; status, headers and body of the answer, (0, {}, b"") without one."""
    url = httpx.URL(target.server.url)
    reader, writer = await asyncio.open_connection(url.host, url.port)
    answer = b""
    try:
        async with asyncio.timeout(WITHIN_S):
            writer.write(request)
            await writer.drain()
            while data := await reader.read(65536):
                answer += data
    except ConnectionError:
        pass
    finally:
        writer.close()
    if not answer:
        return 0, {}, b""
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return int(first.split()[1]), {name.lower(): value.strip() for name, _, value in pairs}, body


def get(path: str) -> bytes:
    return b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % path.encode()


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.name)
@pytest.mark.parametrize(("method", "path"), WITH_BODY, ids=lambda value: value)
async def test_a_hostile_body(target: Target, method: str, path: str, body: Hostile) -> None:
    answer = await asked(target, method, path, content=body.content, headers=body.headers)
    if body.statuses and path.startswith("/v1/"):
        assert answer.status_code in body.statuses


@pytest.mark.parametrize("template", WITH_IDS)
async def test_hostile_ids_in_paths(target: Target, template: str) -> None:
    for hostile in IDS:
        path = template.format(hostile)
        status, headers, body = await say(target, get(path))
        assert "x-injected" not in headers
        check(path, status, headers, body, echo=path)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path[:40])
async def test_a_hostile_path(target: Target, path: str) -> None:
    status, headers, body = await say(target, get(path))
    assert b"root:" not in body
    check(path, status, headers, body, echo=path)


@pytest.mark.parametrize("path", LISTS)
async def test_hostile_queries(target: Target, path: str) -> None:
    for query in QUERIES:
        await asked(target, "GET", f"{path}?{query}")


@pytest.mark.parametrize("name", HEADERS)
async def test_hostile_headers(target: Target, name: str) -> None:
    turns = {"json": {"message": "x"}}
    for value in HEADERS[name]:
        header = {name.encode(): value.encode("latin-1")}
        await asked(target, "GET", "/v1/turns/{tid}/events", headers=header)
        await asked(target, "GET", f"{OURS}/s/artifacts/a.txt", headers=header)
        await asked(target, "PATCH", f"{OURS}/s/state", headers=header, json={"b": 1})
        await asked(target, "POST", f"{OURS}/s/turns", headers=header, **turns)
        await asked(target, "GET", ADKS, headers=header)


async def test_garbage_is_not_taken_for_a_place_in_a_stream(target: Target) -> None:
    for value in ("-1", "x", "1.5", "²", "1" * 30, "0x10"):
        answer = await asked(
            target,
            "GET",
            "/v1/turns/{tid}/events",
            headers={b"Last-Event-ID": value.encode()},
        )
        assert answer.status_code == 422, value


@pytest.mark.parametrize("name", REFUSED_TURNS)
async def test_a_turn_that_is_refused(target: Target, name: str) -> None:
    answer = await asked(target, "POST", f"{OURS}/s/turns", json=REFUSED_TURNS[name])
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")


@pytest.mark.parametrize("name", ACCEPTED_TURNS)
async def test_a_strange_turn_does_no_harm(target: Target, name: str) -> None:
    answer = await asked(target, "POST", f"{OURS}/s/turns", json=ACCEPTED_TURNS[name])
    assert answer.status_code == 200
    assert answer.json()["turn"]["status"] == "succeeded"
    assert "\\u0000" not in answer.text


async def test_forged_messages_on_adks_routes(target: Target) -> None:
    named = {"appName": "calculator", "userId": "local", "sessionId": "a"}
    for body in (*REFUSED_TURNS.values(), *ACCEPTED_TURNS.values()):
        for path in ("/run", "/run_sse"):
            message = body["message"]
            said = message if isinstance(message, dict) else {"parts": [{"text": message}]}
            await asked(target, "POST", path, json={**named, "newMessage": said})
    for strange in (
        {"appName": "../../etc"},
        {"sessionId": "\0"},
        {"sessionId": "\ud800"},
        {"userId": "a\0"},
        {"stateDelta": {"\0": "\0", "\ud800": 1}},
        {"stateDelta": {"_oda_meta": 1}},
        {"invocationId": "\0"},
    ):
        for path in ("/run", "/run_sse"):
            said = {"role": "user", "parts": [{"text": "x"}]}
            await asked(target, "POST", path, json={**named, "newMessage": said, **strange})


async def test_names_of_agents_are_no_paths(target: Target) -> None:
    for name in REFUSED_AGENTS:
        body = {"message": "x", "agent": name}
        answer = await asked(target, "POST", f"{OURS}/s/turns", json=body)
        assert answer.status_code in (404, 422), name


async def test_hostile_patches_of_the_state(target: Target) -> None:
    before = (await asked(target, "GET", f"{OURS}/s/state")).json()
    for patch in REFUSED_PATCHES:
        answer = await asked(target, "PATCH", f"{OURS}/s/state", json=patch)
        assert answer.status_code == 422, patch
    deep: Any = 1
    for _ in range(200):
        deep = {"a": deep}
    answer = await asked(target, "PATCH", f"{OURS}/s/state", json={"deep": deep})
    assert answer.status_code == 400
    assert (await asked(target, "GET", f"{OURS}/s/state")).json() == before


async def test_ids_that_are_given_to_new_sessions(target: Target) -> None:
    texts = ("", "a/b", "..", ".", "\0", "\ud800", "a\nb", " a", "x" * 129)
    wrong: tuple[Any, ...] = (*texts, 1, True, {})
    for refused in wrong:
        answer = await asked(target, "POST", OURS, json={"session_id": refused})
        assert answer.status_code == 422, refused
    for number, taken in enumerate(("é", "张三", "a b", "%2e%2e", "?", "#", "a%00")):
        answer = await asked(target, "POST", OURS, json={"session_id": f"{number}{taken}"})
        assert answer.status_code == 201, taken
        there = await asked(target, "GET", answer.headers["Location"])
        assert there.json()["session_id"] == f"{number}{taken}"


async def test_every_method_on_every_route(target: Target) -> None:
    paths = (await target.ask("GET", "/openapi.json")).json()["paths"]
    for template, operations in paths.items():
        run = {"tid": target.turn_id, "run_id": target.turn_id}
        path = template.format(app="calculator", sid="s", name="a.txt", **run)
        known = {method.upper() for method in operations}
        for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"):
            if method in known:
                continue
            answer = await asked(target, method, path)
            assert answer.status_code == 405, (method, path)
            assert set(answer.headers["Allow"].split(", ")) == known, (method, path)
            if method != "HEAD":
                assert answer.json()["code"] == "method_not_allowed"


@pytest.mark.parametrize(
    "request_",
    [
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nHost: a\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"BREW /v1/apps HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /v1/apps HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/apps HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
        b"Content-Length: 2\r\nConnection: close\r\n\r\nx",
        b"POST /v1/apps HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /livez HTTP/1.1\r\n\r\n",
        b"POST /v1/apps HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /v1/apps HTTP/1.1\r\nHost: localhost\r\nX-Fold: a\r\n b\r\nConnection: close\r\n\r\n",
        b"GET /v1/apps HTTP/1.1\r\nHost: localhost\r\nX-Nul: a\x00b\r\n\r\n",
        b"GET http://evil.example/v1/apps HTTP/1.1\r\nHost: evil.example\r\n"
        b"Connection: close\r\n\r\n",
        b"GET /v1/apps HTTP/1.1\r\nHost: localhost\r\n" + b"X-A: b\r\n" * 20_000 + b"\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    ],
    ids=lambda value: repr(value[:40]),
)
async def test_what_is_hardly_http(target: Target, request_: bytes) -> None:
    status, _, body = await say(target, request_)
    assert status < 500
    assert LEAKS.search(body.decode("latin-1")) is None


async def test_the_server_is_well_afterwards(target: Target) -> None:
    begin = time.monotonic()
    session = await asked(target, "POST", OURS)
    turn = await asked(target, "POST", f"{session.headers['Location']}/turns", json=_HELLO)
    assert turn.json()["turn"]["status"] == "succeeded"
    assert time.monotonic() - begin < 5
    unforeseen = [line for line in target.server.output if "request_broken" in line]
    assert unforeseen == []
    assert target.memory - target.grown_from < LARGEST_GROWTH


_HELLO = {"message": "hello"}
