"""The application of `oda worker`: it runs turns, and answers questions about its health."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from oda.context import OdaContext
from oda.server import health, problems
from oda.server.metrics import Metrics
from oda.server.metrics import router as metrics_router
from oda.settings import Settings


def create_worker(settings: Settings) -> FastAPI:
    """Create the application. Its lifespan opens the context, and runs turns until it ends."""
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with OdaContext.from_settings(settings) as oda:
            oda.turns.observe(metrics.turns)
            await oda.warm_up()
            await oda.turns.recover()
            app.state.oda = oda
            yield

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.metrics = metrics
    app.include_router(health.router)
    app.include_router(metrics_router)
    problems.install(app)
    return app
