"""Documents from the web: redirects followed one by one, sizes and times bounded.

Nothing is sent but the request: no cookies, no credentials, no proxy of the environment.
"""

import asyncio
import zlib
from collections.abc import AsyncIterable
from email.message import Message
from types import TracebackType
from typing import Self

import httpcore
import httpx

from mcp_tools.web.errors import (
    AddressRefusedError,
    PageTooLargeError,
    PageTypeError,
    PageUnavailableError,
    RedirectError,
)
from mcp_tools.web.limits import WebLimits
from mcp_tools.web.pace import Pace
from mcp_tools.web.reader import Document, kind_of
from mcp_tools.web.urls import join_url
from oda.public_network.connection import GuardedNetwork
from oda.public_network.errors import AddressNotAllowedError, UnknownHostError

USER_AGENT = "oda-research/1.0 (reads single pages on behalf of a person)"
MAX_REDIRECTS = 5

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_FAILURES = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.TimeoutException,
    httpcore.UnsupportedProtocol,
)


class Downloader:
    """An async context manager that holds the connections."""

    def __init__(self, network: GuardedNetwork, pace: Pace, limits: WebLimits) -> None:
        self._pace = pace
        self._limits = limits
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=httpx.create_ssl_context(),
            max_connections=4 * limits.pages_at_once,
            max_keepalive_connections=limits.pages_at_once,
            keepalive_expiry=5.0,
            network_backend=network,
        )

    async def __aenter__(self) -> Self:
        await self._pool.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._pool.__aexit__(kind, error, traceback)

    async def get(self, url: httpx.URL) -> Document:
        """Fetch a parsed URL and where it leads.

        Raises:
            PageError: see the tree of errors.
            BusyError: when a host has been asked too often.
        """
        try:
            async with asyncio.timeout(self._limits.page_s):
                return await self._follow(url)
        except TimeoutError as error:
            raise PageUnavailableError(
                f"{url.host} did not answer in full within {self._limits.page_s:g} s"
            ) from error
        except AddressNotAllowedError as error:
            raise AddressRefusedError(error.host, error.port) from error
        except UnknownHostError as error:
            raise PageUnavailableError(str(error)) from error
        except _FAILURES as error:
            reason = str(error)[:200] or type(error).__name__
            raise PageUnavailableError(f"{url.host} does not answer: {reason}") from error

    async def _follow(self, url: httpx.URL) -> Document:
        for _ in range(MAX_REDIRECTS + 1):
            await self._pace.turn(url.host.rstrip("."))
            answer = await self._ask(url)
            if isinstance(answer, Document):
                return answer
            url = answer
        raise RedirectError(f"the page leads on more than {MAX_REDIRECTS} times: give its end")

    async def _ask(self, url: httpx.URL) -> Document | httpx.URL:
        """The document, or where to look for it."""
        silence_s = self._limits.silence_s
        async with self._pool.stream(
            "GET",
            httpcore.URL(
                scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
            ),
            headers={
                "Host": url.netloc,
                "User-Agent": USER_AGENT,
                "Accept": "text/html, application/xhtml+xml, text/*;q=0.9, application/*;q=0.8",
                "Accept-Encoding": "gzip",
            },
            extensions={"timeout": {"read": silence_s, "write": silence_s, "pool": silence_s}},
        ) as response:
            headers = httpx.Headers(response.headers)
            if response.status in _REDIRECTS and "location" in headers:
                return join_url(url, headers["location"])
            if not 200 <= response.status < 300:
                raise PageUnavailableError(f"{url} answers with the status {response.status}")
            declared = Message()
            declared["content-type"] = headers.get("content-type", "application/octet-stream")
            media_type = declared.get_content_type()[:100]
            kind = kind_of(media_type)
            if kind is None:
                raise PageTypeError(
                    f"{url} is {media_type}: only HTML, text, JSON, XML and PDF can be read"
                )
            body = await _body(response.aiter_stream(), headers, self._limits.page_bytes)
            return Document(str(url), media_type, kind, declared.get_content_charset(), body)


async def _body(chunks: AsyncIterable[bytes], headers: httpx.Headers, limit: int) -> bytes:
    """The body, unpacked no further than the limit."""
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip", "deflate"):
        raise PageUnavailableError(f"the page is packed as {encoding!r}, which was not asked for")
    unpack = None if encoding == "identity" else zlib.decompressobj(zlib.MAX_WBITS | 32)
    body = bytearray()
    async for chunk in chunks:
        if unpack is None:
            body += chunk
        else:
            try:
                body += unpack.decompress(chunk, limit + 1 - len(body))
            except zlib.error as error:
                raise PageUnavailableError("the page is packed in a damaged way") from error
        if len(body) > limit:
            raise PageTooLargeError(limit)
        if unpack is not None and unpack.eof:  # it would keep whatever else it is given
            break
    return bytes(body)
