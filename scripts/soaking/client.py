"""HTTP client of the server that reports every deviation from the expected behaviour."""

import asyncio
import json
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Self

import aiohttp

from scripts.soaking.server import Soaked
from scripts.soaking.tally import Tally

ANSWER_WITHIN_S = 90.0
"""Time limit for an answer of any kind, generous because a loaded machine is slow."""
_UNUSED_S = 3.0
"""How long an idle connection is kept. It must be shorter than the server's own limit: otherwise a
request may be sent while the server closes the connection.
"""

Json = dict[str, Any]


class Wrong(Exception):
    """Raised when an answer is not the expected one."""


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class SentEvent:
    """One event of a stream."""

    number: int | None
    kind: str
    data: Json


class Client:
    """Sends requests as one user; an async context manager."""

    def __init__(self, soaked: Soaked, user: str, tally: Tally) -> None:
        self._tally = tally
        self._http = aiohttp.ClientSession(
            soaked.url,
            headers=soaked.headers(user),
            timeout=aiohttp.ClientTimeout(total=ANSWER_WITHIN_S),
            connector=aiohttp.TCPConnector(keepalive_timeout=_UNUSED_S),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.close()

    async def ask(
        self, method: str, path: str, *, expect: Collection[int] = (200,), **what: Any
    ) -> Answer:
        """Send a request and return the answer.

        Raises:
            Wrong: the status is not in `expect`, or there is no answer.
        """
        try:
            with self._tally.timed():
                async with self._http.request(method, path, **what) as response:
                    body = await response.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise Wrong(f"{method} {path}: {error!r}") from error
        if response.status not in expect:
            raise Wrong(f"{method} {path}: {response.status} {body[:300]!r}")
        return Answer(response.status, response.headers, body)

    async def stream(self, method: str, path: str, **what: Any) -> AsyncIterator[SentEvent]:
        """Yield the events of a stream as they arrive; leaving the iteration hangs up.

        Raises:
            Wrong: there is no stream, or it breaks off.
        """
        headers = {"Accept": "text/event-stream", **what.pop("headers", {})}
        try:
            with self._tally.timed():
                async with self._http.request(method, path, headers=headers, **what) as response:
                    if response.status not in (200, 201):
                        body = await response.read()
                        raise Wrong(f"{method} {path}: {response.status} {body[:300]!r}")
                    fields: dict[str, str] = {}
                    async for line in response.content:
                        name, _, value = line.decode().rstrip("\n").partition(": ")
                        if name:
                            fields[name] = value
                        elif "data" in fields:
                            yield _event(fields)
                            fields = {}
                        else:
                            fields = {}
        except (aiohttp.ClientError, TimeoutError) as error:
            raise Wrong(f"{method} {path}: {error!r}") from error

    async def told(
        self, method: str, path: str, *, leave_after: int | None = None, **what: Any
    ) -> list[SentEvent]:
        """Return the events of a stream, until its end or until `leave_after` have arrived."""
        seen: list[SentEvent] = []
        events = self.stream(method, path, **what)
        async with aclosing(events):  # type: ignore[type-var]
            async for event in events:
                seen.append(event)
                if len(seen) == leave_after:
                    break
        return seen

    async def socket(self, path: str) -> "Socket":
        """Open a WebSocket.

        Raises:
            Wrong: the connection is refused.
        """
        try:
            return Socket(await self._http.ws_connect(path, max_msg_size=0), path, self._tally)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise Wrong(f"{path}: {error!r}") from error


class Socket:
    """A WebSocket; an async context manager."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, path: str, tally: Tally) -> None:
        self._socket = socket
        self._path = path
        self._tally = tally

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._socket.close()

    async def ask(self, message: Json, *, last: str, kind: str) -> list[Json]:
        """Send a message; return the following items, up to one whose field `kind` equals `last`.

        Raises:
            Wrong: an error is received, or the socket is closed.
        """
        told: list[Json] = []
        try:
            with self._tally.timed():
                async with asyncio.timeout(ANSWER_WITHIN_S):
                    await self._socket.send_json(message)
                    while not told or told[-1].get(kind) != last:
                        told.append(await self._socket.receive_json())
                        if told[-1].get(kind) == "error":
                            raise Wrong(f"{self._path}: {told[-1]}")
        except (aiohttp.ClientError, TimeoutError, TypeError, ValueError) as error:
            raise Wrong(f"{self._path}: {error!r}") from error
        return [one for one in told if one.get(kind) != "ping"]


def _event(fields: Mapping[str, str]) -> SentEvent:
    number = int(fields["id"]) if "id" in fields else None
    return SentEvent(number, fields["event"], json.loads(fields["data"]))
