"""uvicorn's HTTP protocol with bounded resources for each client."""

import asyncio
import socket
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from oda.server.problems import send_problem
from oda.server.trace import TraceMiddleware
from oda.settings import LimitSettings

SEND_BUFFER = 1 << 18
"""Size of the kernel's send buffer; a larger one would hide for long that a client is slow."""

_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\n"
_TOO_MANY = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\n"
_REST = b"content-length: 0\r\nconnection: close\r\n\r\n"
_LINGER_S = 2.0
"""Time for which further input is discarded: closing at once would lose the answer."""
_LEAST_READ = 1 << 14
"""Bytes of an answer that a client must read every `answer_stall_s`, unless fewer are left."""


def limit_send_buffer(transport: asyncio.BaseTransport) -> None:
    """Limit how much unread data the kernel keeps for a client."""
    connection: socket.socket | None = transport.get_extra_info("socket")
    if connection is not None and connection.family in (socket.AF_INET, socket.AF_INET6):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)


class BoundedHttp(HttpToolsProtocol):
    """Bounds what uvicorn would buffer or wait for indefinitely.

    - Request heads that are too large or arrive too slowly, before there is a request.
    - Answers that are not read, since they are held in memory.
    - Connections beyond the limit. They are answered with 503, except for `/livez`, since a busy
      server is alive; beyond twice the limit they are closed without an answer.
    """

    def __init__(self, *args: Any, limits: LimitSettings, **options: Any) -> None:
        super().__init__(*args, **options)
        self._limits = limits
        self._in_head = False
        self._received = 0
        self._given_up = False
        self._is_surplus = False
        self._head_timer: asyncio.TimerHandle | None = None
        self._read_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        limit_send_buffer(transport)
        if len(self.connections) > 2 * self._limits.connections:
            transport.abort()
            return
        if len(self.connections) > self._limits.connections:
            self._is_surplus = True
            self.app = TraceMiddleware(_OnlyAlive(self.app))
        self._start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_head_timer()
        self._stop_read_timer()
        super().connection_lost(exc)

    # --- heads

    def data_received(self, data: bytes) -> None:
        if self._given_up:
            return
        if self._in_head:
            self._received += len(data)
        super().data_received(data)
        if not self._in_head or self.transport.is_closing():
            return
        if self._received > self._limits.header_bytes:
            self._give_up(_TOO_LARGE)
        elif self._head_timer is None:
            self._start_head_timer()

    def on_message_begin(self) -> None:
        self._in_head = True
        self._received = 0
        if not self.flow.write_paused:  # else this one waits behind an answer that is not read
            self._stop_read_timer()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop_head_timer()
        super().on_headers_complete()

    def handle_websocket_upgrade(self) -> None:
        if self._is_surplus:
            self._give_up(_TOO_MANY)
        else:
            super().handle_websocket_upgrade()

    def _start_head_timer(self) -> None:
        self._head_timer = self.loop.call_later(self._limits.head_timeout_s, self._time_is_up)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _time_is_up(self) -> None:
        self._head_timer = None
        if self._in_head and not (self._given_up or self.transport.is_closing()):
            self._give_up(_TOO_SLOW)
        else:
            self.transport.close()
            self._watch_reader()

    def _give_up(self, status_line: bytes) -> None:
        self._stop_head_timer()
        self._given_up = True
        self.transport.write(status_line + _REST)
        self.transport.write_eof()
        self._head_timer = self.loop.call_later(_LINGER_S, self._time_is_up)

    # --- answers

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_read_timer()
        if self.cycle is None or self.cycle.response_complete:
            self._watch_reader()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch_reader()

    def _watch_reader(self) -> None:
        """Schedule a check of how much of the buffered data has been read.

        Nothing is added meanwhile.
        """
        left = self.transport.get_write_buffer_size()
        if left and self._read_timer is None:
            self._read_timer = self.loop.call_later(self._limits.answer_stall_s, self._look, left)

    def _look(self, left_before: int) -> None:
        self._read_timer = None
        if self.transport.get_write_buffer_size() > max(0, left_before - _LEAST_READ):
            self.transport.abort()
        else:
            self._watch_reader()

    def _stop_read_timer(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None


class _OnlyAlive:
    """Answers liveness checks, and refuses everything else."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/livez":
            await self._app(scope, receive, send)
            return
        detail = "The server has as many connections as it takes; try again later."
        closing = {"Connection": "close"}
        await send_problem(scope, receive, send, 503, detail, headers=closing)
