"""The one FastAPI application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI
from fastapi.responses import RedirectResponse

from oda.context import OdaContext
from oda.server import health, problems, v1
from oda.server.adk_routes import AdkFallthrough, first_segments, open_adk_app
from oda.server.guard import LoopbackGuard, is_loopback
from oda.server.trace import TraceMiddleware
from oda.settings import Settings


def create_app(settings: Settings, *, dev_ui: bool = True, host: str = "127.0.0.1") -> FastAPI:
    """The application for a set of settings; its lifespan opens and closes the context.

    Args:
        settings: Of this process.
        dev_ui: Whether ADK's dev UI is served; it never is on a public address.
        host: The address that the server is bound to.
    """
    dev_ui = dev_ui and is_loopback(host)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with OdaContext.from_settings(settings) as oda:
            await oda.warm_up()
            async with open_adk_app(oda, dev_ui=dev_ui, host=host) as adk:
                app.state.oda = oda
                app.state.adk_segments = first_segments(adk)
                app.state.adk = adk
                yield

    app = FastAPI(
        title="oda",
        version=version("oda"),
        description="Sessions and turns of ADK agents; retries, resumes, streams.",
        lifespan=lifespan,
    )
    app.include_router(v1.router)
    app.include_router(health.router)
    if dev_ui:
        app.add_api_route("/", _to_dev_ui, include_in_schema=False, response_class=RedirectResponse)
    problems.install(app)
    app.add_middleware(AdkFallthrough)
    if is_loopback(host):
        app.add_middleware(LoopbackGuard)
    app.add_middleware(TraceMiddleware)
    return app


def _to_dev_ui() -> RedirectResponse:
    return RedirectResponse("/dev-ui/")
