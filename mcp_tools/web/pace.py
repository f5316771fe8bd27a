"""How often somebody may be asked."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from cachetools import LRUCache

from mcp_tools.web.errors import BusyError

NAMES = 1024
LONGEST_HOLD_S = 3600.0


class Pace:
    """Turns per name (a host, a provider): so many at once, so many per second after that."""

    def __init__(
        self,
        *,
        per_s: float,
        burst: int,
        longest_wait_s: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._interval_s = 1 / per_s
        self._saved_s = (burst - 1) / per_s
        self._longest_wait_s = longest_wait_s
        self._clock = clock
        self._sleep = sleep
        self._next: LRUCache[str, float] = LRUCache(NAMES)

    async def turn(self, name: str) -> None:
        """Wait for a turn.

        Raises:
            BusyError: when the wait would be too long; no turn is taken then.
        """
        now = self._clock()
        begins = max(self._next.get(name, now - self._saved_s), now - self._saved_s)
        wait_s = max(0.0, begins - now)
        if wait_s > self._longest_wait_s:
            raise BusyError(name, wait_s)
        self._next[name] = begins + self._interval_s
        if wait_s:
            await self._sleep(wait_s)

    def hold(self, name: str, seconds: float) -> None:
        """Give no turn for a while, because `name` has asked for it."""
        until = self._clock() + min(seconds, LONGEST_HOLD_S)
        self._next[name] = max(self._next.get(name, until), until)
