"""The routes of A2A, whose package is imported by the first request."""

import asyncio
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response

from oda.errors import NotFoundError
from oda.server.access import Context, User
from oda.server.openapi import LARGE_BODY
from oda.server.problems import Refusal
from oda.server.v1.paths import AppName

if TYPE_CHECKING:
    from oda.server.a2a.face import A2aFace

_CARD = "/.well-known/agent-card.json"
_OPERATIONS = (
    ("POST", "/message:send", "on_message_send"),
    ("POST", "/message:stream", "on_message_send_stream"),
    ("POST", "/tasks/{id}:cancel", "on_cancel_task"),
    ("GET", "/tasks/{id}:subscribe", "on_subscribe_to_task"),
    ("POST", "/tasks/{id}:subscribe", "on_subscribe_to_task"),
    ("GET", "/tasks/{id}/pushNotificationConfigs/{push_id}", "get_push_notification"),
    ("DELETE", "/tasks/{id}/pushNotificationConfigs/{push_id}", "delete_push_notification"),
    ("POST", "/tasks/{id}/pushNotificationConfigs", "set_push_notification"),
    ("GET", "/tasks/{id}/pushNotificationConfigs", "list_push_notifications"),
    ("GET", "/tasks/{id}", "on_get_task"),
    ("GET", "/tasks", "list_tasks"),
    ("GET", "/extendedAgentCard", "handle_authenticated_agent_card"),
)
"""Method, path, and the method of the SDK's dispatcher."""


def a2a_router() -> APIRouter | None:
    """Return the routes of all apps; None without the package."""
    if find_spec("a2a") is None or find_spec("sse_starlette") is None:
        return None
    return _Door().router


class _Door:
    def __init__(self) -> None:
        self._face: A2aFace | None = None
        self.router = APIRouter(include_in_schema=False)
        add = self.router.add_api_route
        add(_CARD, self._own_card, methods=["GET"])
        add(f"/a2a/{{app}}{_CARD}", self._card, methods=["GET"])
        for path in ("/a2a/{app}", "/a2a/{app}/"):
            add(path, self._rpc, methods=["POST"], openapi_extra=LARGE_BODY)
        for method, path, operation in _OPERATIONS:
            extra = LARGE_BODY if path.startswith("/message") else None
            serve = self._operation(operation)
            add(f"/a2a/{{app}}{path}", serve, methods=[method], openapi_extra=extra)

    async def _opened(self) -> "A2aFace":
        if self._face is None:
            self._face = await asyncio.to_thread(_make_face)
        return self._face

    async def _own_card(self, request: Request, oda: Context) -> Response:
        """The card of the server's only app, or of the one that the settings name."""
        names = await asyncio.to_thread(oda.definitions.names)
        app = oda.settings.a2a_app or (names[0] if len(names) == 1 else None)
        if app is None:
            raise NotFoundError("This server has several agents; each has a card of its own.")
        return await (await self._opened()).card(request, oda, app)

    async def _card(self, request: Request, app: AppName, oda: Context) -> Response:
        return await (await self._opened()).card(request, oda, app)

    async def _rpc(self, request: Request, app: AppName, oda: Context, user: User) -> Response:
        await _refuse_other_types(request)
        return await (await self._opened()).rpc(request, oda, app, user)

    def _operation(self, operation: str) -> Callable[..., Awaitable[Response]]:
        async def serve(request: Request, app: AppName, oda: Context, user: User) -> Response:
            await _refuse_other_types(request)
            return await (await self._opened()).rest(request, oda, app, user, operation)

        serve.__name__ = f"a2a_{operation}_{len(self.router.routes)}"
        return serve


async def _refuse_other_types(request: Request) -> None:
    """Refuse a body that is not said to be JSON, since the limits of JSON were not held to it."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if not kind.endswith("json") and await request.body():
        raise Refusal(415, "Send the body as application/json.")


def _make_face() -> "A2aFace":
    from oda.server.a2a.face import A2aFace

    return A2aFace()
