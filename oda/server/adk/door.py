"""Entry to ADK's application: access control, adaptation of requests, and their follow-up."""

import json
from contextlib import suppress
from urllib.parse import quote

from fastapi import FastAPI
from starlette.datastructures import Headers, QueryParams
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oda.context import OdaContext
from oda.errors import ForbiddenError, NotFoundError, OdaError, SessionNotFoundError
from oda.identity.principal import Principal
from oda.message.storable import storable_json
from oda.server.adk.access import SESSIONS, check_access, matched_route, method_and_path
from oda.server.adk.on_demand import AdkOnDemand
from oda.server.adk.visit import Visit, current_visit, visit_of
from oda.server.auth import principal_of
from oda.server.problems import refusal, refuse
from oda.server.request_path import mount_path, path_of

_DEV_UI = "/dev-ui/"
_DEV_UI_CONFIG = "/dev-ui/assets/config/runtime-config.json"
"""Configuration file of the dev UI, which names the path of the API."""


class AdkDoor:
    """Passes requests for ADK's paths to ADK's application while it is open.

    `Guard` has checked their origin; ADK's own check would refuse origins that our settings allow.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            state = scope["app"].state
            adk: AdkOnDemand | None = getattr(state, "adk", None)
            if adk is not None and adk.serves(path_of(scope)):
                await _enter(await adk.app(), state.oda, scope, receive, send)
                return
        await self._app(scope, receive, send)


def not_found(error: SessionNotFoundError) -> JSONResponse:
    """Return the response of ADK's routes for a session that is missing or not the user's."""
    return JSONResponse({"detail": "Session not found"}, 404)


async def _enter(adk: FastAPI, oda: OdaContext, scope: Scope, receive: Receive, send: Send) -> None:
    scope["headers"] = [pair for pair in scope["headers"] if pair[0] != b"origin"]
    matched = matched_route(adk.router.routes, scope)
    if matched is None:
        await adk(scope, receive, send)
        return
    route, found = matched
    method, path = method_and_path(route, scope)
    visit = visit_of(scope, method, path)
    body = _Body(receive, visit)
    try:
        principal = principal_of(scope)
        check_access(route, {**scope, **found}, principal)
        if (method, path) == ("POST", SESSIONS):
            await _refuse_history(body, principal)
    except SessionNotFoundError as error:
        await refuse(not_found(error), scope, receive, send)
        return
    except OdaError as error:
        await refuse(refusal(HTTPConnection(scope), error), scope, receive, send)
        return
    if (instead := _for_dev_ui(scope, principal)) is not None:
        await instead(scope, receive, send)
        return
    token = current_visit.set(visit)
    try:
        await adk(scope, body, send)
    finally:
        current_visit.reset(token)
    if visit.from_dev_ui and visit.has_left and visit.turn_id is not None:
        with suppress(NotFoundError):
            await oda.turns.cancel(visit.turn_id)


class _Body:
    """Receives a client's messages, makes JSON storable by every store, and notes a disconnect.

    ADK stores, and echoes, what it is sent. JSON bodies arrive in one message, see `BodyLimits`.
    """

    def __init__(self, receive: Receive, visit: Visit) -> None:
        self._receive = receive
        self._visit = visit
        self._first: Message | None = None

    async def __call__(self) -> Message:
        message, self._first = self._first or await self._receive(), None
        self._visit.has_left = self._visit.has_left or message["type"] == "http.disconnect"
        body: bytes = message.get("body", b"")
        if message["type"] == "http.request" and body.lstrip()[:1] in (b"{", b"["):
            return {**message, "body": storable_json(body)}
        return message

    async def peek(self) -> bytes:
        """Return the body without consuming it."""
        self._first = self._first or await self._receive()
        body: bytes = self._first.get("body", b"")
        return body


async def _refuse_history(body: _Body, principal: Principal) -> None:
    """Refuse a new session that brings its own events, unless an admin restores them.

    Raises:
        ForbiddenError: a user could make up answers of agents and tools.
    """
    if principal.is_admin:
        return
    try:
        asked = json.loads(await body.peek() or b"{}")
    except ValueError:
        return  # ADK says so
    if isinstance(asked, dict) and asked.get("events"):
        raise ForbiddenError(
            "Only an admin may create a session with a history.", remedy="leave events out"
        )


def _for_dev_ui(scope: Scope, principal: Principal) -> Response | None:
    """Return our response to a request of the dev UI that ADK would answer wrongly.

    None otherwise.
    """
    path = path_of(scope)
    if path == _DEV_UI_CONFIG and mount_path(scope):
        return JSONResponse({"backendUrl": quote(mount_path(scope))})
    asked = QueryParams(scope["query_string"])
    is_page = Headers(scope=scope).get("sec-fetch-dest") == "document"
    if path == _DEV_UI and is_page and "userId" not in asked:
        named = QueryParams([*asked.multi_items(), ("userId", principal.user_id)])
        return RedirectResponse(f"?{named}")  # without a `userId` the dev UI would use `user`
    return None
