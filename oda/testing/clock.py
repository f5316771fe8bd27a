"""A clock that moves only when advanced, or when code sleeps on it."""

import asyncio


class FakeClock:
    """Replaces a monotonic clock and `asyncio.sleep` in tests.

    Pass `clock.now` and `clock.sleep` to the code under test.
    """

    def __init__(self, start: float = 0.0) -> None:
        self._now = start
        self._sleeps: list[float] = []

    @property
    def sleeps(self) -> tuple[float, ...]:
        """Every duration slept so far, in seconds, in order."""
        return tuple(self._sleeps)

    def now(self) -> float:
        """The current time in seconds."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move time forward.

        Raises:
            ValueError: `seconds` is negative.
        """
        if seconds < 0:
            raise ValueError(f"time cannot go back: {seconds!r}")
        self._now += seconds

    async def sleep(self, seconds: float) -> None:
        """Record the duration and advance by it; other tasks get a chance to run, none waits."""
        self._sleeps.append(seconds)
        self.advance(max(0.0, seconds))
        await asyncio.sleep(0)
