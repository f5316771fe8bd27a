"""Errors in the shapes of A2A: each as one of its kinds, with the status that other faces send."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from a2a.utils.error_handlers import build_rest_error_payload
from a2a.utils.errors import (
    A2AError,
    InternalError,
    InvalidParamsError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from oda.server.problems import problem_of

_KEY = "oda_a2a_refusal"
_KINDS: Mapping[int, type[A2AError]] = {
    404: TaskNotFoundError,
    409: UnsupportedOperationError,
    **dict.fromkeys((400, 413, 415, 422), InvalidParamsError),
}
_NAMES: Mapping[int, str] = {
    404: "NOT_FOUND",
    409: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    **dict.fromkeys((400, 413, 415, 422), "INVALID_ARGUMENT"),
}
"""As Google's APIs name statuses, whose form of errors HTTP+JSON has."""


@dataclass(frozen=True)
class _Refusal:
    error: A2AError
    status: int
    retry_after: int | None = None


def refused(request: Request, error: A2AError, status: int) -> A2AError:
    """Note the HTTP status of an error that is raised then."""
    request.scope[_KEY] = _Refusal(error, status)
    return error


@contextmanager
def in_protocol(request: Request) -> Iterator[None]:
    """Raise what goes wrong as an error of A2A, without what is for us only."""
    try:
        yield
    except A2AError:
        raise
    except Exception as error:
        told = problem_of(request, error)
        data = {"code": told.code, "retryable": told.retryable, "traceId": told.trace_id}
        kind = _KINDS.get(told.status, InternalError)(told.detail, data)
        request.scope[_KEY] = _Refusal(kind, told.status, told.retry_after)
        raise kind from error


def as_http(request: Request, response: Response) -> Response:
    """Return the response of HTTP+JSON with the status of the refusal, if there was one."""
    refusal: _Refusal | None = request.scope.get(_KEY)
    if refusal is None:
        return response
    payload = build_rest_error_payload(refusal.error)
    payload["error"]["code"] = refusal.status
    payload["error"]["status"] = _NAMES.get(refusal.status, "INTERNAL")
    return JSONResponse(payload, status_code=refusal.status, headers=_headers(refusal))


def as_rpc(request: Request, response: Response) -> Response:
    """Return the response of JSON-RPC.

    Its clients read errors of A2A's kinds only with status 200; for the others the status counts.
    """
    refusal: _Refusal | None = request.scope.get(_KEY)
    if refusal is not None and isinstance(refusal.error, InternalError):
        response.status_code = refusal.status
        response.headers.update(_headers(refusal))
    return response


def _headers(refusal: _Refusal) -> dict[str, str]:
    return {} if refusal.retry_after is None else {"Retry-After": str(refusal.retry_after)}
