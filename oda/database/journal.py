"""Group commit: concurrent writes share a transaction."""

import asyncio
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from oda.database.postgres import has_committed, is_silence, own_transaction_id
from oda.errors import AgentStateError, SessionsUnavailableError, UnavailableError
from oda.telemetry import get_logger

log = get_logger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

Operation = Callable[[Connection], T]
"""A function that writes within a transaction it may share with others.

It runs in the journal's thread, so it must not touch state that the event loop changes. It may be
called again after a rollback."""

_COLLISIONS = ("40001", "40P01")
"""SQLSTATE codes of serialization failures and deadlocks."""
_LOOK_AGAIN_S = 0.25
_PASSING = (
    OperationalError,
    InterfaceError,
    PoolTimeoutError,
    OSError,
    TimeoutError,
    SessionsUnavailableError,
)
REQUEST_S = 4.0
"""Time limit for the writes of a request."""

LINGER_S = 0.05
"""Default time for which a deferred operation waits for others to join its transaction."""


@dataclass(eq=False)
class _Entry:
    operation: Operation[Any]
    done: asyncio.Future[Any] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


@dataclass
class _Attempt:
    """Outcome of one attempt to commit a batch."""

    results: list[Any] = field(default_factory=list)
    error: Exception | None = None
    begun: bool = False
    transaction_id: str | None = None
    """Id for looking up whether the commit succeeded; None if that cannot be in doubt."""


class Journal:
    """Runs write operations in order of arrival; all that are waiting share a transaction.

    They run in one thread on one connection, so a batch costs a single thread switch. If a batch
    fails, each operation is retried in a transaction of its own, so that only the faulty one fails.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="oda journal")
        self._connection: Connection | None = None
        """Used by the journal's thread only."""
        self._waiting: list[_Entry] = []
        self._wake = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._due = math.inf
        """Loop time at which the timer fires; uvloop's timer handles do not expose it."""
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
        """Run the waiting operations, then close."""
        self._closed = True
        self._wake.set()
        self._stop_timer()
        if self._writer is not None:
            await self._writer

    async def run(self, operation: Operation[T], *, within_s: float | None = None) -> T:
        """Run an operation and return its result once it is committed.

        If the caller is cancelled, the operation may or may not be committed.

        Args:
            operation: The writes.
            within_s: Time limit in seconds. An operation that timed out may still be committed
                later, so it must be safe to repeat.

        Raises:
            Exception: any error of the operation or the database; nothing was stored.
            UnavailableError: it took longer than `within_s`.
        """
        entry = self._add(operation)
        self._wake.set()
        await asyncio.wait({entry.done}, timeout=within_s)
        if not entry.done.done():
            if entry in self._waiting:
                self._waiting.remove(entry)
            entry.done.add_done_callback(_log_failure)
            raise UnavailableError("The database has not answered in time; try again.")
        result: T = entry.done.result()
        return result

    def defer(
        self, operation: Operation[Any], *, within_s: float = LINGER_S, quietly: bool = False
    ) -> "asyncio.Future[Any]":
        """Schedule an operation to run within `within_s` seconds, batched with others.

        The caller need not await the returned future: a failure is logged, unless `quietly` is set
        because the caller handles it.
        """
        entry = self._add(operation)
        if not quietly:
            entry.done.add_done_callback(_log_failure)
        loop = asyncio.get_running_loop()
        due = loop.time() + within_s
        if due < self._due:
            self._stop_timer()
            self._due = due
            self._timer = loop.call_at(due, self._on_timer)
        return entry.done

    def hurry(self) -> None:
        """Run deferred operations now."""
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

    def _on_timer(self) -> None:
        self._timer, self._due = None, math.inf
        self._wake.set()

    async def _write_all(self) -> None:
        try:
            while not (self._closed and not self._waiting):
                await self._wake.wait()
                self._wake.clear()
                self._stop_timer()
                batch, self._waiting = self._waiting, []
                if batch:
                    await self._write(batch)
                if self._closed:
                    self._wake.set()
        finally:
            await self._in_thread(self._disconnect)
            self._thread.shutdown(wait=False)

    async def _in_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        call = partial(work, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    async def _write(self, batch: Sequence[_Entry]) -> None:
        for attempt in (1, 2):
            tried = await self._in_thread(self._commit, [entry.operation for entry in batch])
            error, committed = tried.error, tried.error is None
            if error is not None:
                lost = is_lost_connection(error)
                if lost and tried.transaction_id:
                    outcome = await self._outcome(tried.transaction_id)
                    if outcome is None:
                        _fail(batch, error)
                        return
                    committed = outcome
                if not committed:
                    # One slow operation may be blocking the rest of the batch: separate them.
                    slow = len(batch) > 1 and is_silence(error)
                    if attempt == 1 and (_is_collision(error) or (lost and not slow)):
                        continue
                    if len(batch) == 1 or not tried.begun:
                        _fail(batch, error)
                        return
                    for entry in batch:
                        await self._write([entry])
                    return
            for entry, result in zip(batch, tried.results, strict=True):
                if not entry.done.done():
                    entry.done.set_result(result)
            return

    def _commit(self, operations: Sequence[Operation[Any]]) -> _Attempt:
        """Run operations in one transaction. Called in the journal's thread."""
        tried = _Attempt()
        try:
            if self._connection is None:
                self._connection = self._engine.connect()
            connection = self._connection
            transaction = connection.begin()
            if self._engine.dialect.name == "sqlite":
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            tried.begun = True
            tried.results = [operation(connection) for operation in operations]
            tried.transaction_id = own_transaction_id(connection)
            transaction.commit()
        except Exception as error:
            tried.error = error
            self._disconnect()
        return tried

    def _disconnect(self) -> None:
        """Return the connection to the pool, rolling back. Called in the journal's thread."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            connection.close()
        except Exception as error:
            log.debug("connection_not_closed", exc_info=error)

    async def _outcome(self, transaction_id: str) -> bool | None:
        """Return whether a transaction was committed, after the connection was lost at its commit.

        Waits until the database is reachable again; operations that arrive meanwhile fail at once.
        Returns None if the journal is closed first.
        """
        log.warning("commit_in_doubt", transaction_id=transaction_id)
        while True:
            try:
                committed = await self._in_thread(self._has_committed, transaction_id)
            except Exception as error:
                if self._closed:
                    return None
                log.debug("commit_not_looked_up", exc_info=error)
                waiting, self._waiting = self._waiting, []
                _fail(waiting, error)
            else:
                if committed is not None:
                    log.warning("commit_looked_up", committed=committed)
                    return committed
            await asyncio.sleep(_LOOK_AGAIN_S)

    def _has_committed(self, transaction_id: str) -> bool | None:
        with self._engine.connect() as connection:
            return has_committed(connection, transaction_id)


def is_lost_connection(error: BaseException) -> bool:
    """Return whether the connection was lost, so that a retry on another one may succeed."""
    return isinstance(error, DBAPIError) and error.connection_invalidated


def _is_collision(error: BaseException) -> bool:
    """Return whether PostgreSQL aborted a transaction because of a deadlock or a conflict."""
    return isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", "") in _COLLISIONS


def may_pass(error: BaseException) -> bool:
    """Return whether an error is transient: a store is unreachable, locked or overloaded."""
    return isinstance(error, _PASSING)


def _fail(batch: Sequence[_Entry], error: Exception) -> None:
    for entry in batch:
        if not entry.done.done():
            entry.done.set_exception(error)


def _log_failure(done: "asyncio.Future[Any]") -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        log.error("deferred_write_failed", exc_info=error)
