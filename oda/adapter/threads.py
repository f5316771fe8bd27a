"""Sync code of others in threads. A thread cannot be stopped, so cancelling waits for it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any, TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[], T]) -> T:
    """Call `work` in a thread.

    Cancelled, it waits for the thread to end before it gives way; cancelled again, it does not.
    """

    def run() -> T:
        try:
            return work()
        except StopIteration as error:  # no future takes it
            raise RuntimeError("the agent's code raised StopIteration") from error

    thread = asyncio.ensure_future(asyncio.to_thread(run))
    try:
        return await asyncio.shield(thread)
    except asyncio.CancelledError:
        await asyncio.wait({thread})
        if not thread.cancelled():
            thread.exception()  # mark as retrieved, or asyncio would complain
        raise


async def in_threads(
    generator: Generator[Any, Any, Any], returned: Callable[[Any], Any]
) -> AsyncGenerator[Any, None]:
    """Yield a generator's items, each step in a thread; finally `returned` of its result."""
    end = object()
    value: Any = None

    def step() -> Any:
        nonlocal value
        try:
            return next(generator)
        except StopIteration as stop:
            value = stop.value
            return end

    try:
        while (item := await in_thread(step)) is not end:
            yield item
        yield returned(value)
    finally:
        await in_thread(generator.close)
