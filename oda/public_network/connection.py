"""Connections that reach only addresses that were checked.

A name is resolved here, its addresses are checked, and the connection is made to one of the very
addresses that passed. A name that resolves to something else a moment later changes nothing.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence

import httpcore

from oda.public_network.addresses import AddressRules
from oda.public_network.errors import AddressNotAllowedError, UnknownHostError

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Resolves a host and a port to addresses, best first; raises OSError if there are none."""

MOST_ADDRESSES = 4


async def resolve(host: str, port: int) -> Sequence[str]:
    """Ask the system."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class GuardedNetwork(httpcore.AsyncNetworkBackend):
    """Network backend of an httpcore pool that checks addresses when it connects."""

    def __init__(self, rules: AddressRules, *, resolve: Resolve, connect_s: float) -> None:
        self._rules = rules
        self._resolve = resolve
        self._connect_s = connect_s
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first permitted address that answers.

        Raises:
            AddressNotAllowedError: when none is permitted.
            UnknownHostError: when the name is unknown.
            httpcore.ConnectError, httpcore.ConnectTimeout: when none answers.
        """
        addresses = await self._permitted(host, port)
        for address in addresses[:-1]:
            try:
                return await self._connect(address, port)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._connect(addresses[-1], port)

    async def _permitted(self, host: str, port: int) -> Sequence[str]:
        try:
            addresses = await self._resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise UnknownHostError(host) from error
        permitted = [each for each in addresses if self._rules.permit(host, each, port)]
        if not permitted:
            raise AddressNotAllowedError(host, port)
        return permitted[:MOST_ADDRESSES]

    async def _connect(self, address: str, port: int) -> httpcore.AsyncNetworkStream:
        return await self._network.connect_tcp(address, port, timeout=self._connect_s)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Nobody is there."""
        raise NotImplementedError

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
