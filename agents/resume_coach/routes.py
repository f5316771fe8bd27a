"""The agent's own HTTP routes; see `http/`."""

from fastapi import APIRouter

from .http.sessions import router


def routes() -> APIRouter:
    """Sessions, messages, views, diffs."""
    return router
