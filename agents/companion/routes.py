"""The agent's HTTP routes: messages and steps, a child's records, and what parents see and set."""

from fastapi import APIRouter

from oda.server import orchestrator_routes

from .agent import root_agent
from .http import parents, work

_own = APIRouter(prefix="/api/companion", tags=["companion"])
_own.include_router(work.router)
_own.include_router(parents.router)


def routes() -> APIRouter:
    """All of them."""
    router = APIRouter()
    router.include_router(orchestrator_routes(root_agent))
    router.include_router(_own)
    return router
