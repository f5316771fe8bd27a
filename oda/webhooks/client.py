"""Sends single webhooks: signed, to addresses that are checked when it connects."""

import asyncio
from types import TracebackType
from typing import Self

import httpcore
import httpx

from oda.public_network.addresses import AddressRules, is_plainly_private
from oda.public_network.connection import GuardedNetwork, Resolve, resolve
from oda.public_network.errors import (
    AddressNotAllowedError,
    UnknownHostError,
    UrlNotPlainError,
)
from oda.public_network.urls import parse_url
from oda.webhooks.signature import signed_headers

ATTEMPT_S = 15.0
"""Time limit of an attempt."""
_CONNECT_S = 10.0
_AT_ONCE = 32
_LONGEST_WAIT_S = 3_600.0
_FAILURES = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.TimeoutException,
    httpcore.UnsupportedProtocol,
    TimeoutError,
    OSError,
)


class NotSentError(Exception):
    """Raised when a message could not be sent.

    Args:
        problem: For people to read.
        is_final: Whether another attempt would fail as well.
        retry_after_s: For how long the receiver wants to be left alone.
    """

    def __init__(self, problem: str, *, is_final: bool = False, retry_after_s: float = 0.0) -> None:
        super().__init__(problem)
        self.problem = problem
        self.is_final = is_final
        self.retry_after_s = retry_after_s


def checked_url(text: str, *, allow_private: bool) -> str:
    """Return a URL for webhooks, normalised.

    Raises:
        ValueError: it is no plain URL, or its host is private as it is written.
    """
    url = parse_url(text)
    if not allow_private and is_plainly_private(url.raw_host.decode("ascii")):
        raise ValueError(f"{url.host} is no public address")
    return str(url)


class WebhookClient:
    """An async context manager that holds the connections.

    Args:
        allow_private: Whether addresses may be reached that are not public.
        resolve: Replaces the system's name resolution.
    """

    def __init__(self, *, allow_private: bool, resolve: Resolve = resolve) -> None:
        self._network = GuardedNetwork(
            AddressRules(any_port=True, any_address=allow_private),
            resolve=resolve,
            connect_s=_CONNECT_S,
        )
        self._pool: httpcore.AsyncConnectionPool | None = None

    async def __aenter__(self) -> Self:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=await asyncio.to_thread(httpx.create_ssl_context),
            max_connections=_AT_ONCE,
            max_keepalive_connections=0,
            network_backend=self._network,
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            await self._pool.aclose()

    async def send(
        self, url: str, secret: str, message_id: str, timestamp: int, body: bytes
    ) -> None:
        """Send a message once; redirects are not followed, and the answer is not read.

        Raises:
            NotSentError: it was refused, nobody answers, or the address may not be reached.
        """
        headers = signed_headers(secret, message_id, timestamp, body)
        try:
            async with asyncio.timeout(ATTEMPT_S):
                status, answered = await self._post(parse_url(url), headers, body)
        except UrlNotPlainError as error:
            raise NotSentError(str(error), is_final=True) from error
        except AddressNotAllowedError as error:
            raise NotSentError("the webhook's address is not public", is_final=True) from error
        except UnknownHostError as error:
            raise NotSentError(str(error)) from error
        except _FAILURES as error:
            raise NotSentError("the webhook's address cannot be reached") from error
        if not 200 <= status < 300:
            raise NotSentError(
                f"the webhook's address answered {status}",
                is_final=status == httpx.codes.GONE,
                retry_after_s=_wait_of(answered),
            )

    async def _post(
        self, url: httpx.URL, signed: dict[str, str], body: bytes
    ) -> tuple[int, httpx.Headers]:
        assert self._pool is not None
        headers: dict[bytes | str, bytes | str] = {
            "Host": url.netloc,
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            "User-Agent": "oda-webhooks/1.0",
        }
        headers.update(signed)
        async with self._pool.stream(
            "POST",
            httpcore.URL(
                scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
            ),
            headers=headers,
            content=body,
        ) as response:
            return response.status, httpx.Headers(response.headers)


def _wait_of(headers: httpx.Headers) -> float:
    """Return how many seconds `Retry-After` asks for; 0 if it names none."""
    value = headers.get("retry-after", "")
    if not (value.isascii() and value.isdecimal() and len(value) < 10):
        return 0.0
    return min(float(value), _LONGEST_WAIT_S)
