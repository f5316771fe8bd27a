"""A small HTTP/1.1 server whose replies may also end badly: closed, reset or stalled half-way."""

import asyncio
import logging
import socket
import struct
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Literal, cast

import httptools

logger = logging.getLogger(__name__)

End = Literal["complete", "close", "reset", "stall"]

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_LAST_CHUNK = b"0\r\n\r\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpRequest:
    method: str
    path: str
    """Without query."""
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes
    received_at: float
    """Seconds on the monotonic clock."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """How a request is answered. Nothing at all is sent when there are no pieces."""

    pieces: tuple[bytes, ...]
    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    length: int | None = None
    """The declared length of the body; None: sent in chunks."""
    delay_s: float = 0.0
    interval_s: float = 0.0
    """Seconds between two pieces."""
    end: End = "complete"


class HttpServer:
    """Answers each request with what `handler` returns for it, at once and without tasks."""

    def __init__(
        self,
        handler: Callable[[HttpRequest], Reply],
        *,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_change` is called when `in_flight`, `abandoned` or `open_connections` has changed."""
        self.handler = handler
        self.in_flight = 0
        self.accepted = 0
        """Number of connections since the start."""
        self.abandoned = 0
        """Replies whose client left before their end."""
        self._on_change = on_change
        self._server: asyncio.Server | None = None
        self._connections: set[_Connection] = set()

    @property
    def open_connections(self) -> int:
        return len(self._connections)

    async def open(self, host: str, port: int) -> int:
        """Listen, and return the port (chosen by the system for port 0)."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), host, port, backlog=1024)
        address: tuple[str, int] = self._server.sockets[0].getsockname()
        return address[1]

    async def close(self) -> None:
        """Stop listening and abort what is open."""
        if self._server is None:
            return
        self._server.close()
        for connection in tuple(self._connections):
            connection.abort()
        await self._server.wait_closed()
        self._server = None

    def connected(self, connection: "_Connection") -> None:
        self._connections.add(connection)
        self.accepted += 1

    def disconnected(self, connection: "_Connection") -> None:
        self._connections.discard(connection)
        self._on_change()

    def began(self) -> None:
        self.in_flight += 1
        self._on_change()

    def ended(self, *, abandoned: bool) -> None:
        self.in_flight -= 1
        self.abandoned += abandoned
        self._on_change()


class _Connection(asyncio.Protocol):
    """One client; requests on it are answered one after the other."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        self._parser = httptools.HttpRequestParser(self)
        self._url = b""
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._reply: Reply | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._server.connected(self)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._end(abandoned=True)
        self._server.disconnected(self)

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    def on_message_begin(self) -> None:
        self._url, self._headers, self._body = b"", {}, []

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        if self._headers.get("expect", "").lower() == "100-continue":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        if self._reply is not None:
            logger.warning("a client sent a request before its last one was answered")
            self._transport.close()
            return
        request = HttpRequest(
            method=self._parser.get_method().decode(),
            path=self._url.partition(b"?")[0].decode("latin-1"),
            headers=self._headers,
            body=b"".join(self._body),
            received_at=time.monotonic(),
        )
        try:
            self._reply = self._server.handler(request)
        except Exception:
            logger.exception("no answer to %s %s", request.method, request.path)
            self._reply = Reply(status=500, length=0, pieces=(b"",))
        self._server.began()
        self._start(self._reply)

    def _start(self, reply: Reply) -> None:
        if reply.delay_s > 0 or reply.interval_s > 0:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(reply.delay_s, self._write_piece, reply, 0)
        else:
            self._write(reply, reply.pieces, first=True)
            self._finish(reply)

    def _write_piece(self, reply: Reply, index: int) -> None:
        self._write(reply, reply.pieces[index : index + 1], first=index == 0)
        if index + 1 >= len(reply.pieces):
            self._finish(reply)
            return
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(reply.interval_s, self._write_piece, reply, index + 1)

    def _write(self, reply: Reply, pieces: tuple[bytes, ...], *, first: bool) -> None:
        if not pieces:
            return
        body = b"".join(pieces)
        if reply.length is None and body:
            body = b"%x\r\n%b\r\n" % (len(body), body)
        self._transport.write(_head(reply) + body if first else body)

    def _finish(self, reply: Reply) -> None:
        self._timer = None
        match reply.end:
            case "stall":
                return
            case "close":
                self._end()
                self._transport.close()
            case "reset":
                self._end()
                sock: socket.socket = self._transport.get_extra_info("socket")
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
                self._transport.abort()
            case "complete":
                if reply.length is None:
                    self._transport.write(_LAST_CHUNK)
                self._end()
                if not self._parser.should_keep_alive():
                    self._transport.close()

    def _end(self, *, abandoned: bool = False) -> None:
        if self._reply is not None:
            self._reply = None
            self._server.ended(abandoned=abandoned)


def _head(reply: Reply) -> bytes:
    framing = (
        "transfer-encoding: chunked" if reply.length is None else f"content-length: {reply.length}"
    )
    extra = "".join(f"{name}: {value}\r\n" for name, value in reply.headers.items())
    return (
        f"HTTP/1.1 {reply.status} {reason_phrase(reply.status)}\r\n"
        f"content-type: {reply.content_type}\r\n{extra}{framing}\r\n\r\n"
    ).encode("latin-1")


def reason_phrase(status: int) -> str:
    """The words for a status; `Unknown` for one that is not registered, such as 529."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
