"""An id for every request, given back to the client and bound to the logs."""

import re
import uuid

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oda.telemetry import bound_trace_id, running_trace_id

_TRACEPARENT = re.compile(rb"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
_STARTS = ("http.response.start", "websocket.accept", "websocket.http.response.start")
_KEY = "oda_trace_id"


def trace_id_of(scope: Scope) -> str:
    """The request's trace id: 32 hex digits."""
    return str(scope.get(_KEY, ""))


class TraceMiddleware:
    """Sends the trace id as `X-Trace-Id`, and attaches it to the request's logs, turns and spans.

    The id is that of the OpenTelemetry span started by FastAPI or an outer application, else that
    of the W3C `traceparent` header, else a new one.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        trace_id = scope[_KEY] = running_trace_id() or _trace_id(scope)

        async def send_with_id(message: Message) -> None:
            if message["type"] in _STARTS:
                message.setdefault("headers", [])
                MutableHeaders(scope=message)["X-Trace-Id"] = trace_id
            await send(message)

        with bound_trace_id(trace_id):
            await self._app(scope, receive, send_with_id)


def _trace_id(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"traceparent" and (match := _TRACEPARENT.fullmatch(value)):
            return match[1].decode()
    return uuid.uuid4().hex
