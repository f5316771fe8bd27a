"""The agent's own HTTP routes; see `http/`."""

from fastapi import APIRouter

from .http import documents, sessions


def routes() -> APIRouter:
    """Sessions, messages, views, diffs, files."""
    router = APIRouter()
    router.include_router(documents.router)
    router.include_router(sessions.router)
    return router
