"""An open database: writes go through its journal, reads through its own thread pool."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, Row, Select, delete, insert, literal, select
from sqlalchemy.exc import SQLAlchemyError

from oda.database.engine import DATABASE_FILE, database_engine, is_in_memory, shown
from oda.database.failures import unavailable
from oda.database.journal import REQUEST_S, Journal
from oda.database.schema import probes
from oda.loop import LoopDefault

T = TypeVar("T")

_READERS = {"sqlite": 4, "postgresql": 8}
"""Concurrent reads by dialect. More than a few, as a hanging server blocks each one for seconds."""


_ASKED_EVERY_S = 1.0
_ROOM = 256 * 1024
"""Size in characters of the probe after a failed write: a nearly full disk may fit a small one."""


class Readiness:
    """Probes the database through the journal, like any write, at most once a second."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._asking = asyncio.Lock()
        self._asked_at = float("-inf")
        self._failed: Exception | None = None

    async def check(self) -> None:
        """Check that a write succeeds, reusing a result of the last second.

        Raises:
            Exception: the error of the failed write.
        """
        async with self._asking:
            now = asyncio.get_running_loop().time
            if now() - self._asked_at >= _ASKED_EVERY_S:
                try:
                    await self._write(_ROOM if self._failed else 0)
                    self._failed = None
                except Exception as error:
                    self._failed = error
                self._asked_at = now()
            if self._failed is not None:
                raise self._failed.with_traceback(None)

    async def _write(self, size: int) -> None:
        probe_id = uuid.uuid4().hex

        def write(connection: Connection) -> None:
            filling = "x" * size
            connection.execute(insert(probes).values(probe_id=probe_id, filling=filling))
            if not size:
                remove(connection)

        def remove(connection: Connection) -> None:
            connection.execute(delete(probes).where(probes.c.probe_id == probe_id))

        await self._journal.run(write, within_s=REQUEST_S)
        if size:
            await self._journal.run(remove, within_s=REQUEST_S)


@dataclass(frozen=True)
class Database:
    """Engine, journal and reader threads of one database."""

    url: str
    engine: Engine
    """Blocking: use it in worker threads only, never on the event loop."""
    journal: Journal
    readiness: Readiness
    _reading: Engine
    """On PostgreSQL without transactions, whose begin and end would be two more round trips."""
    _readers: Executor

    async def read(self, query: Callable[[Connection], T]) -> T:
        """Run `query` in a reader thread and return its result; it must not write."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, query)

    async def rows(self, query: Select[Any]) -> Sequence[Row[Any]]:
        """Return all rows of a query."""
        return await self.read(lambda connection: connection.execute(query).all())

    async def scalar(self, query: Select[Any]) -> Any:
        """Return the first column of a query's first row, or None if there is no row."""
        return await self.read(lambda connection: connection.scalar(query))

    def _read(self, query: Callable[[Connection], T]) -> T:
        with self._reading.connect() as connection:
            return query(connection)

    async def check(self) -> None:
        """Check that the database accepts writes, by a test write at most once a second.

        The ODA tables must exist.

        Raises:
            UnavailableError: the database does not accept writes.
        """
        with self._reaching("The database"):
            await self.readiness.check()

    async def ping(self) -> None:
        """Check that the database answers a query.

        Raises:
            UnavailableError: the database is unreachable.
        """
        with self.reaching():
            await self.scalar(select(literal(1)))

    def reaching(self) -> AbstractContextManager[None]:
        """Convert connection errors in a block to errors that name this database.

        Raises:
            UnavailableError: the database is unreachable.
        """
        return self._reaching(f"the store {shown(self.url)}")

    @contextmanager
    def _reaching(self, name: str) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, OSError, TimeoutError) as error:
            raise unavailable(error, name) from error


default_database: LoopDefault[Database] = LoopDefault()
"""The database used in an event loop; set by the composition root."""


@asynccontextmanager
async def open_database(url: str) -> AsyncIterator[Database]:
    """Open a database and close it at the end of the block; connections are opened on first use.

    Raises:
        ConfigurationError: the URL is malformed or its driver is not installed.
    """
    with _file_backed(url) as file_url:
        engine = database_engine(file_url)
        is_sqlite = engine.dialect.name == "sqlite"
        reading = engine if is_sqlite else engine.execution_options(isolation_level="AUTOCOMMIT")
        readers = ThreadPoolExecutor(_READERS[engine.dialect.name], "oda reader")
        try:
            async with Journal(engine) as journal:
                yield Database(url, engine, journal, Readiness(journal), reading, readers)
        finally:
            await asyncio.to_thread(readers.shutdown)
            await asyncio.to_thread(engine.dispose)


@contextmanager
def _file_backed(url: str) -> Iterator[str]:
    """Yield the URL, or that of a temporary file if it names an in-memory database."""
    if not is_in_memory(url):  # threads cannot share an in-memory database
        yield url
        return
    with TemporaryDirectory(prefix="oda-") as directory:
        yield f"sqlite:///{Path(directory) / DATABASE_FILE}"
