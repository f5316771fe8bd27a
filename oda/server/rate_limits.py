"""How often a client may come, and how much it may keep open."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from starlette.types import ASGIApp, Receive, Scope, Send

from oda.errors import OverloadedError
from oda.server.problems import send_problem
from oda.server.rate_window import RateWindow

_TRY_AGAIN_S = 5.0

KeyOf = Callable[[Scope], str | None]
"""Returns the key that a request is counted for; None if it is not counted."""


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
