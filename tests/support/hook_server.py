"""A receiver of webhooks on this machine: real HTTP, and whatever status it is told to answer."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

PATIENCE_S = 40.0


@dataclass(frozen=True)
class Hook:
    """A webhook as it has come."""

    path: str
    headers: dict[str, str]
    """By names in lower case."""
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def event(self) -> dict[str, Any]:
        event: dict[str, Any] = json.loads(self.body)
        return event


@dataclass
class HookServer:
    """What has come, and what is to be answered; then 204."""

    url: str
    statuses: list[int]
    headers: Sequence[str] = ()
    """Sent with each answer."""
    all: list[Hook] = field(default_factory=list)
    _new: asyncio.Queue[Hook] = field(default_factory=asyncio.Queue)

    async def next(self) -> Hook:
        """Wait for the next webhook."""
        return await asyncio.wait_for(self._new.get(), PATIENCE_S)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        pairs = [line.split(": ", 1) for line in head[1:] if ": " in line]
        headers = {name.lower(): value for name, value in pairs}
        body = await reader.readexactly(int(headers["content-length"]))
        hook = Hook(head[0].split()[1], headers, body)
        self.all.append(hook)
        status = self.statuses.pop(0) if self.statuses else 204
        lines = [f"HTTP/1.1 {status} X", "Content-Length: 0", "Connection: close", *self.headers]
        writer.write("".join(f"{line}\r\n" for line in (*lines, "")).encode())
        await writer.drain()
        writer.close()
        self._new.put_nowait(hook)


@asynccontextmanager
async def hook_server(*statuses: int, port: int = 0) -> AsyncIterator[HookServer]:
    """A receiver that answers with these."""
    receiver = HookServer("", list(statuses))
    server = await asyncio.start_server(receiver.answer, "127.0.0.1", port)
    async with server:
        receiver.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
        yield receiver
