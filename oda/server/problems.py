"""Errors as RFC 9457 problem documents: a stable type, never a stack trace."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from math import ceil
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError, WebSocketRequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel, ConfigDict
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from oda.database.failures import first_line, is_full, unavailable
from oda.errors import (
    AgentLoadError,
    ConfigurationError,
    ConflictError,
    CursorExpiredError,
    ForbiddenError,
    InvalidRequestError,
    MalformedError,
    NotConfiguredError,
    NotFoundError,
    OdaError,
    OverloadedError,
    PathRefusedError,
    QuotaExceededError,
    SandboxUnavailableError,
    StaleStateError,
    StorageQuotaError,
    UnauthenticatedError,
    UnavailableError,
    WorkspaceError,
)
from oda.message.storable import storable, storable_text
from oda.server.request_path import route_template
from oda.server.trace import trace_id_of
from oda.telemetry import get_logger

log = get_logger(__name__)

MEDIA_TYPE = "application/problem+json"
_RETRY_AFTER_S = 5
_POLICY_VIOLATION = 1008
_MOST_FIELDS = 100
"""Maximum number of wrong fields listed for one request."""
_LONGEST_TEXT = 500
_RETRYABLE = frozenset({408, 429, 503})

WrongFields = RequestValidationError | WebSocketRequestValidationError

_STATUS: Mapping[type[OdaError], int] = {
    AgentLoadError: 500,
    StaleStateError: 412,
    MalformedError: 400,
    InvalidRequestError: 422,
    UnauthenticatedError: 401,
    ForbiddenError: 403,
    NotFoundError: 404,
    PathRefusedError: 422,
    QuotaExceededError: 413,
    WorkspaceError: 404,
    ConflictError: 409,
    CursorExpiredError: 410,
    OverloadedError: 429,
    StorageQuotaError: 413,
    UnavailableError: 503,
    NotConfiguredError: 501,
    SandboxUnavailableError: 501,
    ConfigurationError: 500,
}
"""More special classes first."""

_CODES: Mapping[int, str] = {
    400: "malformed",
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    410: "cursor_expired",
    408: "request_timeout",
    412: "stale_state",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid_request",
    429: "rate_limited",
    431: "header_too_large",
    503: "unavailable",
}


class Refusal(OdaError):
    """Raised by a route to refuse a request with a problem of its own.

    Args:
        status: 4xx or 5xx.
        code: Stable, such as `version_conflict`; by default that of the status.
        errors: `{field, message}` of each wrong field.
        details: Additional members of the problem, as JSON.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        remedy: str | None = None,
        errors: Sequence[dict[str, Any]] | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.status = status
        self.told_code = code
        self.errors = errors
        self.details = dict(details or {})


class FieldError(BaseModel):
    """A validation error of one field of the request."""

    field: str
    """`limits.model_calls`"""
    message: str


class ProblemDetails(BaseModel):
    """The body of every error response (RFC 9457); some kinds of problems have more members."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True)

    type: str
    """`/problems/<code with dashes>`"""
    title: str
    status: int
    detail: str
    instance: str
    """The path that was asked for."""
    code: str
    retryable: bool
    trace_id: str
    retry_after: int | None = None
    """For 429 and 503: seconds after which it is worth trying again, as `Retry-After` says."""
    errors: list[FieldError] | None = None
    """The invalid fields, for 422."""


def problem(
    connection: HTTPConnection,
    status: int,
    detail: str,
    *,
    code: str | None = None,
    retryable: bool | None = None,
    retry_after_s: float | None = None,
    errors: Sequence[dict[str, Any]] | None = None,
) -> ProblemDetails:
    """Build the problem for a request that is not served.

    Args:
        code: By default that of the status.
        retryable: By default derived from the status.
    """
    code = code or _CODES.get(status, "internal_error" if status >= 500 else "bad_request")
    later = status in (429, 503)
    return ProblemDetails(
        type=f"/problems/{code.replace('_', '-')}",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=storable_text(detail),
        instance=connection.url.path,
        code=code,
        retryable=status in _RETRYABLE if retryable is None else retryable,
        trace_id=trace_id_of(connection.scope),
        retry_after=max(1, ceil(retry_after_s or _RETRY_AFTER_S)) if later else None,
        errors=None if errors is None else [FieldError.model_validate(one) for one in errors],
    )


def problem_of(connection: HTTPConnection, error: Exception) -> ProblemDetails:
    """Build the problem for an error; log it if it is an internal one."""
    if isinstance(error, Refusal):
        return _of_refusal(connection, error)
    if isinstance(error, OdaError):
        return _of_oda(connection, error)
    if isinstance(error, WrongFields):
        return _of_fields(connection, error)
    path = connection.url.path
    if isinstance(error, SQLAlchemyError):
        log.error("database_failed", path=path, reason=first_line(error))
        if is_full(error):
            return _of_oda(connection, unavailable(error, "The database"))
        return problem(connection, 503, "The database cannot be reached; try again.")
    log.error("request_broken", path=path, exc_info=error)
    return problem(connection, 500, "Something unexpected went wrong.")


async def send_problem(
    scope: Scope,
    receive: Receive,
    send: Send,
    status: int,
    detail: str,
    *,
    code: str | None = None,
    retry_after_s: float | None = None,
    headers: Mapping[str, str] | None = None,
) -> None:
    """Refuse a request before anything is done."""
    connection = HTTPConnection(scope)
    told = problem(connection, status, detail, code=code, retry_after_s=retry_after_s)
    await refuse(_response(told, headers), scope, receive, send)


async def refuse(response: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request, or a WebSocket that has not been accepted."""
    if scope["type"] == "websocket" and "websocket.http.response" not in scope.get(
        "extensions", {}
    ):
        await WebSocketClose(_POLICY_VIOLATION)(scope, receive, send)
    else:
        await response(scope, receive, send)


