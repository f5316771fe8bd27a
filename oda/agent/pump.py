"""Run an event stream in a task of its own, in step with whoever reads it."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing

from google.adk.events import Event

from oda.tools.progress import telling

_PATIENCE_S = 5.0
"""How long work may take to end after it was cancelled, before it is cancelled again."""


class Pump:
    """The one piece of work of a turn that runs at a time, so that it can be stopped from anywhere.

    The stream is at most one event ahead of its reader, as in ADK itself: what follows an event
    begins when the event has been taken. What is told in between (`oda.tools.progress`) comes in
    its place, and nothing waits for it.
    """

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None
        self._stopped = False

    def stop(self) -> None:
        """Cancel the running work, if any; its reader sees the end of the stream."""
        self._stopped = True
        if self._task is not None:
            self._task.cancel()

    async def events(
        self,
        source: Callable[[], AsyncGenerator[Event, None]],
        *,
        within: AbstractAsyncContextManager[None],
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of `source()`; raise what it raises; end early when stopped.

        All of it happens inside the context `within`, a time limit for example.
        """
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._stopped = False

        async def run() -> None:
            try:
                with telling(queue.put_nowait):
                    async with within, aclosing(source()) as events:
                        async for event in events:
                            if self._stopped:  # the source has swallowed the cancellation
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
            await _outcome(task)
        finally:
            await self._finish(task)

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Await `work()`, returning early when stopped."""

        async def run() -> None:
            await work()

        task = self._task = asyncio.create_task(run())
        try:
            await _outcome(task)
        finally:
            await self._finish(task)

    async def _finish(self, task: asyncio.Task[None]) -> None:
        if not task.done():
            self.stop()
            while not task.done():
                await asyncio.wait({task}, timeout=_PATIENCE_S)
                task.cancel()
            if not task.cancelled():
                task.exception()  # nobody reads on; asyncio would report it as forgotten
        self._task = None


async def _outcome(task: asyncio.Task[None]) -> None:
    """Wait for the task and raise its error; that it was stopped is no error."""
    await asyncio.wait({task})
    if not task.cancelled():
        task.result()
