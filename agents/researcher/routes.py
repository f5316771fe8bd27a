"""The agent's own HTTP routes; see `http/`."""

from fastapi import APIRouter

from .http import articles, runs
from .http.commission import ROUTE


def routes() -> APIRouter:
    """Runs, and the articles that come of them."""
    router = APIRouter()
    router.include_router(runs.router, prefix=ROUTE)
    router.include_router(articles.router, prefix=ROUTE)
    return router
