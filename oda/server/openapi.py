"""What `/openapi.json` says besides what the types of the routes say."""

from collections.abc import Iterator, Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.models import HTTPBearer
from fastapi.security.base import SecurityBase

from oda.server.problems import MEDIA_TYPE, Problem

Responses = dict[int | str, dict[str, Any]]

_WHY: Mapping[int, str] = {
    400: "Malformed",
    401: "Nobody knows who asks",
    403: "Not allowed to who asks, or not from this machine",
    404: "Not there, or not yours",
    408: "The body came too slowly",
    409: "Not possible now",
    410: "The place to read on from is not there any more",
    412: "Changed since it was read",
    413: "The body is too large",
    415: "Not JSON",
    422: "Wrong fields",
    429: "Too much at once",
    431: "The path and the headers are too large",
    500: "The server's own fault",
    501: "Not installed or not configured here",
    502: "A service behind this one has failed",
    503: "A part cannot be reached",
}
_HEADERS: Mapping[str, dict[str, Any]] = {
    "ETag": {"description": "Stands for this very content.", "schema": {"type": "string"}},
    "Idempotent-Replayed": {
        "description": "The turn was made by an earlier request with this key.",
        "schema": {"const": "true"},
    },
    "Location": {"description": "Path of what was made.", "schema": {"type": "string"}},
    "Preference-Applied": {"schema": {"const": "respond-async"}},
    "Retry-After": {"description": "Seconds.", "schema": {"type": "integer", "minimum": 1}},
    "WWW-Authenticate": {"schema": {"const": "Bearer"}},
    "X-Trace-Id": {
        "description": "Id of the request in the server's log.",
        "schema": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
    },
}
_HEADERS_OF: Mapping[int, tuple[str, ...]] = {
    401: ("WWW-Authenticate",),
    429: ("Retry-After",),
    503: ("Retry-After",),
}
_REFERENCE = "#/components/schemas/{model}"
_PROBLEM = "ProblemDetails"
"""As RFC 9457 calls it; models of routes have plainer names."""


def sends(*names: str, sometimes: tuple[str, ...] = ()) -> dict[str, Any]:
    """The headers of a response, for `responses` of a route."""
    always = {name: {"required": True, **_HEADERS[name]} for name in names}
    return {"headers": {**always, **{name: _HEADERS[name] for name in sometimes}}}


def problems(*statuses: int) -> Responses:
    """The refusals with these statuses, for `responses` of a route."""
    content = {MEDIA_TYPE: {"schema": {"$ref": _REFERENCE.format(model=_PROBLEM)}}}
    return {
        status: {
            "description": _WHY[status],
            "content": content,
            **sends(*_HEADERS_OF.get(status, ())),
        }
        for status in statuses
    }


problem_responses = problems
"""The same, under a name that is no module's."""


class Bearer(SecurityBase):
    """Describes the credential; `AuthMiddleware` has checked it."""

    model = HTTPBearer(description="An API key or a JWT; not needed where no key is configured.")
    scheme_name = "bearer"

    async def __call__(self) -> None:
        """Nothing is left to do."""


AT_THE_DOOR = problems(400, 403, 408, 413, 429, 431, 500)
"""What every request may be told before a route sees it."""


class DocumentedAPI(FastAPI):
    """A FastAPI application whose document also has what stands around the routes."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            _complete(super().openapi())
        return super().openapi()


def _complete(document: dict[str, Any]) -> None:
    told = Problem.model_json_schema(ref_template=_REFERENCE)
    nested = told.pop("$defs", {})
    document["components"]["schemas"] |= {_PROBLEM: told, **nested}
    trace_id = sends("X-Trace-Id")["headers"]
    for _, operation in _operations(document):
        for response in operation["responses"].values():
            response["headers"] = {**response.get("headers", {}), **trace_id}
    _link(document)


def _link(document: dict[str, Any]) -> None:
    """Say which answers name what other operations are asked about."""
    operations = {operation["operationId"]: path for path, operation in _operations(document)}
    by_id = {operation["operationId"]: operation for _, operation in _operations(document)}
    in_app = {"app": "$request.path.app"}
    for maker, status, marker, names in (
        ("create_session", "201", "{sid}", {**in_app, "sid": "$response.body#/session_id"}),
        ("fork_session", "201", "{sid}", {**in_app, "sid": "$response.body#/session_id"}),
        ("submit_turn", "200", "{tid}", {"tid": "$response.body#/turn/turn_id"}),
        ("submit_turn", "202", "{tid}", {"tid": "$response.body#/turn_id"}),
    ):
        by_id[maker]["responses"][status]["links"] = {
            name: {"operationId": name, "parameters": names}
            for name, path in operations.items()
            if marker in path
        }


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, operations in document["paths"].items():
        for operation in operations.values():
            yield path, operation
