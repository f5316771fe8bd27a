"""How often a client may come, and how much it may keep open."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oda.errors import OverloadedError
from oda.server.problems import send_problem
from oda.server.rate_window import RateWindow

_TRY_AGAIN_S = 5.0

_CREDENTIALS = frozenset({b"authorization", b"sec-websocket-protocol"})
"""Headers in which a credential comes."""

KeyOf = Callable[[Scope], str | None]
"""Whom a request counts for; None when it does not count."""


class RateLimit:
    """Answers 429 to users who come too often, before anything is done for them."""

    def __init__(self, app: ASGIApp, *, window: RateWindow, key: KeyOf) -> None:
        self._app = app
        self._window = window
        self._key = key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = None if scope["type"] == "lifespan" else self._key(scope)
        if key is not None and (wait := await self._window.hit(key)):
            detail = "Too many requests in a minute."
            await send_problem(scope, receive, send, 429, detail, retry_after_s=wait)
            return
        await self._app(scope, receive, send)


class FailedLogins:
    """Answers 429 to addresses from which too many credentials did not hold.

    Who sends none cannot guess one, and is not counted. It stands outside of what checks them,
    and counts its answers of 401.
    """

    def __init__(self, app: ASGIApp, *, window: RateWindow) -> None:
        self._app = app
        self._window = window

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or not _has_credential(scope):
            await self._app(scope, receive, send)
            return
        client = scope.get("client")
        address = client[0] if client else ""
        if wait := await self._window.wait_s(address):
            detail = "Too many requests from this address without a credential that holds."
            await send_problem(scope, receive, send, 429, detail, retry_after_s=wait)
            return

        async def send_and_count(message: Message) -> None:
            if message.get("status") == 401:
                await self._window.hit(address)
            await send(message)

        await self._app(scope, receive, send_and_count)


def _has_credential(scope: Scope) -> bool:
    return any(name in _CREDENTIALS for name, _ in scope["headers"])


class Sockets:
    """How many WebSockets each user has open."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: Counter[str] = Counter()

    @contextmanager
    def open(self, user_id: str) -> Iterator[None]:
        """Count a socket while it is open.

        Raises:
            OverloadedError: the user has as many open as one may.
        """
        if self._open[user_id] >= self._most:
            raise OverloadedError(
                f"There are {self._most} open WebSockets of this user already.",
                retry_after_s=_TRY_AGAIN_S,
                remedy="close one, or set ODA_LIMITS__SOCKETS",
            )
        self._open[user_id] += 1
        try:
            yield
        finally:
            self._open[user_id] -= 1
            if not self._open[user_id]:
                del self._open[user_id]
