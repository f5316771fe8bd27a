"""Something that an application opens once for a process, such as a client with its caches."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from oda.loop import LoopDefault

T = TypeVar("T")


class OpenResources:
    """Resources opened by applications in a context; closed with it, last opened first."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._locks: defaultdict[ApplicationResource[Any], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._opened: dict[ApplicationResource[Any], Any] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._opened.clear()
        await self._stack.aclose()

    async def get(self, resource: "ApplicationResource[T]") -> T:
        """The opened resource; opened now, if it is not. Opening one may use others."""
        async with self._locks[resource]:
            if resource not in self._opened:
                opened = await self._stack.enter_async_context(resource.open())
                self._opened[resource] = opened
        found: T = self._opened[resource]
        return found


default_resources: LoopDefault[OpenResources] = LoopDefault()


class ApplicationResource(Generic[T]):
    """A resource of one application.

    Inside of an `OdaContext` it is opened at its first use, shared, and closed with the context.
    Elsewhere, in `adk web` for example, each use opens and closes one.

    Args:
        open: Makes the context manager whose value is the resource.
    """

    def __init__(self, open: Callable[[], AbstractAsyncContextManager[T]]) -> None:
        self.open = open

    @asynccontextmanager
    async def use(self) -> AsyncIterator[T]:
        """The resource, while the block runs.

        Raises:
            Exception: it cannot be opened; the next use tries again.
        """
        if (shared := default_resources.get()) is not None:
            yield await shared.get(self)
        else:
            async with self.open() as own:
                yield own
