"""Limits for request bodies: size, depth, and time to send them."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import suppress

from fastapi.routing import iter_route_contexts
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oda.server.json_limits import find_json_fault
from oda.server.openapi import LARGE_BODY, LARGE_FORM
from oda.server.problems import send_problem
from oda.settings import LimitSettings

_CLOSE = {"Connection": "close"}
"""The rest of a body that is not wanted is dropped with the connection."""
_PIECE = 1 << 16
"""Bytes of a form that are scanned before control returns to the event loop."""
_LARGE_OF_ADK = re.compile(r"/run|/run_sse|/apps/[^/]+/users/[^/]+/sessions/[^/]+/artifacts")
"""ADK's routes that accept files; they cannot declare `LARGE_BODY`."""
_LINGER_S = 2.0
"""How long what still comes is thrown away, so that the client reads why."""


class _Refused(Exception):
    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


class BodyLimits:
    """Reads the whole body before the application sees the request, or refuses it.

    Applications read whole bodies anyway; so none of them can meet one that is too large, comes
    too slowly, is nested too deeply or says NaN.
    """

    def __init__(self, app: ASGIApp, *, limits: LimitSettings) -> None:
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        declared = headers.get(b"content-length", b"")
        if declared in (b"", b"0") and b"transfer-encoding" not in headers:
            await self._app(scope, receive, send)
            return
        try:
            body = await self._read(scope, declared, receive)
            is_json = _is_json(headers.get(b"content-type", b""))
            if body and is_json:
                await self._check(body)
        except _Refused as refused:
            if refused.status == 413:
                send = _Lingering(receive, send)
            closing = _CLOSE if refused.status in (408, 413) else None
            await send_problem(
                scope, receive, send, refused.status, refused.detail, headers=closing
            )
            return
        except _Gone:
            return
        pieces = _whole(body) if is_json else _in_pieces(body)
        await self._app(scope, _Replay(pieces, receive), send)

    async def _read(self, scope: Scope, declared: bytes, receive: Receive) -> bytes:
        length = int(declared[:18]) if declared.isdigit() else None
        most = min(self._limits.small_body_bytes, self._limits.body_bytes)
        if (length is None or length > most) and _takes_large_bodies(scope):
            most = self._limits.body_bytes
        if length is not None and length > most:
            raise _too_large(most)
        chunks: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._limits.body_timeout_s):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise _Gone
                    chunk = message.get("body", b"")
                    size += len(chunk)
                    if size > most:
                        raise _too_large(most)
                    chunks.append(chunk)
                    if not message.get("more_body", False):
                        return b"".join(chunks)
        except TimeoutError:
            seconds = f"{self._limits.body_timeout_s:g}"
            raise _Refused(408, f"The body did not arrive within {seconds} seconds.") from None

    async def _check(self, body: bytes) -> None:
        fault = await find_json_fault(body, self._limits)
        if fault is not None:
            raise _Refused(400, fault)


def _takes_large_bodies(scope: Scope) -> bool:
    """Return whether the route of a request has declared `LARGE_BODY`, or `LARGE_FORM` for one."""
    path, method = scope["path"], scope["method"]
    if _LARGE_OF_ADK.fullmatch(path):
        return True
    kind = dict(scope["headers"]).get(b"content-type", b"").lower()
    is_form = kind.startswith(b"multipart/form-data")
    wanted = [LARGE_BODY.items(), *([LARGE_FORM.items()] if is_form else [])]
    return any(
        method in (route.methods or ()) and compile_path(route.path or "")[0].match(path)
        for route in iter_route_contexts(getattr(scope.get("app"), "routes", ()))
        if any(one <= (getattr(route, "openapi_extra", None) or {}).items() for one in wanted)
    )


def _too_large(most: int) -> _Refused:
    return _Refused(413, f"The body is larger than {most} bytes.")


def _whole(body: bytes) -> Iterator[bytes]:
    yield body


def _in_pieces(body: bytes) -> Iterator[bytes]:
    """Split a body that is parsed incrementally."""
    for begin in range(0, max(1, len(body)), _PIECE):
        yield body[begin : begin + _PIECE]


class _Gone(Exception):
    """The client left before its body was there."""


class _Lingering:
    """Lets a client that still sends its body get the answer, before the connection is closed.

    A connection that is closed while there is something unread takes the answer with it.
    """

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send

    async def __call__(self, message: Message) -> None:
        if message["type"] != "http.response.body":
            await self._send(message)
            return
        await self._send({**message, "more_body": True})
        with suppress(TimeoutError):
            async with asyncio.timeout(_LINGER_S):
                while (await self._receive()).get("more_body", False):
                    pass
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


class _Replay:
    """Replays the body that was read, then passes on the server's messages."""

    def __init__(self, pieces: Iterator[bytes], receive: Receive) -> None:
        self._pieces = pieces
        self._next = next(pieces, None)
        self._receive = receive

    async def __call__(self) -> Message:
        if self._next is None:
            return await self._receive()
        piece, self._next = self._next, next(self._pieces, None)
        await asyncio.sleep(0)
        return {"type": "http.request", "body": piece, "more_body": self._next is not None}


def _is_json(content_type: bytes) -> bool:
    return content_type.split(b";", 1)[0].strip().lower().endswith(b"json")


class HeaderLimit:
    """Answers 431 to requests with too large a head, and 400 to a path that no store takes."""

    def __init__(self, app: ASGIApp, *, most: int) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan" and _head_bytes(scope) > self._most:
            detail = f"The path and headers are larger than {self._most} bytes."
            await send_problem(scope, receive, send, 431, detail, headers=_CLOSE)
        elif scope["type"] != "lifespan" and _has_nul(scope):
            await send_problem(scope, receive, send, 400, "The path has a NUL in it.")
        else:
            await self._app(scope, receive, send)


def _has_nul(scope: Scope) -> bool:
    query = scope.get("query_string", b"")
    return "\0" in scope["path"] or b"%00" in query or b"\0" in query


def _head_bytes(scope: Scope) -> int:
    fields = sum(len(name) + len(value) for name, value in scope["headers"])
    path = len(scope.get("raw_path") or scope["path"])
    return fields + path + len(scope.get("query_string", b""))
