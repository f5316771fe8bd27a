"""Ordered writes of one turn, retried while the database is unreachable."""

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import Connection

from oda.database.journal import Journal, Operation, may_pass
from oda.telemetry import get_logger

log = get_logger(__name__)

T = TypeVar("T")

_FIRST_RETRY_S = 0.1
_LAST_RETRY_S = 2.0


@dataclass(frozen=True, eq=False)
class _Write:
    operation: Operation[None] | None
    then: Callable[[], None] | None = None
    guards: bool = False
    waiter: asyncio.Future[None] | None = None


class WriteQueue:
    """An ordered queue in front of the journal.

    Everything queued is stored in the journal's next transaction, all or nothing. Transient
    failures are retried; any other failure ends the queue.

    Args:
        journal: Runs the operations.
        guard: Runs in each transaction, and raises if the turn may not write any more.
        name: Turn id for log messages.
    """

    def __init__(self, journal: Journal, guard: Operation[object], name: str) -> None:
        self.journal = journal
        self._guard = guard
        self._name = name
        # The journal's thread pops entries while the event loop appends.
        self._waiting: deque[_Write] = deque()
        self._batch: list[_Write] = []
        self._writing = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._timer: asyncio.TimerHandle | None = None
        self._retry_s = _FIRST_RETRY_S
        self._failure: BaseException | None = None
        self._events: set[str] = set()

    def put(
        self,
        operation: Operation[None] | None,
        *,
        then: Callable[[], None] | None = None,
        guards: bool = False,
    ) -> None:
        """Queue an operation to be stored soon, after all earlier ones.

        Args:
            operation: A journal operation; None to only schedule the callback.
            then: Called once it is stored.
            guards: Whether the operation itself does the check of the queue's guard.

        Raises:
            Exception: the failure that ended the queue.
        """
        self._add(_Write(operation, then, guards))

    def put_event(
        self, event_id: str, operation: Operation[None], *, then: Callable[[], None]
    ) -> None:
        """Queue the operation that stores a session event, like `put`."""
        self.put(operation, then=then)
        self._events.add(event_id)

    async def run(self, operation: Operation[T]) -> T:
        """Run an operation after all earlier ones and return its result once it is committed.

        Raises:
            Exception: the failure that ended the queue.
        """
        results: list[T] = []

        def keep_result(connection: Connection) -> None:
            results[:] = [operation(connection)]

        stored = asyncio.get_running_loop().create_future()
        self._add(_Write(keep_result, waiter=stored))
        self.hurry()
        await stored
        return results[0]

    def has_event(self, event_id: str) -> bool:
        """Return whether an event was put into this queue."""
        return event_id in self._events

    def hurry(self) -> None:
        """Store queued operations now."""
        self.journal.hurry()

    async def flushed(self) -> None:
        """Wait until everything queued is stored.

        Raises:
            Exception: the failure that ended the queue.
        """
        if not self._idle.is_set():
            self.hurry()
            await self._idle.wait()
        self.check()

    def check(self) -> None:
        """Raise the failure that ended the queue, if any."""
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Stop retrying; a write in progress may still be stored."""
        if self._timer is not None:
            self._timer.cancel()

    # --- inside

    def _add(self, write: _Write) -> None:
        self.check()
        self._waiting.append(write)
        self._idle.clear()
        self._write_soon()

    def _write_soon(self) -> None:
        if self._timer is None and not self._writing:
            self._writing = True
            self.journal.defer(self._write, quietly=True).add_done_callback(self._on_done)

    def _write(self, connection: Connection) -> None:
        while self._waiting:
            self._batch.append(self._waiting.popleft())
        if not any(write.guards for write in self._batch):
            self._guard(connection)
        for write in self._batch:
            if write.operation is not None:
                write.operation(connection)

    def _on_done(self, done: "asyncio.Future[None]") -> None:
        self._writing = False
        if (error := done.exception()) is not None:
            self._on_failure(error)
            return
        self._retry_s = _FIRST_RETRY_S
        stored, self._batch = self._batch, []
        if self._waiting:
            self._write_soon()
        else:
            self._idle.set()
        for write in stored:
            if write.then is not None:
                write.then()
            if write.waiter is not None and not write.waiter.done():
                write.waiter.set_result(None)

    def _on_failure(self, error: BaseException) -> None:
        if may_pass(error):
            log.warning("turn_not_stored", turn_id=self._name, again_in_s=self._retry_s)
            self._timer = asyncio.get_running_loop().call_later(self._retry_s, self._try_again)
            self._retry_s = min(2 * self._retry_s, _LAST_RETRY_S)
            return
        self._failure = error
        self._idle.set()
        for write in (*self._batch, *self._waiting):
            if write.waiter is not None and not write.waiter.done():
                write.waiter.set_exception(error)

    def _try_again(self) -> None:
        self._timer = None
        self._write_soon()


current_writes: ContextVar[WriteQueue | None] = ContextVar("oda_current_writes", default=None)
"""The write queue of the turn that the running task belongs to."""


def writes_of_turn(journal: Journal) -> WriteQueue | None:
    """Return the current turn's write queue, if it writes to this journal."""
    writes = current_writes.get()
    return writes if writes is not None and writes.journal is journal else None
