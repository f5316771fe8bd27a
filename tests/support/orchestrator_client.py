"""A client of an orchestrator's WebSocket."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import websockets
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

LIMIT_S = 20.0

Json = dict[str, Any]


def text(said: str) -> Json:
    """The input of a typed message."""
    return {"type": "text", "text": said}


class OrchestratorClient:
    """One end of a WebSocket; it looks at pings only when it is asked for them."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    async def send(self, **message: Any) -> None:
        await self.connection.send(json.dumps(message))

    async def say(self, said: str, session_id: str | None = None, **fields: Any) -> None:
        """Send a typed message."""
        named = {} if session_id is None else {"session_id": session_id}
        await self.send(input=text(said), **named, **fields)

    async def next(self, *, pings: bool = False) -> Json:
        async with asyncio.timeout(LIMIT_S):
            while True:
                message: Json = json.loads(await self.connection.recv())
                if pings or message["type"] != "ping":
                    return message

    async def until(self, kind: str) -> list[Json]:
        """All messages up to one of a type."""
        messages = [await self.next()]
        while messages[-1]["type"] != kind:
            messages.append(await self.next())
        return messages

    async def response(self) -> Json:
        """The response that comes next, behind any progress."""
        return (await self.until("response"))[-1]

    async def error(self) -> Json:
        """The problem that comes next."""
        message = await self.next()
        assert message["type"] == "error", message
        return message

    async def begun(self) -> str:
        """The id of a turn when it is on record."""
        message = await self.next()
        assert message.get("kind") == "accepted", message
        turn_id: str = message["turn_id"]
        return turn_id

    async def closed(self) -> tuple[int, str]:
        """Read to the end; the code and the reason with which the server closed."""
        try:
            async with asyncio.timeout(LIMIT_S):
                while True:
                    await self.connection.recv()
        except ConnectionClosed as end:
            assert end.rcvd is not None
            return end.rcvd.code, end.rcvd.reason


@asynccontextmanager
async def opened(
    url: str, path: str = "/api/orchestrator/ws", **options: Any
) -> AsyncIterator[OrchestratorClient]:
    """Connect to the server at an HTTP URL."""
    where = f"{url.replace('http', 'ws', 1)}{path}"
    async with websockets.connect(where, **options) as connection:
        yield OrchestratorClient(connection)
