"""Errors in OpenAI's envelope, and the headers that its clients read."""

import json
from collections.abc import Mapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oda.server.problems import MEDIA_TYPE
from oda.server.request_path import path_of
from oda.server.trace import trace_id_of

_PATHS = ("/v1/responses", "/v1/chat/completions", "/v1/models")
_TYPES: Mapping[int, str] = {
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
}


class OpenAIErrors:
    """Turns the problems of the face's paths into OpenAI's errors; names each request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not is_of_face(path_of(scope)):
            await self._app(scope, receive, send)
            return
        held: Message | None = None
        body = b""

        async def send_as_openai(message: Message) -> None:
            nonlocal held, body
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["x-request-id"] = trace_id_of(scope)
                if headers.get("content-type", "").startswith(MEDIA_TYPE):
                    held = message
                    return
            elif held is not None and message["type"] == "http.response.body":
                body += message.get("body", b"")
                if message.get("more_body", False):
                    return
                told = json.loads(body)
                again = may_be_repeated(scope, told)
                body = json.dumps({"error": error_of(told)}).encode()
                headers = MutableHeaders(scope=held)
                headers["content-type"] = "application/json"
                headers["content-length"] = str(len(body))
                if not again:
                    headers["x-should-retry"] = "false"
                start, held = held, None
                await send(start)
                message = {**message, "body": body}
            await send(message)

        await self._app(scope, receive, send_as_openai)


def is_of_face(path: str) -> bool:
    """Return whether a path is one of the OpenAI face."""
    return any(path == one or path.startswith(f"{one}/") for one in _PATHS)


def error_of(problem: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of OpenAI's envelope for a problem."""
    status, code = int(problem["status"]), problem["code"]
    fields = problem.get("errors") or [{"field": None}]
    usual = "server_error" if status >= 500 else "invalid_request_error"
    return {
        "message": problem["detail"],
        "type": _TYPES.get(status, usual),
        "param": "model" if code == "agent_not_found" else fields[0]["field"],
        "code": "model_not_found" if code == "agent_not_found" else code,
    }


def may_be_repeated(scope: Scope, problem: Mapping[str, Any]) -> bool:
    """Return whether a repeat of the request has no second effect, and may help.

    OpenAI's clients repeat 408, 409, 429 and all from 500 on by themselves.
    """
    if not problem["retryable"]:
        return False
    has_key = "idempotency-key" in Headers(scope=scope)
    return scope["method"] in ("GET", "DELETE") or has_key or problem["status"] in (408, 429, 503)
