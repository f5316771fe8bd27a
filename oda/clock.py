"""Time as a parameter, so that no test has to wait for it."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Source of time for decisions and waits."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`; cancellable."""
        ...


class SystemClock:
    """The machine's clock and the event loop's sleep."""

    def now(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def utc(clock: Clock) -> datetime:
    """The clock's time as a date in UTC."""
    return datetime.fromtimestamp(clock.now(), UTC)
