"""What a client may send is judged before the application sees the request."""

import asyncio
import json
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI, Request
from starlette.types import Message

from oda.server.body_limits import BodyLimits, HeaderLimit
from oda.server.openapi import LARGE_BODY
from oda.settings import LimitSettings
from tests.support.asgi import Answered, Reader, ask, scope_of

LIMITS = LimitSettings(body_bytes=1024, json_depth=8, body_timeout_s=0.05)
JSON = ("Content-Type", "application/json")
CHUNKED = ("Transfer-Encoding", "chunked")


@pytest.fixture
def reader() -> Reader:
    return Reader()


@pytest.fixture
def app(reader: Reader) -> BodyLimits:
    return BodyLimits(reader, limits=LIMITS)


async def test_a_body_within_the_limits_arrives_whole(app: BodyLimits, reader: Reader) -> None:
    chunks = [b'{"message": ', b'"hello"', b"}"]
    answered = await ask(app, scope_of([JSON, CHUNKED]), chunks)
    assert (answered.status, reader.bodies) == (200, [b'{"message": "hello"}'])


async def test_a_body_that_says_it_is_too_large_is_not_looked_at(
    app: BodyLimits, reader: Reader
) -> None:
    received: list[int] = []
    scope = scope_of([JSON, ("Content-Length", "1025")])
    answered = await ask(app, scope, [b"x" * 1025], received=received)
    assert _problem(answered) == (413, "too_large")
    assert answered.headers["connection"] == "close"
    assert (len(received), reader.bodies) == (1, [])  # thrown away


@pytest.mark.parametrize("length", [CHUNKED, ("Content-Length", "10")])
async def test_a_body_that_turns_out_too_large_is_thrown_away(
    app: BodyLimits, reader: Reader, length: tuple[str, str]
) -> None:
    answered = await ask(app, scope_of([length]), [b"x" * 600] * 50)
    assert _problem(answered) == (413, "too_large")
    assert reader.bodies == []


async def test_a_length_beyond_all_numbers_is_too_large(app: BodyLimits) -> None:
    answered = await ask(app, scope_of([("Content-Length", "9" * 5000)]))
    assert answered.status == 413


async def test_a_body_that_does_not_come_is_given_up(app: BodyLimits, reader: Reader) -> None:
    answered = Answered()

    async def never() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        answered.messages.append(message)

    await app(scope_of([JSON, ("Content-Length", "5")]), never, send)
    assert _problem(answered) == (408, "request_timeout")
    assert reader.bodies == []


async def test_nothing_is_asked_of_a_client_that_left(app: BodyLimits, reader: Reader) -> None:
    answered = await ask(app, scope_of([JSON, CHUNKED]), [])
    assert (answered.messages, reader.bodies) == ([], [])


async def test_requests_without_a_body_are_passed_on_as_they_are(reader: Reader) -> None:
    app = BodyLimits(reader, limits=LIMITS)
    received: list[int] = []
    await ask(app, scope_of(method="GET"), received=received)
    assert len(received) == 1  # by the application


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 9 + b"]" * 9,
        b'{"a":' * 100 + b"1" + b"}" * 100,
        b'{"a": NaN}',
        b"[-Infinity]",
        b"[1e400]",
        b"1" * 600,
        b"\xff\xfe[\0]\0",
        b'"\xed\xa0\x80"',
        b'{"a": "\x00"}',
        json.dumps(["x"]).encode("utf-16"),
    ],
)
async def test_json_that_no_part_behind_could_take_is_malformed(
    app: BodyLimits, reader: Reader, body: bytes
) -> None:
    for content_type in ("application/json; charset=utf-8", "application/merge-patch+JSON"):
        headers = [("Content-Type", content_type), ("Content-Length", str(len(body)))]
        assert _problem(await ask(app, scope_of(headers), [body])) == (400, "malformed")
    assert reader.bodies == []