def refusal(connection: HTTPConnection, error: Exception) -> JSONResponse:
    """The answer to a request that ended with an error."""
    return _response(problem_of(connection, error))


def install(app: FastAPI) -> None:
    """Answer every error of `app` with a problem."""
    app.add_exception_handler(OdaError, _answer)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(SQLAlchemyError, _answer)
    app.add_exception_handler(Exception, _answer)


def status_of(error: Exception) -> int:
    """The HTTP status that tells the error."""
    if isinstance(error, Refusal):
        return error.status
    if isinstance(error, SQLAlchemyError):
        return 503
    if isinstance(error, WrongFields):
        return 422
    return next((status for cls, status in _STATUS.items() if isinstance(error, cls)), 500)


async def _answer(request: Request, error: Exception) -> JSONResponse:
    return refusal(request, error)


def _response(told: ProblemDetails, headers: Mapping[str, str] | None = None) -> JSONResponse:
    sent = dict(headers or {})
    if told.status == 401:
        sent["WWW-Authenticate"] = "Bearer"
    if told.retry_after is not None:
        sent["Retry-After"] = str(told.retry_after)
    return JSONResponse(
        told.model_dump(exclude_none=True),
        status_code=told.status,
        headers=sent,
        media_type=MEDIA_TYPE,
    )


def _of_oda(connection: HTTPConnection, error: OdaError) -> ProblemDetails:
    status = status_of(error)
    detail = str(error)
    if status == 500:
        log.error("request_failed", path=connection.url.path, reason=str(error))
        detail = "The agent cannot be loaded; the server's log says why."
    return problem(
        connection,
        status,
        detail,
        code=error.code,
        retryable=error.retryable,
        retry_after_s=getattr(error, "retry_after_s", None),
    )


def _of_refusal(connection: HTTPConnection, error: Refusal) -> ProblemDetails:
    errors = None if error.errors is None else storable(list(error.errors))
    told = problem(connection, error.status, str(error), code=error.told_code, errors=errors)
    return told.model_copy(update=storable(error.details))


def _of_fields(connection: HTTPConnection, error: WrongFields) -> ProblemDetails:
    errors = [
        {
            "field": _short(".".join(map(str, item["loc"][1:])) or str(item["loc"][0])),
            "message": _short(item["msg"]),
        }
        for item in error.errors()[:_MOST_FIELDS]
    ]
    first = errors[0]
    detail = f"{first['field']}: {first['message']}"
    return problem(connection, 422, detail, errors=errors)


def _short(text: str) -> str:
    """Truncate a text that may quote all of the input."""
    cut = text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"
    return storable_text(cut)


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    if any(item["type"] == "json_invalid" for item in error.errors()):
        return _response(problem(request, 400, "The body is not valid JSON."))
    in_body = any(item["loc"][0] == "body" for item in error.errors())
    if in_body and error.body and not _is_json(request.headers.get("content-type", "")):
        return _response(problem(request, 415, "Send the body as application/json."))
    return _response(_of_fields(request, error))


def _is_json(content_type: str) -> bool:
    """Return whether a body of this type is parsed as JSON."""
    main, _, sub = content_type.split(";")[0].strip().lower().partition("/")
    return main == "application" and (sub == "json" or sub.endswith("+json"))


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    sent = dict(error.headers or {})
    if error.status_code == 405:
        sent["Allow"] = ", ".join(sorted(_methods(request)))
    return _response(problem(request, error.status_code, str(error.detail)), sent)


def _methods(request: Request) -> set[str]:
    """All that the path of a request can be asked; its route knows only its own."""
    template = route_template(request.scope)
    routes = iter_route_contexts(request.app.routes)
    same = [route.methods or () for route in routes if route.path_format == template]
    return {method for methods in same for method in methods}


class UnexpectedErrors:
    """Answers unexpected errors, inside of the middleware that adds headers and counts requests.

    Starlette's own handler for them runs outside of all middleware.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def send_and_see(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, send_and_see)
        except Exception as error:
            if started:
                raise
            response = await _answer(Request(scope), error)
            await response(scope, receive, send)
