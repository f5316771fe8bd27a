"""Headers that keep browsers from guessing, telling and framing."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oda.server.request_path import path_of

_ALWAYS = [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer")]
_NO_FRAME = [*_ALWAYS, (b"x-frame-options", b"DENY")]
_OWN_FRAME = [*_ALWAYS, (b"x-frame-options", b"SAMEORIGIN")]


class SecurityHeaders:
    """Adds what is missing to every answer; only the dev UI may be put in a frame, its own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        added = _OWN_FRAME if path_of(scope).startswith("/dev-ui") else _NO_FRAME

        async def send_with_headers(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                headers = [*message.get("headers", ())]
                there = {name.lower() for name, _ in headers}
                missing = [pair for pair in added if pair[0] not in there]
                message["headers"] = [*headers, *missing]
            await send(message)

        await self._app(scope, receive, send_with_headers)
