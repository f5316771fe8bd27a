"""The one FastAPI application."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute

from oda.clock import SystemClock
from oda.context import OdaContext
from oda.identity.audit import AuditLog
from oda.identity.authenticator import open_authenticator
from oda.server import agent_routes, health, problems, v1, workspaces
from oda.server.adk_routes import first_segments, open_adk_app
from oda.server.metrics import Metrics
from oda.server.metrics import router as metrics_router
from oda.server.openapi import AT_THE_DOOR, DocumentedAPI
from oda.server.perimeter import perimeter
from oda.server.rate_limits import Sockets
from oda.server.rate_window import RateStore
from oda.settings import Settings, is_loopback


def create_app(settings: Settings, *, dev_ui: bool = True, host: str = "127.0.0.1") -> FastAPI:
    """The application for a set of settings; its lifespan opens and closes the context.

    Args:
        settings: Of this process.
        dev_ui: Whether ADK's dev UI is served; it never is on a public address.
        host: The address that the server is bound to.
    """
    dev_ui = dev_ui and is_loopback(host)
    may_be_open = is_loopback(host) or settings.insecure
    metrics = Metrics()
    rates = RateStore(settings.limits.storage)
    clock = SystemClock()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with aclosing(rates), OdaContext.from_settings(settings) as oda:
            oda.turns.observe(metrics.turns)
            await oda.warm_up()
            await oda.turns.recover()
            async with (
                open_authenticator(
                    oda.database, settings.jwt, clock, may_be_open=may_be_open
                ) as authenticator,
                open_adk_app(oda, dev_ui=dev_ui) as adk,
            ):
                app.state.authenticator = authenticator
                app.state.audit = AuditLog(oda.database, clock)
                app.state.oda = oda
                app.state.adk_segments = first_segments(adk)
                app.state.adk = adk
                await agent_routes.mount(app, oda.definitions)
                yield

    app = DocumentedAPI(
        title="oda",
        version=version("oda"),
        description="Sessions and turns of ADK agents; retries, resumes, streams.",
        lifespan=lifespan,
        responses=AT_THE_DOOR,
        generate_unique_id_function=_operation_id,
        redirect_slashes=False,
        middleware=perimeter(settings, host=host, metrics=metrics, rates=rates),
    )
    app.state.metrics = metrics
    app.state.agent_routes = {}
    app.state.broken_routes = {}
    app.state.sockets = Sockets(settings.limits.sockets)
    app.include_router(v1.router)
    app.include_router(workspaces.router)
    app.include_router(health.router)
    app.include_router(metrics_router)
    if dev_ui:
        app.add_api_route("/", _to_dev_ui, include_in_schema=False, response_class=RedirectResponse)
    problems.install(app)
    return app


def _operation_id(route: APIRoute) -> str:
    return route.name


def _to_dev_ui() -> RedirectResponse:
    return RedirectResponse("/dev-ui/")
