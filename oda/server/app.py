"""The one FastAPI application."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute

from oda.clock import SystemClock
from oda.context import OdaContext
from oda.errors import AgentStateError
from oda.identity.audit import AuditLog
from oda.identity.authenticator import open_authenticator
from oda.server import health, problems, v1, workspaces
from oda.server.adk.on_demand import AdkOnDemand
from oda.server.docs_page import add_docs
from oda.server.metrics import Metrics
from oda.server.metrics import router as metrics_router
from oda.server.openapi import AT_THE_DOOR, DocumentedAPI
from oda.server.perimeter import perimeter
from oda.server.rate_limits import Sockets
from oda.server.rate_window import RateStore
from oda.server.rehearsal import Rehearsal
from oda.server.v1 import triggers
from oda.settings import Settings, is_loopback


class Application(DocumentedAPI):
    """The ASGI application. Its lifespan opens and closes the context.

    The lifespan of a mounted application is not run, so the outer application opens it in its own:

        oda = create_app(Settings.load())

        @asynccontextmanager
        async def lifespan(app: FastAPI) -> AsyncIterator[None]:
            async with oda.opened():
                yield

        app = FastAPI(lifespan=lifespan)
        app.mount("/oda", oda)
    """

    def opened(self) -> AbstractAsyncContextManager[object]:
        """Open the application, and close it at the end of the block.

        Raises:
            AgentStateError: the application is already open.
            ConfigurationError: a setting, a file or an agent's model is wrong.
            UnavailableError: the database cannot be reached.
        """
        return self.router.lifespan_context(self)


def create_app(
    settings: Settings, *, dev_ui: bool = True, host: str = "127.0.0.1", rehearsed: bool = False
) -> Application:
    """Create the application.

    Args:
        dev_ui: Whether to serve ADK's dev UI; it is never served on a public address.
        host: The address that the server is bound to.
        rehearsed: Load all agents once in a process of its own, to report those that are broken.
    """
    dev_ui = dev_ui and is_loopback(host)
    may_be_open = is_loopback(host) or settings.insecure
    metrics = Metrics()
    rates = RateStore(settings.limits.storage)
    clock = SystemClock()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if app.state.is_open:
            raise AgentStateError("The application is open already.")
        async with aclosing(rates), OdaContext.from_settings(settings) as oda:
            oda.turns.observe(metrics.turns)
            await oda.warm_up()
            await oda.turns.recover()
            async with (
                open_authenticator(
                    oda.database, settings.jwt, clock, may_be_open=may_be_open
                ) as authenticator,
                AdkOnDemand(oda, dev_ui=dev_ui) as adk,
            ):
                app.state.authenticator = authenticator
                app.state.audit = AuditLog(oda.database, clock)
                app.state.oda = oda
                app.state.adk = adk
                app.state.has_all_routes = False
                app.state.has_routes_of = set()
                app.state.broken_routes.clear()
                app.state.is_open = True
                try:
                    if rehearsed:
                        async with Rehearsal.running(oda) as app.state.rehearsal:
                            yield
                    else:
                        yield
                finally:
                    app.state.is_open = False
                    app.state.rehearsal = None

    app = Application(
        title="oda",
        version=version("oda"),
        description="Sessions and turns of ADK agents; retries, resumes, streams.",
        lifespan=lifespan,
        responses=AT_THE_DOOR,
        generate_unique_id_function=_operation_id,
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
        middleware=perimeter(settings, host=host, metrics=metrics, rates=rates),
    )
    app.state.is_open = False
    app.state.mounting = asyncio.Lock()
    app.state.rehearsal = None
    app.state.metrics = metrics
    app.state.clock = clock
    app.state.agent_routes = {}
    app.state.broken_routes = {}
    app.state.sockets = Sockets(settings.limits.sockets)
    app.include_router(v1.router)
    app.include_router(triggers.router)
    app.include_router(workspaces.router)
    app.include_router(health.router)
    app.include_router(metrics_router)
    add_docs(app)
    if dev_ui:
        app.add_api_route("/", _to_dev_ui, include_in_schema=False, response_class=RedirectResponse)
    problems.install(app)
    return app


def _operation_id(route: APIRoute) -> str:
    return route.name


def _to_dev_ui() -> RedirectResponse:
    return RedirectResponse("/dev-ui/")
