"""Models called by one HTTP POST, without a client library.

A call costs a fifth of one through LiteLLM. Unlike the providers' own clients, which make a typed
copy of all messages, it does not get slower as the history grows. Calls are not retried here.
"""

import asyncio
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager
from functools import cache
from typing import Any, Protocol
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakKeyDictionary

from aiohttp import ClientResponse, ClientSession, ClientTimeout, FormData, TCPConnector
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from pydantic import Field, SecretStr
from pydantic_core import from_json, to_json

from oda.errors import IncompleteAnswerError, MalformedAnswerError

_MOST_ERROR_BYTES = 64 * 2**10


class ModelCallError(Exception):
    """Raised when a server rejects a call, or reports an error within an answer."""

    def __init__(self, message: str, status_code: int, headers: Mapping[str, str]) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.headers = headers


_ERRORS: Mapping[int, type[ModelCallError]] = {
    status: type(name, (ModelCallError,), {})
    for status, name in (
        (400, "BadRequestError"),
        (401, "AuthenticationError"),
        (402, "PaymentRequiredError"),
        (403, "PermissionDeniedError"),
        (404, "NotFoundError"),
        (408, "RequestTimeoutError"),
        (409, "ConflictError"),
        (413, "RequestTooLargeError"),
        (422, "UnprocessableEntityError"),
        (429, "RateLimitError"),
        (500, "InternalServerError"),
        (502, "BadGatewayError"),
        (503, "ServiceUnavailableError"),
        (504, "GatewayTimeoutError"),
        (529, "OverloadedError"),
    )
}
"""Exception classes by HTTP status, named as in the providers' clients so that people can look
them up."""

_STATUS_IN_STREAM = {
    "authentication_error": 401,
    "billing_error": 402,
    "context_length_exceeded": 400,
    "insufficient_quota": 429,
    "invalid_request_error": 400,
    "not_found_error": 404,
    "overloaded_error": 529,
    "permission_error": 403,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "request_too_large": 413,
    "timeout_error": 504,
}
"""HTTP statuses equivalent to errors within a stream, by error type or code."""


class Answering(Protocol):
    """Accumulates one answer from its chunks."""

    @property
    def finish_reason(self) -> str | None:
        """The provider's finish reason; None until the provider has completed the answer."""

    def add(self, chunk: Mapping[str, Any], /) -> None:
        """Add a chunk of a stream, or a whole body."""

    def preview(self) -> LlmResponse | None:
        """Return the text received since the last preview, or None."""

    def response(self) -> LlmResponse:
        """Return the whole answer, with an error code if it was cut off, filtered or malformed."""


class HttpModel(BaseLlm):
    """Base class of models called by one POST. Callers must set a time limit."""

    api_base: str
    api_key: SecretStr | None = Field(default=None, exclude=True)
    headers: Mapping[str, str] = Field(default={}, exclude=True)
    params: Mapping[str, Any] = {}
    """Default fields of the body; fields of a request take precedence."""

    @property
    @abstractmethod
    def url(self) -> str:
        """The URL to post calls to."""

    @abstractmethod
    def credentials(self) -> Mapping[str, str]:
        """Return the headers that authorize a call."""

    @abstractmethod
    def prepare(self, request: LlmRequest, *, stream: bool) -> tuple[dict[str, Any], Answering]:
        """Return the body of a call and the accumulator for its answer."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield partial text as it arrives if streaming, then the whole answer.

        Raises:
            ModelCallError: the server rejected the call or reported an error.
            IncompleteAnswerError: the answer ended without a finish reason.
            MalformedAnswerError: the answer is not JSON.
            aiohttp.ClientError: the connection failed.
        """
        self._maybe_append_user_content(llm_request)
        body, answer = self.prepare(llm_request, stream=stream)
        content = to_json({**self.params, **body}, serialize_unknown=True)
        options = llm_request.config.http_options
        headers = {
            "content-type": "application/json",
            "accept-encoding": "identity",  # compression would delay chunks
            **((options and options.headers) or {}),
        }
        async with self.sent(self.url, content, headers) as response:
            if stream:
                async with aclosing(_chunks(response)) as batches:
                    async for batch in batches:
                        for chunk in batch:
                            _raise_reported_error(chunk)
                            answer.add(chunk)
                        if preview := answer.preview():
                            yield preview
            else:
                answer.add(await whole_body(response))
        if answer.finish_reason is None:
            raise IncompleteAnswerError("The model's answer ended before it was complete.")
        yield answer.response()

    @asynccontextmanager
    async def sent(
        self, url: str, data: bytes | FormData, headers: Mapping[str, str]
    ) -> AsyncIterator[ClientResponse]:
        """Post data and yield the response when its headers have arrived.

        Raises:
            ModelCallError: the server rejected the call.
        """
        headers = {**self.credentials(), **self.headers, **headers}
        address = urlsplit(url)
        post = http_client().post(
            url,
            data=data,
            headers=headers,
            proxy=_proxy_for(address.scheme, address.hostname or ""),
            allow_redirects=False,  # a redirect would send the key to another host
        )
        async with post as response:
            if response.status >= 300:
                raise await _read_error(response)
            yield response


