"""The target of an attack, and raw connections to it."""

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from scripts.soaking.server import Soaked

GRACE_S = 30.0
"""Tolerance for deadlines on a busy machine, in seconds."""
_ESTABLISHED = 1
"""Value of the connection state ESTABLISHED in Linux' `tcp_info`."""
_LOOK_EVERY_S = 0.5


class Finding(Exception):
    """Raised when an attack does not have the expected outcome."""


@dataclass(frozen=True)
class Patience:
    """The server's timeouts for slow clients, as set in its settings."""

    head_s: float
    body_s: float
    stall_s: float


@dataclass(frozen=True)
class Target:
    """The server, the attacker's account, and the data of a victim."""

    soaked: Soaked
    patience: Patience
    attacker: str
    session: str
    """Id of a session of the attacker with the assistant."""
    victim: str
    victims_session: str
    victims_turn: str
    secret: str
    """Text contained in all data of the victim; no answer to the attacker may contain it."""

    def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        *,
        length: int | None = None,
        as_attacker: bool = True,
    ) -> bytes:
        """Return the bytes of an HTTP request.

        Args:
            length: The announced length of the body, by default its actual one.
        """
        known = {"Host": f"127.0.0.1:{self.soaked.port}", "Connection": "close"}
        if as_attacker:
            known |= self.soaked.headers(self.attacker)
        if body or length is not None:
            known |= {"Content-Type": "application/json"}
            known |= {"Content-Length": str(len(body) if length is None else length)}
        lines = [f"{name}: {value}" for name, value in {**known, **(headers or {})}.items()]
        head = "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""])
        return head.encode("latin-1", "replace") + body

    async def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        *,
        expect: Collection[int],
        as_attacker: bool = True,
    ) -> bytes:
        """Send a request and return the body of the answer.

        Raises:
            Finding: the status is not in `expect`, or the answer contains the secret.
        """
        async with connected(self) as wire:
            await wire.send(self.request(method, path, body, headers, as_attacker=as_attacker))
            answer = await wire.answer()
        status = status_of(answer)
        if status not in expect:
            raise Finding(f"{method} {path[:200]} is answered by {status}: {answer[-300:]!r}")
        if b"Traceback" in answer or self.secret.encode() in answer:
            raise Finding(f"{method} {path[:200]} tells {answer[-300:]!r}")
        return answer.partition(b"\r\n\r\n")[2]


class Wire:
    """A raw TCP connection."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    async def send(self, data: bytes) -> bool:
        """Send data; return False if the server has closed the connection."""
        try:
            async with asyncio.timeout(GRACE_S):
                await asyncio.get_running_loop().sock_sendall(self._socket, data)
        except (OSError, TimeoutError):
            return False
        return True

    async def read(self, within_s: float, most: int = 2**16) -> bytes | None:
        """Return the next bytes: empty at the end of the stream, None if none arrive in time."""
        try:
            async with asyncio.timeout(within_s):
                return await asyncio.get_running_loop().sock_recv(self._socket, most)
        except TimeoutError:
            return None
        except OSError:
            return b""

    async def answer(self, within_s: float = 60.0) -> bytes:
        """Return everything up to the end of the connection.

        Raises:
            Finding: the server does not close the connection in time.
        """
        read = b""
        while piece := await self.read(within_s):
            read += piece
        if piece is None:
            raise Finding(f"nothing more has come for {within_s:.0f} s behind {read[-200:]!r}")
        return read

    async def ends_within(self, seconds: float) -> bool:
        """Return whether the server closes the connection in time, without reading from it."""
        for _ in range(int(seconds / _LOOK_EVERY_S) + 1):
            if self._state() != _ESTABLISHED:
                return True
            await asyncio.sleep(_LOOK_EVERY_S)
        return False

    def reset(self) -> None:
        """Reset the connection."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()

    def _state(self) -> int:
        return self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]


@asynccontextmanager
async def connected(target: Target, *, receive_buffer: int | None = None) -> AsyncIterator[Wire]:
    """Open a connection to the server; reset it at the end."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setblocking(False)
    if receive_buffer is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    wire = Wire(sock)
    try:
        async with asyncio.timeout(GRACE_S):
            await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", target.soaked.port))
        yield wire
    except (OSError, TimeoutError) as error:
        raise Finding(f"there is no connection: {error!r}") from error
    finally:
        if sock.fileno() >= 0:
            wire.reset()


def status_of(answer: bytes) -> int:
    """Return the status of a raw answer; 0 if there is none."""
    parts = answer.partition(b"\r\n")[0].split()
    return int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else 0


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()
