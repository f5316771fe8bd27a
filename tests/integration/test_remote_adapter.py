"""A remote A2A agent that is not there, refuses, fails, or dies on the way."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager

import httpx
import pytest
from a2a.client.card_resolver import A2ACardResolver

from oda.adapter import AgentInput, AgentMessage, RemoteAgent
from oda.adapter.http_failures import noting_client
from oda.agent.failure import Failure, classify
from tests.support.a2a_clerk import served_clerk
from tests.support.clerk import FAIL, HANG

HI = AgentInput(content="hi")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served_clerk() as served:
        yield served


async def failure_of(agent: RemoteAgent, input: AgentInput = HI) -> Failure:
    with pytest.raises(Exception) as failed:
        await agent.invoke(input, None)
    return classify(failed.value, now=time.time())


@asynccontextmanager
async def answering(status: str) -> AsyncIterator[str]:
    """The URL of a server that answers every request with a status."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(
            f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
        )
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1") as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_one_that_is_not_there(unused_tcp_port: int) -> None:
    failure = await failure_of(RemoteAgent(f"http://127.0.0.1:{unused_tcp_port}", name="clerk"))
    assert (failure.code, failure.retryable) == ("connection", True)


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [("503 Busy", "overloaded", True), ("401 Who", "authentication", False)],
)
async def test_one_that_refuses(status: str, code: str, retryable: bool) -> None:
    async with answering(status) as url:
        failure = await failure_of(RemoteAgent(url, name="clerk"))
    assert (failure.code, failure.retryable) == (code, retryable)


async def test_one_that_does_not_answer() -> None:
    async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(never, "127.0.0.1") as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        agent = RemoteAgent(url, name="clerk", timeout_s=0.1)
        failure = await failure_of(agent)
        await agent.aclose()
    assert (failure.code, failure.retryable) == ("timeout", True)


async def test_an_address_that_is_not_safe_is_refused() -> None:
    failure = await failure_of(RemoteAgent("http://agents.example", name="clerk"))
    assert "must use https" in failure.message


async def test_one_that_fails_says_why(url: str) -> None:
    failure = await failure_of(RemoteAgent(url, name="clerk"), AgentInput(content=FAIL))
    assert (failure.message, failure.retryable) == ("the line is down", True)


async def test_one_that_dies_on_the_way() -> None:
    with served_clerk() as url:
        stream = RemoteAgent(url, name="clerk").stream(AgentInput(content=HANG), None)
        assert isinstance(await anext(stream), AgentMessage)
    async with aclosing(stream):
        with pytest.raises(httpx.HTTPError) as failed:
            await anext(stream)
    failure = classify(failed.value, now=time.time())
    assert (failure.code, failure.retryable) == ("connection", True)


async def test_a_card_and_a_client_are_shared_and_headers_are_sent(url: str) -> None:
    sent: list[str | None] = []

    async def look(request: httpx.Request) -> None:
        sent.append(request.headers.get("authorization"))

    async with noting_client(headers={"Authorization": "Bearer b"}) as http:
        http.event_hooks["request"].append(look)
        card = await A2ACardResolver(http, url).get_agent_card()
        for _ in range(2):
            agent = RemoteAgent(card, name="clerk", http=http)
            assert (await agent.invoke(HI, None)).content == "1: hi"
            await agent.aclose()
        assert agent.description == "Pays."
    assert sent == ["Bearer b"] * 3