async def test_only_json_is_looked_into(app: BodyLimits, reader: Reader) -> None:
    headers = [("Content-Type", "application/octet-stream"), CHUNKED]
    assert (await ask(app, scope_of(headers), [b"\xff[NaN"])).status == 200
    assert reader.bodies == [b"\xff[NaN"]


async def test_large_json_is_looked_through_as_well() -> None:
    app = BodyLimits(Reader(), limits=LimitSettings(body_bytes=2**20, json_depth=8))
    flat = json.dumps(['"[[[[[[[[[[{{{{{{\\'] * 20_000).encode()
    deep = flat[:-1] + b"," + b"[" * 8 + b"]" * 8 + b"]"
    assert len(flat) > 2**18
    assert (await ask(app, scope_of([JSON, CHUNKED]), [flat])).status == 200
    assert (await ask(app, scope_of([JSON, CHUNKED]), [deep])).status == 400


@pytest.mark.parametrize("extra", [0, 1])
@pytest.mark.parametrize(
    "value",
    [
        [1] * 999,
        [","] * 999,
        [{}] * 499,
        {f"a,[{n}": '\\",[{' for n in range(999)},
        {"a": [["\\"], ["]"]] * 249},
        "," * 5000,
        "\n" * 20_000,
    ],
)
async def test_values_are_counted_whatever_stands_in_strings(value: Any, extra: int) -> None:
    app = BodyLimits(Reader(), limits=LimitSettings(json_values=1000))
    body = json.dumps(value).encode()
    if extra:
        body = body[:-1] + {"[": b",1,2,3]", "{": b',"x":[1,2,3]}', '"': b'\\n"'}[chr(body[0])]
    status = 200 if not extra or value == "," * 5000 else 400
    assert (await ask(app, scope_of([JSON, CHUNKED]), [body])).status == status


async def test_only_a_route_that_says_so_takes_a_large_body() -> None:
    limits = LimitSettings(body_bytes=4096, small_body_bytes=1024)
    api = FastAPI()
    routes = APIRouter(prefix="/v1")

    @routes.post("/{name}/files", openapi_extra=LARGE_BODY)
    async def files(request: Request) -> int:
        return len(await request.body())

    @routes.post("/{name}/notes")
    @routes.put("/{name}/files")
    async def notes(request: Request) -> int:
        return len(await request.body())

    api.include_router(routes)
    app = BodyLimits(api, limits=limits)
    for method, path, size, status in (
        *(("POST", "/v1/a/files", 4096, 200), ("POST", "/v1/a/files", 4097, 413)),
        *(("POST", "/v1/a/notes", 1024, 200), ("POST", "/v1/a/notes", 1025, 413)),
        *(("PUT", "/v1/a/files", 1025, 413), ("POST", "/v1/a/b/files", 1025, 413)),
        *(("POST", "/run_sse", 4096, 404), ("POST", "/nowhere", 1025, 413)),
    ):
        for length in (("Content-Length", str(size)), CHUNKED):
            scope = scope_of([length], method=method, path=path, app=api)
            answered = await ask(app, scope, [b"x" * size])
            assert answered.status == status, (method, path, size)
            if status == 200:
                assert answered.body == str(size).encode()


@pytest.mark.parametrize("kind", ["http", "websocket"])
async def test_a_large_head_is_refused(kind: str) -> None:
    reader = Reader()
    app = HeaderLimit(reader, most=100)
    for size, status in ((80, 200), (120, 431)):
        scope = scope_of([("X-A", "a" * size)], kind=kind, extensions=["websocket.http.response"])
        answered = await ask(app, scope)
        assert answered.status == (None if kind == "websocket" and status == 200 else status)
    assert len(reader.scopes) == 1


def _problem(answered: Answered) -> tuple[int | None, str]:
    assert answered.headers["content-type"] == "application/problem+json"
    return answered.status, json.loads(answered.body)["code"]
