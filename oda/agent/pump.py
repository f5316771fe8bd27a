"""Runs an event stream in a separate task, in step with its reader."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing

from google.adk.events import Event

from oda.tools.progress import telling

_PATIENCE_S = 5.0
"""Time for cancelled work to end before it is cancelled again."""


class Pump:
    """Runs the work of a turn, one piece at a time, in a task that can be stopped from anywhere.

    As in ADK itself, the stream is at most one event ahead of its reader: work continues only when
    an event has been consumed. Progress events (`oda.tools.progress`) are passed on in order, but
    work does not wait for them.
    """

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None
        self._stopped = False

    def stop(self) -> None:
        """Cancel the running work, if any; for its reader, the stream ends."""
        self._stopped = True
        if self._task is not None:
            self._task.cancel()

    async def events(
        self,
        source: Callable[[], AsyncGenerator[Event, None]],
        *,
        within: AbstractAsyncContextManager[None],
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of `source()` until it ends, raises, or is stopped.

        Args:
            source: Starts the stream.
            within: Context to run the stream in, such as a time limit.
        """
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._stopped = False

        async def run() -> None:
            try:
                with telling(queue.put_nowait):
                    async with within, aclosing(source()) as events:
                        async for event in events:
                            if self._stopped:  # the source has suppressed the cancellation
                                break
                            queue.put_nowait(event)
                            await queue.join()
            finally:
                queue.put_nowait(None)

        task = self._task = asyncio.create_task(run())
        try:
            while (event := await queue.get()) is not None:
                yield event
                queue.task_done()
            await _join(task)
        finally:
            await self._finish(task)

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Await `work()`; return early if stopped."""

        async def run() -> None:
            await work()

        task = self._task = asyncio.create_task(run())
        try:
            await _join(task)
        finally:
            await self._finish(task)

    async def _finish(self, task: asyncio.Task[None]) -> None:
        if not task.done():
            self.stop()
            while not task.done():
                await asyncio.wait({task}, timeout=_PATIENCE_S)
                task.cancel()
            if not task.cancelled():
                task.exception()  # else asyncio logs that it was never retrieved
        self._task = None


async def _join(task: asyncio.Task[None]) -> None:
    """Wait for a task and raise its error, unless it was cancelled."""
    await asyncio.wait({task})
    if not task.cancelled():
        task.result()
