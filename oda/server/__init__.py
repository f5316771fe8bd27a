"""Doors over HTTP. They submit turns and encode what comes of them; no decisions are made here.

What is named here is for the routes that agents bring (`agent_routes.py`); the names are loaded
when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oda.server.conversations import AppConversations as AppConversations
    from oda.server.conversations import Conversations as Conversations
    from oda.server.downloads import download_headers as download_headers
    from oda.server.downloads import page_headers as page_headers
    from oda.server.idempotency import KeyHeader as KeyHeader
    from oda.server.idempotency import key_of_request as key_of_request
    from oda.server.openapi import problem_responses as problem_responses
    from oda.server.orchestrator.routes import orchestrator_routes as orchestrator_routes
    from oda.server.problems import Refusal as Refusal
    from oda.server.sse import Seen as Seen
    from oda.server.sse import StreamedAs as StreamedAs
    from oda.server.sse import sse_response as sse_response
    from oda.server.turn_frames import Frame as Frame

_HOMES = {
    "AppConversations": "oda.server.conversations",
    "Conversations": "oda.server.conversations",
    "Frame": "oda.server.turn_frames",
    "KeyHeader": "oda.server.idempotency",
    "Refusal": "oda.server.problems",
    "Seen": "oda.server.sse",
    "StreamedAs": "oda.server.sse",
    "download_headers": "oda.server.downloads",
    "key_of_request": "oda.server.idempotency",
    "orchestrator_routes": "oda.server.orchestrator.routes",
    "page_headers": "oda.server.downloads",
    "problem_responses": "oda.server.openapi",
    "sse_response": "oda.server.sse",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
