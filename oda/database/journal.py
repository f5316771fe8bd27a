"""Group commit: what is written at the same time shares a transaction."""

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
from oda.errors import AgentStateError, UnavailableError
from oda.telemetry import get_logger

log = get_logger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

Operation = Callable[[Connection], T]
"""Writes in a transaction that others may share, and in a thread of the journal's: it must touch
nothing that the event loop changes. It may be called again after a rollback."""

_COLLISIONS = ("40001", "40P01")
_LOOK_AGAIN_S = 0.25
REQUEST_S = 4.0
"""How long a request waits for what it writes."""

LINGER_S = 0.05
"""How long a deferred operation waits for company by default."""


@dataclass(eq=False)
class _Entry:
    operation: Operation[Any]
    done: asyncio.Future[Any] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


@dataclass
class _Try:
    """One transaction: what came of it, or how far it came."""

    results: list[Any] = field(default_factory=list)
    error: Exception | None = None
    begun: bool = False
    transaction_id: str | None = None
    """By which to find out whether it was committed, where a commit can be in doubt."""


class Journal:
    """Runs operations in the order in which they came, as many as there are in one transaction.

    All of them run in one thread, on one connection, so that a batch costs one change of threads.
    One that fails fails alone: the others are run again without it.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="oda journal")
        self._connection: Connection | None = None
        """Belongs to the thread."""
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

    async def run(self, operation: Operation[T], *, within_s: float | None = None) -> T:
        """Run an operation and return its result once it is committed.

        Whoever is cancelled meanwhile does not know whether it was.

        Args:
            operation: What to write.
            within_s: How long to wait, at most. What is told to have failed after that time may
                yet be stored, so it must do no harm to write it again.

        Raises:
            Exception: what the operation or the database raises; then nothing of it is stored.
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
                    slow = len(batch) > 1 and is_silence(error)  # one may hold up the others
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

    def _commit(self, operations: Sequence[Operation[Any]]) -> _Try:
        """Run operations in one transaction; in the thread."""
        tried = _Try()
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
        """Give the connection back, which ends its transaction; in the thread."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            connection.close()
        except Exception as error:
            log.debug("connection_not_closed", exc_info=error)

    async def _outcome(self, transaction_id: str) -> bool | None:
        """Find out whether a transaction was committed whose commit was not answered.

        As long as the database is away nothing else can be written either; it fails at once.
        Returns None if the journal is closed before the database is back.
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
    """Whether the database went away; another connection may do better."""
    return isinstance(error, DBAPIError) and error.connection_invalidated


def _is_collision(error: BaseException) -> bool:
    """Whether PostgreSQL has ended one of two transactions that waited for each other."""
    return isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", "") in _COLLISIONS


def may_pass(error: BaseException) -> bool:
    """Whether the same may succeed later: the database is away, locked or overloaded."""
    kinds = OperationalError | InterfaceError | PoolTimeoutError | OSError | TimeoutError
    return isinstance(error, kinds)


def _fail(batch: Sequence[_Entry], error: Exception) -> None:
    for entry in batch:
        if not entry.done.done():
            entry.done.set_exception(error)


def _log_failure(done: "asyncio.Future[Any]") -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        log.error("deferred_write_failed", exc_info=error)
