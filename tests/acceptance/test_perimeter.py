"""What a running server lets in: by raw sockets, where a client library would be too polite."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from oda.clock import SystemClock
from oda.database.database import open_database
from oda.identity.audit import AuditLog
from oda.identity.keys import ApiKeys
from tests.support.rate_windows import beginning_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

TEST_AGENTS = Path(__file__).parents[1] / "support" / "agents"
APP = "https://app.example.com"
EVIL = "https://evil.example"
LIMIT = 100_000
SESSIONS = "/v1/apps/calculator/sessions"
RUN = "/run"
WITHIN_S = 20
LIMITS = {
    "LIMITS__BODY_BYTES": str(LIMIT),
    "LIMITS__BODY_TIMEOUT_S": "1",
    "LIMITS__HEADER_BYTES": "8192",
    "LIMITS__HEAD_TIMEOUT_S": "1",
    "LIMITS__SOCKET_MESSAGE_BYTES": "2048",
    "ALLOWED_ORIGINS": f"{APP}, https://other.example.com",
    "ALLOWED_HOSTS": "oda.example",
}
HEAD = (
    b"POST /v1/apps/calculator/sessions HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: application/json\r\n"
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def guarded(serve_folder: Any) -> Any:
    """A server with low limits and two friends."""
    return await serve_folder(TEST_AGENTS, **LIMITS)


async def test_a_chunked_body_is_cut_off_at_the_limit(guarded: Any) -> None:
    chunk = b"%x\r\n%s\r\n" % (10_000, b" " * 10_000)
    head = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    answer = await _say(guarded.url, head, *([chunk] * 20))
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in answer.lower()
    assert b"/problems/too-large" in answer


async def test_a_length_over_the_limit_is_refused_before_the_body(guarded: Any) -> None:
    answer = await _say(guarded.url, HEAD + b"Content-Length: %d\r\n\r\n" % (LIMIT + 1))
    assert answer.startswith(b"HTTP/1.1 413 ")
    for path in (SESSIONS, RUN):
        refused = await guarded.client.post(path, content=b" " * (LIMIT * 50))
        assert (refused.status_code, refused.json()["code"]) == (413, "too_large")


async def test_a_body_that_does_not_come_is_given_up(guarded: Any) -> None:
    answer = await _say(guarded.url, HEAD + b"Content-Length: 10\r\n\r\n", b'{"a"')
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"/problems/request-timeout" in answer


async def test_a_head_that_does_not_end_is_given_up(guarded: Any) -> None:
    assert await _say(guarded.url) == b""
    assert (await _say(guarded.url, HEAD)).startswith(b"HTTP/1.1 408 ")
    endless = (b"X-%d: %s\r\n" % (n, b"a" * 1000) for n in range(10_000))
    assert (await _say(guarded.url, HEAD, *endless)).startswith(b"HTTP/1.1 431 ")


async def test_a_large_head_is_a_problem(guarded: Any) -> None:
    refused = await guarded.client.get("/v1/apps", headers={"X-Large": "a" * 9000})
    assert (refused.status_code, refused.json()["code"]) == (431, "header_too_large")
    assert (await guarded.client.get("/v1/apps")).status_code == 200


@pytest.mark.parametrize("path", [SESSIONS, RUN])
@pytest.mark.parametrize(
    "body",
    [
        b'{"state": ' + b"[" * 90_000,
        b'{"state": ' + b'{"a":' * 100 + b"1" + b"}" * 101,
        b'{"state": {"a": NaN}}',
        b'{"state": {"a": 1e999}}',
        b'{"state": {"a": ' + b"9" * 5000 + b"}}",
        b'{"state": {"a": "\xff"}}',
        json.dumps({"state": {}}).encode("utf-16"),
        b"{",
    ],
)
async def test_strange_json_is_malformed(guarded: Any, path: str, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    answer = await guarded.client.post(path, content=body, headers=headers)
    assert answer.status_code == (422 if (path, body) == (RUN, b"{") else 400)


async def test_only_names_of_this_server_are_hosts(guarded: Any) -> None:
    for host, status in (("localhost", 200), ("oda.example:81", 200), ("evil.example", 403)):
        answer = await guarded.client.get("/livez", headers={"Host": host})
        assert answer.status_code == status
    assert answer.json()["code"] == "forbidden"


@pytest.mark.parametrize("path", ["/v1/apps", "/list-apps", "/openapi.json"])
@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "oda.example"},
        {"X-Forwarded-For": "127.0.0.1"},
        {"X-Forwarded-Host": "localhost"},
        {"Forwarded": "for=127.0.0.1"},
        {"X-Real-IP": "203.0.113.7"},
        {"Via": "1.1 proxy"},
        {"CF-Connecting-IP": "203.0.113.7"},
    ],
)
async def test_without_keys_nothing_is_served_through_a_proxy(
    guarded: Any, path: str, headers: dict[str, str]
) -> None:
    refused = await guarded.client.get(path, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (401, "unauthenticated")
    assert "oda keys create" in refused.json()["detail"]


async def test_without_keys_no_socket_is_opened_through_a_proxy(guarded: Any) -> None:
    url = guarded.url.replace("http", "ws") + "/run_live?app_name=calculator&user_id=u&session_id=s"
    for headers in ({"X-Forwarded-For": "203.0.113.7"}, {"Via": "1.1 proxy"}):
        with pytest.raises(InvalidStatus) as refused:
            await connect(url, additional_headers=headers)
        assert refused.value.response.status_code == 401


async def test_a_server_that_may_serve_everybody_serves_through_a_proxy(serve: Any) -> None:
    server = await serve("--insecure")
    answer = await server.client.get("/v1/apps", headers={"X-Forwarded-For": "203.0.113.7"})
    assert answer.status_code == 200


@pytest.mark.parametrize("path", ["/v1/apps", "/list-apps"])
async def test_pages_of_other_origins_are_kept_out(guarded: Any, path: str) -> None:
    others = EVIL, "null", APP + ".evil.example", "http://app.example.com", "http://localhost:4200"
    for origin in others:
        answer = await guarded.client.get(path, headers={"Origin": origin})
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
        assert "access-control-allow-origin" not in answer.headers
    answer = await guarded.client.get(path, headers={"Origin": guarded.url})
    assert answer.status_code == 200
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("path", ["/v1/apps", "/list-apps"])
async def test_a_listed_page_may_read_the_answer(guarded: Any, path: str) -> None:
    answer = await guarded.client.get(path, headers={"Origin": APP})
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, APP)
    assert "access-control-allow-credentials" not in answer.headers
    assert "Origin" in answer.headers["vary"]
    exposed = set(answer.headers["access-control-expose-headers"].split(", "))
    assert exposed == {
        *("Location", "ETag", "Retry-After", "X-Trace-Id"),
        *("Idempotent-Replayed", "Preference-Applied"),
    }


async def test_a_preflight_is_answered_to_listed_pages_only(guarded: Any) -> None:
    asked = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type,idempotency-key",
    }
    allowed = await guarded.client.options(SESSIONS, headers={"Origin": APP, **asked})
    assert allowed.status_code == 200
    assert allowed.headers["access-control-allow-origin"] == APP
    assert "POST" in allowed.headers["access-control-allow-methods"]
    refused = await guarded.client.options(SESSIONS, headers={"Origin": EVIL, **asked})
    assert refused.status_code == 403
    assert "access-control-allow-origin" not in refused.headers


async def test_a_socket_of_another_origin_is_never_accepted(guarded: Any) -> None:
    url = await _socket_url(guarded)
    for headers in ({"Origin": EVIL}, {"Origin": "null"}, {"Origin": "http://localhost:4200"}):
        with pytest.raises(InvalidStatus) as refused:
            await connect(url, additional_headers=headers)
        assert refused.value.response.status_code == 403
        assert json.loads(refused.value.response.body or b"")["code"] == "forbidden"
    async with connect(url, additional_headers={"Origin": APP}):
        pass


async def test_a_socket_takes_no_message_over_the_limit(guarded: Any) -> None:
    url = await _socket_url(guarded)
    async with asyncio.timeout(WITHIN_S), connect(url) as socket:
        with pytest.raises(ConnectionClosed) as closed:
            await socket.send("x" * 3000)
            await socket.recv()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1009


async def test_every_answer_has_the_headers_that_keep_browsers_in_bounds(guarded: Any) -> None:
    frames = {"/livez": "DENY", "/nowhere": "DENY", "/docs": "DENY", "/dev-ui/": "SAMEORIGIN"}
    for path, frame in frames.items():
        headers = (await guarded.client.get(path)).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-frame-options"] == frame


async def test_users_with_keys_are_limited_and_recorded(serve: Any, tmp_path: Path) -> None:
    data = tmp_path / "data"
    server = await serve(
        data=data,
        LIMITS__REQUESTS_PER_MINUTE="5",
        LIMITS__FAILED_LOGINS_PER_MINUTE="3",
        TRUSTED_PROXIES="127.0.0.1, 10.0.0.0/8",
    )
    database_url = f"sqlite:///{data / 'oda.db'}"
    async with open_database(database_url) as database:
        keys = ApiKeys(database, SystemClock())
        (key, ann), (_, bob) = [await keys.create(user, "user", "") for user in ("ann", "bob")]
    as_ann, as_bob = ({"Authorization": f"Bearer {text}"} for text in (ann, bob))
    await beginning_of(60)
    created = await server.client.post(SESSIONS, headers=as_ann)
    assert created.status_code == 201
    codes = [(await server.client.get("/v1/apps", headers=as_ann)).status_code for _ in range(6)]
    assert codes == [200] * 4 + [429] * 2
    refused = await server.client.post(SESSIONS, headers=as_ann)
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert (refused.json()["code"], refused.json()["retryable"]) == ("rate_limited", True)
    assert (await server.client.get("/v1/apps", headers=as_bob)).status_code == 200

    async def guess(**headers: str) -> int:
        wrong = {"Authorization": f"Bearer {bob[:-2]}xx", **headers}
        return int((await server.client.post(SESSIONS, headers=wrong)).status_code)

    assert [await guess() for _ in range(5)] == [401] * 3 + [429] * 2
    assert (await server.client.get("/v1/apps", headers=as_bob)).status_code == 200
    through_proxies = [f"{n}.1.1.1, 203.0.113.7, 10.1.2.3" for n in range(5)]
    forged = [await guess(**{"X-Forwarded-For": value}) for value in through_proxies]
    assert forged == [401] * 3 + [429] * 2
    assert await guess(**{"X-Forwarded-For": "203.0.113.8"}) == 401
    await server.stop()
    async with open_database(database_url) as database:
        (entry,) = await AuditLog(database, SystemClock()).read()
    assert (entry.actor, entry.user_id, entry.key_id) == ("ann", "ann", key.key_id)
    assert (entry.action, entry.target, entry.status) == (
        *("POST /v1/apps/{app}/sessions", SESSIONS, 201),
    )
    assert entry.trace_id == created.headers["x-trace-id"]
    refused_logins = [line for line in server.output if "credential_refused" in line]
    assert [("203.0.113.7" in line, "203.0.113.8" in line) for line in refused_logins] == [
        *[(False, False)] * 3,
        *[(True, False)] * 3,
        (False, True),
    ]


async def _socket_url(guarded: Any) -> str:
    """Where a new session has its WebSocket."""
    session = (await guarded.client.post(SESSIONS)).headers["Location"]
    return f"{guarded.url.replace('http', 'ws')}{session}/ws"


async def _say(url: str, *parts: bytes) -> bytes:
    """Send parts as long as the server listens; all that it answers until it closes."""
    parsed = httpx.URL(url)
    reader, writer = await asyncio.open_connection(parsed.host, parsed.port)
    answer = b""
    try:
        async with asyncio.timeout(WITHIN_S):
            try:
                for part in parts:
                    writer.write(part)
                    await writer.drain()
            except ConnectionError:
                pass
            while data := await reader.read(65536):
                answer += data
    except ConnectionError:
        pass
    finally:
        writer.close()
    return answer
