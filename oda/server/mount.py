"""Support for mounting the application below a path of another one."""

from urllib.parse import quote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oda.server.problems import send_problem
from oda.server.request_path import mount_path

NOT_OPENED = (
    "This application has not been opened. Whoever mounts it enters `async with app.opened():` in "
    "the lifespan of the outer application: a mounted application's own lifespan is not run."
)


class Mount:
    """Serves an application that may be mounted, once it has been opened.

    Routes set `Location` to paths below the application; this middleware adds the mount path.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        root = quote(mount_path(scope)).encode()
        if not scope["app"].state.is_open:
            await send_problem(scope, receive, send, 503, NOT_OPENED, code="not_opened")
            return

        async def send_with_root(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    (name, root + value) if _is_local_location(name, value) else (name, value)
                    for name, value in message.get("headers", ())
                ]
            await send(message)

        await self._app(scope, receive, send_with_root if root else send)


def _is_local_location(name: bytes, value: bytes) -> bool:
    return name.lower() == b"location" and value.startswith(b"/") and value[:2] != b"//"
