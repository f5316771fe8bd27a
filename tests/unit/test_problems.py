"""What nobody foresaw is a problem too, with the headers of every answer."""

import json
from pathlib import Path

import pytest
from starlette.types import Message, Receive, Scope, Send

from oda.server.problems import UnexpectedErrors
from oda.server.security_headers import SecurityHeaders
from oda.server.trace import TraceMiddleware
from tests.support.asgi import ask, scope_of


async def broken(scope: Scope, receive: Receive, send: Send) -> None:
    raise RuntimeError(f"secret {Path(__file__)}")


async def broken_halfway(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    raise RuntimeError("halfway")


async def test_an_unforeseen_error_is_a_problem_without_its_text() -> None:
    app = TraceMiddleware(SecurityHeaders(UnexpectedErrors(broken)))
    answered = await ask(app, scope_of())
    problem = json.loads(answered.body)
    assert (answered.status, problem["code"]) == (500, "internal_error")
    assert "secret" not in answered.body.decode()
    assert problem["trace_id"] == answered.headers["x-trace-id"]
    assert answered.headers["content-type"] == "application/problem+json"
    assert answered.headers["x-content-type-options"] == "nosniff"
    assert answered.headers["x-frame-options"] == "DENY"
    assert answered.headers["referrer-policy"] == "no-referrer"


async def test_an_answer_that_has_begun_is_broken_off() -> None:
    with pytest.raises(RuntimeError, match="halfway"):
        await ask(UnexpectedErrors(broken_halfway), scope_of())


async def test_a_header_that_is_there_is_not_sent_twice() -> None:
    async def careful(scope: Scope, receive: Receive, send: Send) -> None:
        start: Message = {"type": "http.response.start", "status": 200}
        await send({**start, "headers": [(b"X-Content-Type-Options", b"nosniff")]})

    answered = await ask(SecurityHeaders(careful), scope_of())
    names = [name.lower() for name, _ in answered.messages[0]["headers"]]
    assert names.count(b"x-content-type-options") == 1
    assert b"referrer-policy" in names
