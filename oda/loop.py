"""Event loops: the loop of this thread, and values that are local to one loop."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop of this thread, if one is running."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class LoopDefault(Generic[T]):
    """A value that a composition root sets for everything that runs in its event loop."""

    def __init__(self) -> None:
        self._values: dict[asyncio.AbstractEventLoop, T] = {}

    def get(self) -> T | None:
        """The value in the running loop; None without one."""
        loop = running_loop()
        return None if loop is None else self._values.get(loop)

    @contextmanager
    def set(self, value: T) -> Iterator[None]:
        """Let the value hold in the running loop, instead of the one before."""
        loop = asyncio.get_running_loop()
        previous = self._values.get(loop)
        self._values[loop] = value
        try:
            yield
        finally:
            if previous is None:
                del self._values[loop]
            else:
                self._values[loop] = previous
