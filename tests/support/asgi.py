"""One ASGI call, with what was sent and what came back."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send


@dataclass
class Answered:
    """What an ASGI application sent."""

    messages: list[Message] = field(default_factory=list)

    @property
    def status(self) -> int | None:
        return next((m["status"] for m in self.messages if "status" in m), None)

    @property
    def headers(self) -> dict[str, str]:
        start = next(m for m in self.messages if "status" in m)
        return {name.decode().lower(): value.decode() for name, value in start["headers"]}

    @property
    def body(self) -> bytes:
        return b"".join(m.get("body", b"") for m in self.messages)


@dataclass
class Reader:
    """An application that reads its body and says 200; it keeps what it has read."""

    bodies: list[bytes] = field(default_factory=list)
    scopes: list[Scope] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scopes.append(scope)
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            return
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        self.bodies.append(body)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def scope_of(
    headers: Iterable[tuple[str, str]] = (),
    *,
    kind: str = "http",
    method: str = "POST",
    scheme: str = "http",
    extensions: Sequence[str] = (),
    client: str = "10.0.0.1",
    path: str = "/v1/apps",
    **others: Any,
) -> Scope:
    """A request, by default for `/v1/apps`."""
    return {
        "type": kind,
        "method": method,
        "scheme": scheme,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "client": (client, 1234),
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers],
        "extensions": {name: {} for name in extensions},
        **others,
    }


async def ask(
    app: ASGIApp,
    scope: Scope,
    chunks: Sequence[bytes] = (b"",),
    *,
    received: list[int] | None = None,
) -> Answered:
    """Call an application; `received` gets the number of each message that it reads."""
    answered = Answered()
    messages: list[dict[str, Any]] = [
        {"type": "http.request", "body": chunk, "more_body": n < len(chunks)}
        for n, chunk in enumerate(chunks, 1)
    ]

    async def receive() -> Message:
        if received is not None:
            received.append(len(received))
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        answered.messages.append(message)

    await app(scope, receive, send)
    return answered
