"""Models that are reached by one POST over a bare HTTP stream, without a client library.

A bare stream costs a fifth of a call through LiteLLM, and does not grow with the history as the
providers' own clients do, which make a typed copy of all messages. Nothing is sent twice.
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
    """Raised when a server refuses a call, or reports an error inside an answer."""

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
"""By the names that the providers' clients give them, since people look these up."""

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
"""HTTP statuses of errors that come after a stream has begun, by their type or code."""


class Answering(Protocol):
    """One answer, put together from its pieces as they come."""

    @property
    def finish_reason(self) -> str | None:
        """In the provider's word; None until the provider has said that the answer is complete."""

    def add(self, chunk: Mapping[str, Any], /) -> None:
        """Take a chunk of a stream, or a whole body."""

    def preview(self) -> LlmResponse | None:
        """Return the text that has come since the last preview; None if there is none."""

    def response(self) -> LlmResponse:
        """Return the whole answer, with an error code if it is cut off, filtered or malformed."""


class HttpModel(BaseLlm):
    """A model behind one POST. Its caller limits the time of a call."""

    api_base: str
    api_key: SecretStr | None = Field(default=None, exclude=True)
    headers: Mapping[str, str] = Field(default={}, exclude=True)
    params: Mapping[str, Any] = {}
    """Fields of the body that every call gets; what a request sets itself goes first."""

    @property
    @abstractmethod
    def url(self) -> str:
        """Where calls are sent."""

    @abstractmethod
    def credentials(self) -> Mapping[str, str]:
        """Return the headers that a call is allowed by."""

    @abstractmethod
    def prepare(self, request: LlmRequest, *, stream: bool) -> tuple[dict[str, Any], Answering]:
        """Return the body of a call, and what takes its answer."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield previews of the text as it comes, then the whole answer.

        Raises:
            ModelCallError: the server refused the call or reported an error.
            IncompleteAnswerError: the answer ended without a finish reason.
            MalformedAnswerError: what came is not JSON.
            aiohttp.ClientError: the connection failed.
        """
        self._maybe_append_user_content(llm_request)
        body, answer = self.prepare(llm_request, stream=stream)
        content = to_json({**self.params, **body}, serialize_unknown=True)
        options = llm_request.config.http_options
        headers = {
            "content-type": "application/json",
            "accept-encoding": "identity",  # a compressed stream comes in larger, later pieces
            **((options and options.headers) or {}),
        }
        async with self.sent(self.url, content, headers) as response:
            if stream:
                async with aclosing(_chunks(response)) as batches:
                    async for batch in batches:
                        for chunk in batch:
                            _check(chunk)
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
        """Post the data and yield the answer as it begins.

        Raises:
            ModelCallError: the server refused the call.
        """
        headers = {**self.credentials(), **self.headers, **headers}
        address = urlsplit(url)
        post = http_client().post(
            url,
            data=data,
            headers=headers,
            proxy=_proxy_for(address.scheme, address.hostname or ""),
            allow_redirects=False,  # another host would get the key
        )
        async with post as response:
            if response.status >= 300:
                raise await _refusal(response)
            yield response


async def whole_body(response: ClientResponse) -> dict[str, Any]:
    """Read an answer that is not streamed.

    Raises:
        ModelCallError: it reports an error.
        MalformedAnswerError: it is not JSON.
    """
    body = _parsed(await response.read())
    _check(body)
    return body


async def _chunks(response: ClientResponse) -> AsyncGenerator[list[dict[str, Any]], None]:
    """Yield the chunks of a stream, together those that came together.

    Under load several lie in the socket's buffer; what handles them afterwards has the work of one.
    """
    rest = b""
    async for received in response.content.iter_any():
        *lines, rest = (rest + received).split(b"\n")
        yield list(_events(lines))
    yield list(_events([rest]))


def _events(lines: list[bytes]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if line.startswith(b"data:"):
            data = line[5:].strip()
            if data and data != b"[DONE]":
                yield _parsed(data)


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        value = from_json(data)
    except ValueError as error:
        raise MalformedAnswerError("The model's server sent what is not JSON.") from error
    if not isinstance(value, dict):
        raise MalformedAnswerError("The model's server sent JSON that is not an object.")
    return value


def _check(chunk: Mapping[str, Any]) -> None:
    """Raise the error that a server reports in an answer that it began with status 200."""
    reported = chunk.get("error")
    if not reported:
        return
    fields = reported if isinstance(reported, dict) else {"message": reported}
    words = [str(fields.get(name)) for name in ("code", "type")]
    known = (_STATUS_IN_STREAM.get(word) or _as_status(word) for word in words)
    raise _error(next(filter(None, known), 500), fields, {})


def _as_status(word: str) -> int | None:
    return int(word) if word.isdigit() and 400 <= int(word) <= 599 else None


async def _refusal(response: ClientResponse) -> ModelCallError:
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > _MOST_ERROR_BYTES:
            break
    try:
        parsed = from_json(bytes(body))
    except ValueError:  # a proxy's page
        parsed = None
    reported = parsed.get("error", parsed) if isinstance(parsed, dict) else None
    fields = reported if isinstance(reported, dict) else {"message": reported}
    if not fields.get("message"):
        fields = {"message": f"The model's server answered with status {response.status}."}
    return _error(response.status, fields, response.headers)


def _error(status: int, fields: Mapping[str, Any], headers: Mapping[str, str]) -> ModelCallError:
    kind = _ERRORS.get(status) or _ERRORS[500 if status >= 500 else 400]
    code = fields.get("code")
    message = str(fields.get("message") or "The model's server reported an error.")
    # Policies and overflows are told apart by words; some servers put them into the code alone.
    named = f"{message} ({code})" if isinstance(code, str) and code not in message else message
    return kind(named, status, headers)


_Sessions = dict[bool, ClientSession]

_sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, _Sessions] = WeakKeyDictionary()
"""Of each event loop, by whether they read proxies from the environment themselves."""


def http_client(*, trust_env: bool = False) -> ClientSession:
    """Return the connections of this event loop, shared by all models.

    Args:
        trust_env: Have aiohttp look for a proxy, in a thread and at each call (0.5 ms of CPU), and
            for a password in `~/.netrc`, which no call with a key can be combined with.
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
    """Return the proxy that the environment names for a host."""
    return None if proxy_bypass(host) else getproxies().get(scheme)
