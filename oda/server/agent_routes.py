"""HTTP routes that an agent brings, besides those that every app has under `/v1`.

`agents/<app>/routes.py` has a function that is called once, when the server starts:

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

All that stands around our own routes stands around these: origins, credentials, rates, sizes,
audit, metrics, problems. `Conversations` are those of who asks with this app, and of nobody else;
what is to be refused is raised as a `Refusal`. Paths begin with `/api/`, so that they never take
another's. Routes that cannot be loaded are reported by the log, `/v1/apps` and `oda doctor`; the
agent is served without them.
"""

import asyncio
from collections.abc import Iterator

from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import iter_route_contexts

from oda.agent.definition import Definitions, broken_part
from oda.errors import AgentLoadError
from oda.server.conversations import OfApp
from oda.server.openapi import Bearer, problems
from oda.telemetry import get_logger

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
    for path, _ in _paths(router):
        if not path.startswith(_PREFIX):
            raise broken_part(name, _ROUTES, f"the path {path!r} does not begin with {_PREFIX!r}")
    return router


async def mount(app: FastAPI, definitions: Definitions) -> None:
    """Add the routes of all agents to the application; those that are broken are left out.

    An application that has been closed and is opened again has them already.
    """
    app.state.broken_routes.clear()
    for name in definitions.names():
        if name in app.state.agent_routes.values():
            continue
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


def _paths(router: APIRouter) -> Iterator[tuple[str, str]]:
    """All paths of a router with their methods; a WebSocket has none."""
    for route in iter_route_contexts(router.routes):
        for method in route.methods or {""}:
            yield route.path_format or "", method
