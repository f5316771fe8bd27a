"""Group commit: what is written at the same time shares a transaction."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeVar

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from oda.errors import AgentStateError
from oda.telemetry import get_logger

log = get_logger(__name__)

T = TypeVar("T")

Operation = Callable[[AsyncConnection], Awaitable[T]]
"""What is done in a transaction that others may share. It may be called again after a rollback."""

_COLLISIONS = ("40001", "40P01")

LINGER_S = 0.05
"""How long a deferred operation waits for company, if nobody says otherwise."""


@dataclass
class _Entry:
    operation: Operation[Any]
    done: asyncio.Future[Any] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class Journal:
    """Runs operations in the order in which they came, as many as there are in one transaction.

    One that fails fails alone: the others are run again without it.
    """

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._waiting: list[_Entry] = []
        self._wake = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._due = math.inf
        """When the timer rings; uvloop's handles do not say."""
        self._closed = False

    async def __aenter__(self) -> Self:
        self._writer = asyncio.create_task(self._write_all(), name="oda journal")
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Write what waits, then close."""
        self._closed = True
        self._wake.set()
        self._stop_timer()
        if self._writer is not None:
            await self._writer

    async def run(self, operation: Operation[T]) -> T:
        """Run an operation and return its result once it is committed.

        Whoever is cancelled meanwhile does not know whether it was.

        Raises:
            Exception: what the operation or the database raises; then nothing of it is stored.
        """
        entry = self._add(operation)
        self._wake.set()
        result: T = await asyncio.shield(entry.done)
        return result

    def defer(
        self, operation: Operation[Any], *, within_s: float = LINGER_S, quietly: bool = False
    ) -> "asyncio.Future[Any]":
        """Run an operation soon, with others that come meanwhile; nobody need wait.

        A failure is logged, unless it is to be seen to `quietly` by the caller.
        """
        entry = self._add(operation)
        if not quietly:
            entry.done.add_done_callback(_log_failure)
        loop = asyncio.get_running_loop()
        due = loop.time() + within_s
        if due < self._due:
            self._stop_timer()
            self._due = due
            self._timer = loop.call_at(due, self._time_is_up)
        return entry.done

    def hurry(self) -> None:
        """Write what has been deferred now."""
        self._wake.set()

    def _add(self, operation: Operation[Any]) -> _Entry:
        if self._closed:
            raise AgentStateError("The journal is closed.")
        entry = _Entry(operation)
        self._waiting.append(entry)
        return entry

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer, self._due = None, math.inf

    def _time_is_up(self) -> None:
        self._timer, self._due = None, math.inf
        self._wake.set()

    async def _write_all(self) -> None:
        connection: AsyncConnection | None = None
        try:
            while not (self._closed and not self._waiting):
                await self._wake.wait()
                self._wake.clear()
                self._stop_timer()
                batch, self._waiting = self._waiting, []
                if batch:
                    connection = await self._write(connection, batch)
                if self._closed:
                    self._wake.set()
        finally:
            if connection is not None:
                await connection.close()

    async def _write(
        self, connection: AsyncConnection | None, batch: Sequence[_Entry]
    ) -> AsyncConnection | None:
        """Commit a batch; returns the connection for the next, None when it is not to be used."""
        for attempt in (1, 2):
            begun = False
            try:
                if connection is None:
                    connection = await self._engine.connect()
                async with connection.begin():
                    if self._engine.dialect.name == "sqlite":
                        await connection.exec_driver_sql("BEGIN IMMEDIATE")
                    begun = True
                    results: list[Any] = [await entry.operation(connection) for entry in batch]
            except Exception as error:
                await _discard(connection)
                connection = None
                if attempt == 1 and (is_lost_connection(error) or _is_collision(error)):
                    continue
                if len(batch) == 1 or not begun:
                    for entry in batch:
                        _fail(entry, error)
                    return connection
                for entry in batch:
                    connection = await self._write(connection, [entry])
                return connection
            for entry, result in zip(batch, results, strict=True):
                if not entry.done.done():
                    entry.done.set_result(result)
            return connection
        return connection


def is_lost_connection(error: BaseException) -> bool:
    """Whether the database went away; another connection may do better."""
    return isinstance(error, DBAPIError) and error.connection_invalidated


def _is_collision(error: BaseException) -> bool:
    """Whether PostgreSQL has ended one of two transactions that waited for each other."""
    return isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", "") in _COLLISIONS


def may_pass(error: BaseException) -> bool:
    """Whether the same may succeed later: the database is away, locked or overloaded."""
    return isinstance(error, OperationalError | InterfaceError | OSError | TimeoutError)


async def _discard(connection: AsyncConnection | None) -> None:
    if connection is None:
        return
    try:
        await connection.close()
    except Exception as error:
        log.debug("connection_not_closed", exc_info=error)


def _fail(entry: _Entry, error: Exception) -> None:
    if not entry.done.done():
        entry.done.set_exception(error)


def _log_failure(done: "asyncio.Future[Any]") -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        log.error("deferred_write_failed", exc_info=error)
