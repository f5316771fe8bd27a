"""Answers that are kept for a while, and questions that are asked once."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from cachetools import TTLCache

T = TypeVar("T")


@dataclass
class _Flight(Generic[T]):
    task: asyncio.Task[T]
    waiting: int = 0


class Kept(Generic[T]):
    """Cache of the latest answers; concurrent identical questions share one request.

    A request continues as long as at least one caller waits for it. Failures are not cached.
    """

    def __init__(
        self, *, most: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._answers: TTLCache[Hashable, T] = TTLCache(most, seconds, timer=clock)
        self._flights: dict[Hashable, _Flight[T]] = {}

    async def get(self, question: Hashable, ask: Callable[[], Awaitable[T]]) -> T:
        """The kept answer, or a new one; raises what `ask` raises."""
        if question in self._answers:
            return self._answers[question]
        flight = self._flights.get(question)
        if flight is None:
            task = asyncio.create_task(self._ask(question, ask))
            flight = self._flights[question] = _Flight(task)
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting:
                if self._flights.get(question) is flight:
                    del self._flights[question]
                await _ended(flight.task)

    async def close(self) -> None:
        """End what is being asked."""
        for flight in tuple(self._flights.values()):
            await _ended(flight.task)

    async def _ask(self, question: Hashable, ask: Callable[[], Awaitable[T]]) -> T:
        answer = await ask()
        self._answers[question] = answer
        return answer


async def _ended(task: asyncio.Task[T]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
