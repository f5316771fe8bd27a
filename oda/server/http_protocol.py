"""uvicorn's HTTP, in which the head of a request must come to an end, and soon."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\n"
_REST = b"content-length: 0\r\nconnection: close\r\n\r\n"
_LINGER_S = 2.0
"""How long what still comes is thrown away: closing at once would take the answer with it."""


class BoundedHead(HttpToolsProtocol):
    """Cuts off what uvicorn would collect or wait for without end, before there is a request.

    Args:
        head_bytes: A head that is larger, and not complete, is given up.
        head_timeout_s: How long a head may take, the first from when the connection is made.
    """

    def __init__(self, *args: Any, head_bytes: int, head_timeout_s: float, **options: Any) -> None:
        super().__init__(*args, **options)
        self._head_bytes = head_bytes
        self._head_timeout_s = head_timeout_s
        self._in_head = False
        self._received = 0
        self._given_up = False
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._given_up:
            return
        if self._in_head:
            self._received += len(data)
        super().data_received(data)
        if not self._in_head or self.transport.is_closing():
            return
        if self._received > self._head_bytes:
            self._give_up(_TOO_LARGE)
        elif self._timer is None:
            self._start_timer()

    def on_message_begin(self) -> None:
        self._in_head = True
        self._received = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop_timer()
        super().on_headers_complete()

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(self._head_timeout_s, self._time_is_up)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _time_is_up(self) -> None:
        self._timer = None
        if self._in_head and not (self._given_up or self.transport.is_closing()):
            self._give_up(_TOO_SLOW)
        else:
            self.transport.close()

    def _give_up(self, status_line: bytes) -> None:
        self._stop_timer()
        self._given_up = True
        self.transport.write(status_line + _REST)
        self.transport.write_eof()
        self._timer = self.loop.call_later(_LINGER_S, self._time_is_up)
