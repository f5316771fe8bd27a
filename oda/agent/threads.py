"""Bridges between the event loop and threads: synchronous tools, and callers without a loop."""

import asyncio
import queue
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, aclosing, contextmanager
from typing import TypeVar

from anyio.from_thread import start_blocking_portal
from google.adk.utils._sync_runner import _get_tool_thread_pool, _use_executor_for_sync_callables

from oda.loop import running_loop


@contextmanager
def sync_tools_in_threads(threads: int) -> Iterator[None]:
    """Run synchronous tools of the current task and its children in at most `threads` threads."""
    # ADK's setting for it (`RunConfig.tool_thread_pool_config`) also moves `async` tools, into
    # event loops in which connections of this one do not work. This private function does not.
    with _use_executor_for_sync_callables(_get_tool_thread_pool(threads)):
        yield


T = TypeVar("T")
Start = Callable[[Callable[[], Awaitable[None]]], "Future[None]"]


def iterate(
    source: Callable[[], AsyncGenerator[T, None]], home: asyncio.AbstractEventLoop | None
) -> Iterator[T]:
    """Yield the items of an asynchronous stream; closing the iterator stops the stream.

    Args:
        source: Starts the stream.
        home: Event loop to run the stream on if it runs in another thread; else a new one is used.
    """
    items: queue.Queue[tuple[T] | None] = queue.Queue()

    async def feed() -> None:
        try:
            async with aclosing(source()) as stream:
                async for item in stream:
                    items.put((item,))
        finally:
            items.put(None)

    with _starter(home) as start:
        future = start(feed)
        try:
            while (item := items.get()) is not None:
                yield item[0]
            future.result()
        finally:
            future.cancel()


def _starter(home: asyncio.AbstractEventLoop | None) -> AbstractContextManager[Start]:
    if home is not None and home.is_running() and home is not running_loop():
        return _start_on(home)
    return _start_on_own_loop()


@contextmanager
def _start_on(home: asyncio.AbstractEventLoop) -> Iterator[Start]:
    def start(work: Callable[[], Awaitable[None]]) -> "Future[None]":
        async def run() -> None:
            await work()

        return asyncio.run_coroutine_threadsafe(run(), home)

    yield start


@contextmanager
def _start_on_own_loop() -> Iterator[Start]:
    with start_blocking_portal() as portal:
        yield portal.start_task_soon
