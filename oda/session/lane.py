"""A queue that lets the turns of a session run one at a time, in order of arrival."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Literal, Self

from oda.errors import OverloadedError, SessionBusyError

OnBusy = Literal["queue", "reject", "interrupt"]

_RETRY_AFTER_S = 5.0


def busy_error() -> SessionBusyError:
    """Return the error for a message that is rejected because a turn runs."""
    return SessionBusyError(
        "A turn is running in this session.", remedy="wait for it, or queue or interrupt"
    )


def full_error(waiting: int) -> OverloadedError:
    """Return the error for a message to a session in which too many are waiting."""
    return OverloadedError(
        f"{waiting} messages are waiting in this session already.",
        retry_after_s=_RETRY_AFTER_S,
        remedy="send again later",
    )


class Lane:
    """A fair, bounded lock whose holder can be interrupted.

    Args:
        max_queued: Maximum number of waiting turns.
        interrupt: Called to end the running turn when an interrupting one arrives.
    """

    def __init__(self, *, max_queued: int, interrupt: Callable[[], object]) -> None:
        self._max_queued = max_queued
        self._interrupt = interrupt
        self._places: deque[Place] = deque()

    @property
    def busy(self) -> bool:
        """Whether a turn holds the lane or is waiting for it."""
        return bool(self._places)

    def reserve(self, on_busy: OnBusy = "queue") -> "Place":
        """Take a place in the queue without waiting; enter it with `async with` to wait for it.

        An interrupting turn is placed before the waiting turns that do not interrupt.

        Raises:
            SessionBusyError: the lane is busy and `on_busy` is `reject`.
            OverloadedError: the queue is full.
        """
        if self.busy and on_busy == "reject":
            raise busy_error()
        waiting = len(self._places) - 1
        if waiting >= self._max_queued:
            raise full_error(waiting)
        place = Place(self, interrupts=on_busy == "interrupt")
        if self.busy and place.interrupts:
            waits = (n for n, other in enumerate(self._places) if n and not other.interrupts)
            self._places.insert(next(waits, len(self._places)), place)
            self._interrupt_first()
        else:
            self._places.append(place)
        return place

    def reserve_again(self) -> "Place":
        """Take the last place for a turn that was accepted earlier; it is never refused."""
        place = Place(self)
        self._places.append(place)
        return place

    def leave(self, place: "Place") -> None:
        """Release a held or waiting place and let the next turn proceed."""
        if place in self._places:
            self._places.remove(place)
        if self._places:
            self._places[0].call()

    def _interrupt_first(self) -> None:
        first = self._places[0]
        first.interrupted = True
        if first.entered:
            self._interrupt()

    def is_first(self, place: "Place") -> bool:
        return bool(self._places) and self._places[0] is place


class Place:
    """One turn's place in a lane."""

    def __init__(self, lane: Lane, *, interrupts: bool = False) -> None:
        self._lane = lane
        self.interrupts = interrupts
        self.entered = False
        self.interrupted = False
        """Whether the turn must end; if it has not begun, it must not begin."""
        self._called = asyncio.Event()

    @property
    def first(self) -> bool:
        """Whether this is the first place in the lane."""
        return self._lane.is_first(self)

    def call(self) -> None:
        """Let the turn proceed."""
        self._called.set()

    def give_up(self) -> None:
        """Leave the queue without having entered."""
        self._lane.leave(self)

    async def __aenter__(self) -> Self:
        if not self._lane.is_first(self):
            try:
                await self._called.wait()
            except asyncio.CancelledError:
                self._lane.leave(self)
                raise
        self.entered = True
        return self

    async def __aexit__(self, *_: object) -> None:
        self._lane.leave(self)
