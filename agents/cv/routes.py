"""The agent's own HTTP routes, each under two names; see `http/`."""

from fastapi import APIRouter
from fastapi.routing import APIRoute

from .http import chat, documents, forms

PREFIX = "/api/agent/cv-tools"
ALIAS = "/api/cv-agent/chat"


def routes() -> APIRouter:
    """A message as JSON or as a stream, the resume as a file, a file as a resume."""
    router = APIRouter(tags=["cv"])
    for prefix, named in ((PREFIX, _named), (ALIAS, _named_again)):
        for part in (forms.router, chat.router, documents.router):
            router.include_router(part, prefix=prefix, generate_unique_id_function=named)
    return router


def _named(route: APIRoute) -> str:
    return route.name


def _named_again(route: APIRoute) -> str:
    return f"{route.name}_alias"