async def whole_body(response: ClientResponse) -> dict[str, Any]:
    """Read a response that is not streamed.

    Raises:
        ModelCallError: the response reports an error.
        MalformedAnswerError: the response is not a JSON object.
    """
    body = _parse_object(await response.read())
    _raise_reported_error(body)
    return body


async def _chunks(response: ClientResponse) -> AsyncGenerator[list[dict[str, Any]], None]:
    """Yield the chunks of a stream, batching those that arrived together.

    Under load the socket's buffer holds several, which are then handled as one event.
    """
    rest = b""
    async for received in response.content.iter_any():
        *lines, rest = (rest + received).split(b"\n")
        yield list(_parse_lines(lines))
    yield list(_parse_lines([rest]))


def _parse_lines(lines: list[bytes]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if line.startswith(b"data:"):
            data = line[5:].strip()
            if data and data != b"[DONE]":
                yield _parse_object(data)


def _parse_object(data: bytes) -> dict[str, Any]:
    try:
        value = from_json(data)
    except ValueError as error:
        raise MalformedAnswerError("The model's server sent what is not JSON.") from error
    if not isinstance(value, dict):
        raise MalformedAnswerError("The model's server sent JSON that is not an object.")
    return value


def _raise_reported_error(chunk: Mapping[str, Any]) -> None:
    """Raise the error that a server reports within a response of status 200."""
    reported = chunk.get("error")
    if not reported:
        return
    fields = reported if isinstance(reported, dict) else {"message": reported}
    words = [str(fields.get(name)) for name in ("code", "type")]
    known = (_STATUS_IN_STREAM.get(word) or _parse_status(word) for word in words)
    raise _make_error(next(filter(None, known), 500), fields, {})


def _parse_status(word: str) -> int | None:
    return int(word) if word.isdigit() and 400 <= int(word) <= 599 else None


async def _read_error(response: ClientResponse) -> ModelCallError:
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > _MOST_ERROR_BYTES:
            break
    try:
        parsed = from_json(bytes(body))
    except ValueError:  # for example a proxy's error page
        parsed = None
    reported = parsed.get("error", parsed) if isinstance(parsed, dict) else None
    fields = reported if isinstance(reported, dict) else {"message": reported}
    if not fields.get("message"):
        fields = {"message": f"The model's server answered with status {response.status}."}
    return _make_error(response.status, fields, response.headers)


def _make_error(
    status: int, fields: Mapping[str, Any], headers: Mapping[str, str]
) -> ModelCallError:
    kind = _ERRORS.get(status) or _ERRORS[500 if status >= 500 else 400]
    code = fields.get("code")
    message = str(fields.get("message") or "The model's server reported an error.")
    # `classify` recognizes overflows and policy errors by words, which may be in the code only.
    named = f"{message} ({code})" if isinstance(code, str) and code not in message else message
    return kind(named, status, headers)


_Sessions = dict[bool, ClientSession]

_sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, _Sessions] = WeakKeyDictionary()
"""Client sessions by event loop and `trust_env`."""


def http_client(*, trust_env: bool = False) -> ClientSession:
    """Return the client session of this event loop, shared by all models.

    Args:
        trust_env: Whether aiohttp looks for a proxy itself, in a thread at each call (0.5 ms of
            CPU), and for a password in `~/.netrc`, which conflicts with an authorization header.
    """
    sessions = _sessions.setdefault(asyncio.get_running_loop(), {})
    if trust_env not in sessions:
        unlimited = TCPConnector(limit=0)
        sessions[trust_env] = ClientSession(
            connector=unlimited, timeout=ClientTimeout(total=None), trust_env=trust_env
        )
    return sessions[trust_env]


async def close_connections() -> None:
    """Close the connections of this event loop."""
    for session in _sessions.pop(asyncio.get_running_loop(), {}).values():
        await session.close()


@cache
def _proxy_for(scheme: str, host: str) -> str | None:
    """Return the proxy for a host according to the environment, if any."""
    return None if proxy_bypass(host) else getproxies().get(scheme)
