"""The agent's own HTTP routes; see `http/`."""

from fastapi import APIRouter

from .http import articles, runs, versions
from .http.commission import ROUTE


def routes() -> APIRouter:
    """Runs, the articles that come of them, and versions of these."""
    router = APIRouter()
    router.include_router(runs.router, prefix=ROUTE)
    router.include_router(versions.router, prefix=ROUTE)
    router.include_router(articles.router, prefix=ROUTE)
    return router
