"""HTTP routes defined by an agent, in addition to those of every app under `/v1`.

`agents/<app>/routes.py` defines a function that is called once, by the first request below `/api/`
or for `/openapi.json`:

    from fastapi import APIRouter
    from oda.server import Conversations

    router = APIRouter(prefix="/api/notes", tags=["notes"])

    @router.post("/{session_id}")
    async def note(session_id: str, text: str, conversations: Conversations) -> str:
        session = await conversations.get(session_id)
        turn = await conversations.ended(await conversations.submit(session, text))
        return turn.reply

    def routes() -> APIRouter:
        return router

The middleware of our own routes applies to these as well: origins, credentials, rates, sizes,
audit, metrics, problems. `Conversations` gives access to the conversations of the calling user with
this app only. Raise a `Refusal` to refuse a request. Paths begin with `/api/`, so that they cannot
shadow other routes. Routes that fail to load are reported by the log, `/v1/apps` and `oda doctor`;
the agent is served without them.
"""

import asyncio
import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import iter_route_contexts
from starlette.routing import compile_path
from starlette.types import ASGIApp, Receive, Scope, Send

from oda.agent.definition import Definitions, broken_part
from oda.errors import AgentLoadError
from oda.server.conversations import OfApp
from oda.server.openapi import Bearer, problems
from oda.server.request_path import path_of
from oda.telemetry import get_logger

if TYPE_CHECKING:
    from oda.server.rehearsal import Rehearsal

log = get_logger(__name__)

_ROUTES = "routes"
"""The file in an agent's folder, and the function in it."""
_PREFIX = "/api/"


def load_routes(definitions: Definitions, name: str) -> APIRouter | None:
    """The routes of an agent; None when it brings none.

    Raises:
        AgentNotFoundError: there is no such agent.
        AgentLoadError: the agent or its routes are broken.
    """
    make = definitions.part(name, _ROUTES, file=_ROUTES)
    if make is None:
        return None
    try:
        router = make()
    except Exception as error:
        raise broken_part(name, _ROUTES, f"{type(error).__name__}: {error}") from error
    if not isinstance(router, APIRouter):
        raise broken_part(
            name, _ROUTES, f"routes() returns {type(router).__name__}, not an APIRouter"
        )
    for path in paths_of(router):
        if not path.startswith(_PREFIX):
            raise broken_part(name, _ROUTES, f"the path {path!r} does not begin with {_PREFIX!r}")
    return router


class AgentRoutes:
    """Loads agents and their routes when the first request comes that they might answer.

    It stands before what looks at routes, such as the limits of bodies.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            app: FastAPI = scope["app"]
            path = path_of(scope)
            if path.startswith(_PREFIX) or path == app.openapi_url:
                await mounted(app, path)
        await self._app(scope, receive, send)


async def mounted(app: FastAPI, path: str | None = None) -> None:
    """Return when the routes of all agents have been added; with a path, at least those for it.

    The rehearsal knows whose they are. Before it has ended agents are loaded until one has the
    path, first those that the path names.
    """
    state = app.state
    if not state.is_open or state.has_all_routes or (path and _has_route(app, path)):
        return
    rehearsal: Rehearsal | None = state.rehearsal
    owners = rehearsal.owners(path) if path and rehearsal else frozenset()
    if owners and owners <= state.has_routes_of:
        return
    async with state.mounting:
        names = owners or await asyncio.to_thread(state.oda.definitions.names)
        for name in sorted(names, key=lambda name: (not _is_named(name, path), name)):
            if name not in state.has_routes_of:
                await _mount(app, state.oda.definitions, name)
                state.has_routes_of.add(name)
            if path and _has_route(app, path):
                return
        state.has_all_routes = not owners


def _has_route(app: FastAPI, path: str) -> bool:
    return any(pattern_of(template).match(path) for template, _ in app.state.agent_routes)


def _is_named(agent: str, path: str | None) -> bool:
    return agent.replace("_", "-") in (path or "").replace("_", "-")


@cache
def pattern_of(template: str) -> re.Pattern[str]:
    """Return the expression that matches the paths of a template such as `/api/notes/{id}`."""
    return compile_path(template)[0]


async def _mount(app: FastAPI, definitions: Definitions, name: str) -> None:
    """Add an agent's routes to the application; those that are broken are left out.

    An application that has been closed and is opened again has them already.
    """
    if name in app.state.agent_routes.values():
        return
    try:
        if router := await asyncio.to_thread(_routes_if_sound, definitions, name):
            _include(app, name, router)
    except AgentLoadError as error:
        log.error("agent_routes_not_loaded", agent=name, exc_info=error)
        app.state.broken_routes[name] = error.message


def _routes_if_sound(definitions: Definitions, name: str) -> APIRouter | None:
    """The routes of an agent, unless the agent itself is broken, which has been reported."""
    if isinstance(definitions.try_get(name), AgentLoadError):
        return None
    return load_routes(definitions, name)


def _include(app: FastAPI, name: str, router: APIRouter) -> None:
    taken: dict[tuple[str, str], str] = app.state.agent_routes
    for path, method in _paths(router):
        if (path, method) in taken:
            raise broken_part(name, _ROUTES, f"{taken[path, method]!r} has {method} {path} already")
    taken.update(dict.fromkeys(_paths(router), name))
    app.include_router(
        router,
        dependencies=[Depends(Bearer()), Depends(OfApp(name))],
        responses=problems(401, 422, 503),
    )
    app.openapi_schema = None


def paths_of(router: APIRouter) -> list[str]:
    """Return the path templates of a router."""
    return sorted({path for path, _ in _paths(router)})


def _paths(router: APIRouter) -> Iterator[tuple[str, str]]:
    """All paths of a router with their methods; a WebSocket has none."""
    for route in iter_route_contexts(router.routes):
        for method in route.methods or {""}:
            yield route.path_format or "", method
