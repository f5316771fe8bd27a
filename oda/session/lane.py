"""One turn at a time in a session, in the order in which they came."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Literal

from oda.errors import OverloadedError, SessionBusyError

OnBusy = Literal["queue", "reject", "interrupt"]

_RETRY_AFTER_S = 5.0


class Lane:
    """A fair, bounded lock whose holder can be interrupted.

    Args:
        max_queued: Most turns that wait.
        interrupt: Called to end the running turn when one with `interrupt` arrives.
    """

    def __init__(self, *, max_queued: int, interrupt: Callable[[], object]) -> None:
        self._max_queued = max_queued
        self._interrupt = interrupt
        self._places: deque[Place] = deque()

    @property
    def busy(self) -> bool:
        """Whether a turn holds the lane or waits for it."""
        return bool(self._places)

    def reserve(self, on_busy: OnBusy = "queue") -> "Place":
        """Take a place in the line at once; enter it with `async with` to wait for one's turn.

        An interrupting turn goes before those that wait.

        Raises:
            SessionBusyError: the lane is held and `on_busy` is `reject`.
            OverloadedError: too many wait.
        """
        if self.busy and on_busy == "reject":
            raise SessionBusyError(
                "A turn is running in this session.", remedy="wait for it, or queue or interrupt"
            )
        waiting = len(self._places) - 1
        if waiting >= self._max_queued:
            raise OverloadedError(
                f"{waiting} messages are waiting in this session already.",
                retry_after_s=_RETRY_AFTER_S,
                remedy="send again later",
            )
        place = Place(self)
        if self.busy and on_busy == "interrupt":
            self._places.insert(1, place)
            self._interrupt_first()
        else:
            self._places.append(place)
        return place

    def leave(self, place: "Place") -> None:
        """Give up a place, held or waiting; the next in line goes on."""
        if place in self._places:
            self._places.remove(place)
        if self._places:
            self._places[0].call()

    def _interrupt_first(self) -> None:
        first = self._places[0]
        if first.entered:
            self._interrupt()
        else:
            first.interrupted = True

    def is_first(self, place: "Place") -> bool:
        return self._places[0] is place


class Place:
    """One turn's place in a lane."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self.entered = False
        self.interrupted = False
        """Whether it was to end before it had begun; whoever enters must then do nothing."""
        self._called = asyncio.Event()

    def call(self) -> None:
        """It is this one's turn."""
        self._called.set()

    def give_up(self) -> None:
        """Leave the line without having entered."""
        self._lane.leave(self)

    async def __aenter__(self) -> None:
        if not self._lane.is_first(self):
            try:
                await self._called.wait()
            except asyncio.CancelledError:
                self._lane.leave(self)
                raise
        self.entered = True

    async def __aexit__(self, *_: object) -> None:
        self._lane.leave(self)
