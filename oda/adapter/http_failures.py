"""HTTP failures noted where they happen, since ADK passes on only words about them."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

import httpx

TIMEOUT_S = 120.0
"""Without any byte of an answer: agents take their time."""

Failures = list[httpx.HTTPError]

_noted: ContextVar[Failures | None] = ContextVar("oda_http_failures", default=None)


@contextmanager
def noting(failures: Failures) -> Iterator[None]:
    """Have the requests of the running task, and of what it starts, note why they fail."""
    token = _noted.set(failures)
    try:
        yield
    finally:
        _noted.reset(token)


def noting_client(
    *, timeout_s: float = TIMEOUT_S, headers: Mapping[str, str] | None = None
) -> httpx.AsyncClient:
    """A client that notes failed connections, cut off answers and error statuses."""
    transport = _NotingTransport(httpx.AsyncHTTPTransport())
    return httpx.AsyncClient(transport=transport, timeout=timeout_s, headers=headers)


class _NotingTransport(httpx.AsyncBaseTransport):
    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        try:
            response = await self._inner.handle_async_request(request)
        except httpx.HTTPError as error:
            _note(error)
            raise
        if response.is_error:
            words = f"{request.url.host} answers with HTTP {response.status_code}"
            _note(httpx.HTTPStatusError(words, request=request, response=response))
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = _NotingStream(response.stream)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _NotingStream(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._inner:
                yield chunk
        except httpx.HTTPError as error:
            _note(error)
            raise

    async def aclose(self) -> None:
        await self._inner.aclose()


def _note(error: httpx.HTTPError) -> None:
    if (failures := _noted.get()) is not None:
        failures.append(error)
