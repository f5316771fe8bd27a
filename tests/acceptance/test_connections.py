"""What connections may hold of a running server: by raw sockets that read, or do not."""

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
import pytest_asyncio

pytestmark = pytest.mark.asyncio(loop_scope="module")

AGENTS = Path(__file__).parents[1] / "support" / "agents"
SESSIONS = "/v1/apps/calculator/sessions"
LARGE = f"{SESSIONS}/s/artifacts/large"
SIZE = 4 * 2**20
MOST = 40
WITHIN_S = 20
STALL_S = 1


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(serve_folder: Any) -> Any:
    """A server with a session `s`, in which there is a large file."""
    limits = {"LIMITS__ANSWER_STALL_S": str(STALL_S), "LIMITS__CONNECTIONS": str(MOST)}
    server = await serve_folder(AGENTS, **limits)
    await server.client.post(SESSIONS, json={"session_id": "s"})
    assert (await server.client.put(LARGE, content=bytes(SIZE))).status_code == 201
    return server


@asynccontextmanager
async def connected(server: Any, path: str, *headers: str) -> Any:
    """A connection that has asked for something, and of which little fits into the kernel."""
    url = httpx.URL(server.url)
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 14)
    client.setblocking(False)
    loop = asyncio.get_running_loop()
    with client:
        await loop.sock_connect(client, (url.host, url.port))
        head = "\r\n".join([f"GET {path} HTTP/1.1", f"Host: {url.host}", *headers, "", ""])
        await loop.sock_sendall(client, head.encode())
        yield client


def clients_of(server: Any) -> int:
    """Count the sockets that the server has open to clients."""
    port = httpx.URL(server.url).port
    process = psutil.Process(server.process.pid)
    return sum(
        one.laddr.port == port and one.status != psutil.CONN_LISTEN
        for one in process.net_connections("tcp")
    )


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(WITHIN_S):
        while not await condition():  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("headers", [(), ("Connection: close",)], ids=["keep-alive", "close"])
async def test_who_never_reads_an_answer_is_cut_off(server: Any, headers: tuple[str, ...]) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(MOST // 2):
            await stack.enter_async_context(connected(server, LARGE, *headers))

        async def all_are_there() -> bool:
            return clients_of(server) >= MOST // 2

        async def all_are_gone() -> bool:
            return clients_of(server) <= 1  # the one of `server.client`

        await until(all_are_there)
        await until(all_are_gone)
    assert (await server.client.get("/livez")).status_code == 200


async def test_who_reads_slowly_gets_all_of_it(server: Any) -> None:
    loop = asyncio.get_running_loop()
    received, pieces = 0, 0
    async with (
        asyncio.timeout(2 * WITHIN_S),
        connected(server, LARGE, "Connection: close") as client,
    ):
        while data := await loop.sock_recv(client, 1 << 16):
            received += len(data)
            pieces += 1
            if received < SIZE // 2 and pieces % 8 == 0:
                await asyncio.sleep(STALL_S / 4)
    assert received > SIZE


async def test_connections_beyond_the_limit_are_told_to_come_later(server: Any) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(MOST):
            await stack.enter_async_context(connected(server, "/v1/apps", "Content-Length: 9"))

        async def as_many_as_may_be() -> bool:
            return clients_of(server) >= MOST

        await until(as_many_as_may_be)
        async with connected(server, "/v1/apps") as surplus:
            answer = await whole(surplus)
        async with connected(server, "/livez", "Connection: close") as alive:
            assert (await whole(alive)).startswith(b"HTTP/1.1 200 ")
        async with connected(
            server,
            "/v1/apps/calculator/sessions/s/ws",
            *("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"),
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ) as websocket:
            assert (await whole(websocket)).startswith(b"HTTP/1.1 503 ")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 ")
    assert b"\r\nretry-after: " in head.lower()
    problem = json.loads(body)
    assert (problem["code"], problem["retryable"]) == ("unavailable", True)

    async def served_again() -> bool:
        with suppress(httpx.TransportError):
            async with httpx.AsyncClient() as new:
                return (await new.get(f"{server.url}/v1/apps")).status_code == 200
        return False

    await until(served_again)


async def test_floods_of_connections_are_not_kept(server: Any) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(4 * MOST):
            with suppress(ConnectionError):
                await stack.enter_async_context(connected(server, "/nowhere"))

        async def bounded() -> bool:
            return clients_of(server) <= 2 * MOST

        await until(bounded)


async def whole(client: socket.socket) -> bytes:
    """Read until the server closes."""
    answer = b""
    async with asyncio.timeout(WITHIN_S):
        while data := await asyncio.get_running_loop().sock_recv(client, 1 << 16):
            answer += data
    return answer
