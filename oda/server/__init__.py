"""The HTTP interface: it submits turns and encodes their results, and makes no decisions.

`create_app` builds the whole application, to be served or mounted in another one. The other names
are for the routes that agents bring (`agent_routes.py`). All are imported when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oda.server.app import create_app as create_app
    from oda.server.conversations import AppConversations as AppConversations
    from oda.server.conversations import Conversations as Conversations
    from oda.server.downloads import download_headers as download_headers
    from oda.server.downloads import page_headers as page_headers
    from oda.server.idempotency import KeyHeader as KeyHeader
    from oda.server.idempotency import key_of_request as key_of_request
    from oda.server.openapi import LARGE_BODY as LARGE_BODY
    from oda.server.openapi import LARGE_FORM as LARGE_FORM
    from oda.server.openapi import leads_to as leads_to
    from oda.server.openapi import problem_responses as problem_responses
    from oda.server.openapi import streams as streams
    from oda.server.orchestrator.routes import orchestrator_routes as orchestrator_routes
    from oda.server.problems import Refusal as Refusal
    from oda.server.request_path import path_of as path_of
    from oda.server.sse import TOLD as TOLD
    from oda.server.sse import Seen as Seen
    from oda.server.sse import StreamedAs as StreamedAs
    from oda.server.sse import WithPartials as WithPartials
    from oda.server.sse import sse_response as sse_response
    from oda.server.turn_frames import Frame as Frame
    from oda.server.v1.wire import TURN_EVENTS as TURN_EVENTS

_HOMES = {
    "LARGE_BODY": "oda.server.openapi",
    "LARGE_FORM": "oda.server.openapi",
    "AppConversations": "oda.server.conversations",
    "Conversations": "oda.server.conversations",
    "Frame": "oda.server.turn_frames",
    "KeyHeader": "oda.server.idempotency",
    "Refusal": "oda.server.problems",
    "Seen": "oda.server.sse",
    "TOLD": "oda.server.sse",
    "StreamedAs": "oda.server.sse",
    "WithPartials": "oda.server.sse",
    "create_app": "oda.server.app",
    "TURN_EVENTS": "oda.server.v1.wire",
    "download_headers": "oda.server.downloads",
    "key_of_request": "oda.server.idempotency",
    "leads_to": "oda.server.openapi",
    "orchestrator_routes": "oda.server.orchestrator.routes",
    "page_headers": "oda.server.downloads",
    "path_of": "oda.server.request_path",
    "problem_responses": "oda.server.openapi",
    "sse_response": "oda.server.sse",
    "streams": "oda.server.openapi",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
