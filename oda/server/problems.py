"""Errors as RFC 9457 problem documents: a stable type, never a stack trace."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException

from oda.errors import (
    AgentLoadError,
    ConfigurationError,
    ConflictError,
    InvalidRequestError,
    NotFoundError,
    OdaError,
    OverloadedError,
    StaleStateError,
    UnavailableError,
)
from oda.server.trace import trace_id_of
from oda.telemetry import get_logger

log = get_logger(__name__)

MEDIA_TYPE = "application/problem+json"
_RETRY_AFTER_S = 5

_STATUS: Mapping[type[OdaError], int] = {
    AgentLoadError: 500,
    StaleStateError: 412,
    InvalidRequestError: 422,
    NotFoundError: 404,
    ConflictError: 409,
    OverloadedError: 429,
    UnavailableError: 503,
    ConfigurationError: 500,
}
"""More special classes first."""

_CODES: Mapping[int, str] = {
    400: "malformed",
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    412: "stale_state",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid_request",
    503: "unavailable",
}


class Problem(BaseModel):
    """The body of every error."""

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
    errors: list[dict[str, Any]] | None = None
    """For 422: `{field, message}` of each wrong field."""


def problem_response(
    request: Request,
    status: int,
    detail: str,
    *,
    code: str | None = None,
    retryable: bool = False,
    retry_after_s: float | None = None,
    errors: Sequence[dict[str, Any]] | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """The answer to a request that was not served."""
    code = code or _CODES.get(status, "internal_error" if status >= 500 else "bad_request")
    problem = Problem(
        type=f"/problems/{code.replace('_', '-')}",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        instance=request.url.path,
        code=code,
        retryable=retryable,
        trace_id=trace_id_of(request.scope),
        errors=list(errors) if errors is not None else None,
    )
    sent = dict(headers or {})
    if status in (429, 503):
        sent["Retry-After"] = str(max(1, round(retry_after_s or _RETRY_AFTER_S)))
    return JSONResponse(
        problem.model_dump(exclude_none=True),
        status_code=status,
        headers=sent,
        media_type=MEDIA_TYPE,
    )


def install(app: FastAPI) -> None:
    """Answer every error of `app` with a problem."""
    app.add_exception_handler(OdaError, _oda_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(SQLAlchemyError, _database)
    app.add_exception_handler(Exception, _unexpected)


async def _oda_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, OdaError)
    status = next((s for cls, s in _STATUS.items() if isinstance(error, cls)), 500)
    detail = str(error)
    if status == 500:
        log.error("request_failed", path=request.url.path, exc_info=error)
        detail = "The agent cannot be loaded; the server's log says why."
    return problem_response(
        request,
        status,
        detail,
        code=error.code,
        retryable=error.retryable,
        retry_after_s=getattr(error, "retry_after_s", None),
    )


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    errors = [
        {
            "field": ".".join(str(step) for step in item["loc"][1:]) or str(item["loc"][0]),
            "message": item["msg"],
        }
        for item in error.errors()
    ]
    if any(item["type"] == "json_invalid" for item in error.errors()):
        return problem_response(request, 400, "The body is not valid JSON.")
    content_type = request.headers.get("content-type", "").split(";")[0].strip()
    if request.method != "GET" and content_type and not content_type.endswith("json"):
        return problem_response(request, 415, "Send the body as application/json.")
    first = errors[0]
    return problem_response(request, 422, f"{first['field']}: {first['message']}", errors=errors)


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return problem_response(request, error.status_code, str(error.detail), headers=error.headers)


async def _database(request: Request, error: Exception) -> JSONResponse:
    log.error("database_failed", path=request.url.path, exc_info=error)
    return problem_response(
        request, 503, "The database cannot be reached; try again.", retryable=True
    )


async def _unexpected(request: Request, error: Exception) -> JSONResponse:
    log.error("request_broken", path=request.url.path, exc_info=error)
    return problem_response(request, 500, "Something unexpected went wrong.")
