"""Parts of `/openapi.json` that do not follow from the types of the routes."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.models import HTTPBearer
from fastapi.security.base import SecurityBase
from pydantic import GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from oda.server.problems import MEDIA_TYPE, ProblemDetails

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
    413: "The body is too large, or its user keeps as much as one may",
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
_LONG_NAME = re.compile(r"(\w+?)__\w+__(\w+)")
"""Matches `<package>__<modules>__<model>`, as FastAPI names models that share a name."""


LARGE_BODY = {"x-large-body": True}
"""`openapi_extra` of a route whose body may contain files: its body is limited by
`ODA_LIMITS__BODY_BYTES`, those of other routes by `ODA_LIMITS__SMALL_BODY_BYTES`.
"""
LARGE_FORM = {"x-large-form": True}
"""The same of a route that takes files as a form only, beside one that takes JSON."""


def sends(*names: str, sometimes: tuple[str, ...] = ()) -> dict[str, Any]:
    """The headers of a response, for `responses` of a route."""
    always = {name: {"required": True, **_HEADERS[name]} for name in names}
    return {"headers": {**always, **{name: _HEADERS[name] for name in sometimes}}}


def problems(*statuses: int) -> Responses:
    """The refusals with these statuses, for `responses` of a route."""
    reference = _REFERENCE.format(model=ProblemDetails.__name__)
    content = {MEDIA_TYPE: {"schema": {"$ref": reference}}}
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


def streams(description: str, events: Mapping[str, Any]) -> dict[str, Any]:
    """Return `responses` of a route that can also answer with server-sent events.

    Args:
        events: The type of the JSON data, by the event's name.
    """
    schemas, rest = TypeAdapter.json_schemas(
        [(name, "serialization", TypeAdapter(kind)) for name, kind in events.items()],
        ref_template=_REFERENCE,
    )
    item = {
        "type": "object",
        "required": ["event", "data"],
        "oneOf": [_sent(name, schemas[name, "serialization"]) for name in events],
        "$defs": rest.get("$defs", {}),
    }
    content = {"text/event-stream": {"itemSchema": item}}
    return {"description": description, "content": content}


def _sent(name: str, schema: JsonSchemaValue) -> dict[str, Any]:
    data = {"type": "string", "contentMediaType": "application/json", "contentSchema": schema}
    return {"properties": {"id": {"type": "string"}, "event": {"const": name}, "data": data}}


class DocumentedAs:
    """Gives a loosely typed field the JSON Schema of another type."""

    def __init__(self, other: Any) -> None:
        # in a chain, so that it is referred to by its name
        self._core_schema = core_schema.chain_schema([TypeAdapter(other).core_schema])

    def __get_pydantic_json_schema__(
        self, _: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(self._core_schema)


def leads_to(*operations: str, **parameters: str) -> dict[str, Any]:
    """Return `links` from a response to subsequent operations, for `responses` of a route.

    Args:
        parameters: Runtime expressions for the parameters, such as `$response.body#/session_id`.
    """
    return {name: {"operationId": name, "parameters": parameters} for name in operations}


class Bearer(SecurityBase):
    """Describes the credential; `AuthMiddleware` has checked it."""

    model = HTTPBearer(description="An API key or a JWT; not needed where no key is configured.")
    scheme_name = "bearer"

    async def __call__(self) -> None:
        """Nothing is left to do."""


AT_THE_DOOR = problems(400, 403, 408, 413, 429, 431, 500)
"""Problems that any request may be answered with before it reaches a route."""


class DocumentedAPI(FastAPI):
    """A FastAPI application whose document includes the behaviour of its middleware."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            _complete(super().openapi())
        return super().openapi()


def _complete(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    problem = ProblemDetails.model_json_schema(mode="serialization", ref_template=_REFERENCE)
    schemas |= {**problem.pop("$defs", {}), ProblemDetails.__name__: problem}
    trace_id = sends("X-Trace-Id")["headers"]
    for _, operation in _operations(document):
        for response in operation["responses"].values():
            response["headers"] = {**response.get("headers", {}), **trace_id}
            for media in response.get("content", {}).values():
                item = media.get("itemSchema", {})
                _define(item, item.pop("$defs", {}), schemas)
    _link(document)
    _name_once(document)


def _define(node: Any, known: Mapping[str, Any], schemas: dict[str, Any]) -> None:
    """Add the schemas that a schema refers to, unless another route has added them."""
    for name in _named_in(node):
        if name not in schemas and name in known:
            schemas[name] = known[name]
            _define(known[name], known, schemas)


def _named_in(node: Any) -> Iterator[str]:
    for part in _parts(node):
        if isinstance(reference := part.get("$ref"), str):
            yield reference.rpartition("/")[2]


def _name_once(document: dict[str, Any]) -> None:
    """Give each schema a short, unique name and title: client generators name types by either."""
    schemas = document["components"]["schemas"]
    short = Counter(map(_short, schemas))
    renamed = {name: _short(name) if short[_short(name)] == 1 else name for name in schemas}
    document["components"]["schemas"] = {
        renamed[name]: {**schema, "title": renamed[name]} for name, schema in schemas.items()
    }
    for part in _parts(document):
        if isinstance(reference := part.get("$ref"), str):
            name = reference.rpartition("/")[2]
            part["$ref"] = _REFERENCE.format(model=renamed.get(name, name))


def _short(name: str) -> str:
    """Return `resume_coach__state__Progress` as `ResumeCoachProgress`."""
    if (match := _LONG_NAME.fullmatch(name)) is None:
        return name
    package, model = match.groups()
    return "".join(word.capitalize() for word in package.split("_")) + model


def _parts(node: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects in a document."""
    if isinstance(node, list):
        for item in node:
            yield from _parts(item)
    elif isinstance(node, dict):
        yield node
        for item in node.values():
            yield from _parts(item)


def _link(document: dict[str, Any]) -> None:
    """Say which answers name what other operations are asked about."""
    operations = {operation["operationId"]: path for path, operation in _operations(document)}
    by_id = {operation["operationId"]: operation for _, operation in _operations(document)}
    in_app = {"app": "$request.path.app"}
    in_session = {**in_app, "sid": "$request.path.sid"}
    of_session = {**in_app, "sid": "$response.body#/session_id"}
    of_artifact = {**in_session, "name": "$response.body#/name"}
    for maker, status, marker, names in (
        ("create_session", "201", "{sid}", of_session),
        ("fork_session", "201", "{sid}", of_session),
        ("upload_artifact", "201", "{name}", of_artifact),
        ("upload_artifact_by_post", "201", "{name}", of_artifact),
        ("submit_turn", "200", "{tid}", {"tid": "$response.body#/turn/turn_id"}),
        ("submit_turn", "202", "{tid}", {"tid": "$response.body#/turn_id"}),
    ):
        led_to = [name for name, path in operations.items() if marker in path and "/v1/" in path]
        by_id[maker]["responses"][status]["links"] = leads_to(*led_to, **names)


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, operations in document["paths"].items():
        for operation in operations.values():
            yield path, operation
