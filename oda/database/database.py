"""An opened database: writes go through its journal, reads through threads of its own."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, Row, Select, literal, select
from sqlalchemy.exc import SQLAlchemyError

from oda.database.engine import DATABASE_FILE, database_engine, is_in_memory, shown
from oda.database.failures import unavailable
from oda.database.journal import Journal
from oda.database.readiness import Readiness
from oda.loop import LoopDefault

T = TypeVar("T")

_READERS = {"sqlite": 4, "postgresql": 8}
"""Reads at a time; others wait for a thread. A server that is silent keeps each for seconds."""


@dataclass(frozen=True)
class Database:
    """One database of a process."""

    url: str
    engine: Engine
    """For threads; it must not be used on the event loop."""
    journal: Journal
    readiness: Readiness
    _readers: Executor

    async def read(self, query: Callable[[Connection], T]) -> T:
        """Return what `query` finds; it runs in a thread, and what it writes is rolled back."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, query)

    async def rows(self, query: Select[Any]) -> Sequence[Row[Any]]:
        """Return all rows of a query."""
        return await self.read(lambda connection: connection.execute(query).all())

    async def scalar(self, query: Select[Any]) -> Any:
        """Return the first column of a query's first row; None when there is none."""
        return await self.read(lambda connection: connection.scalar(query))

    def _read(self, query: Callable[[Connection], T]) -> T:
        with self.engine.connect() as connection:
            return query(connection)

    async def check(self) -> None:
        """Write something through the journal, at most once a second; it must have our tables.

        Raises:
            UnavailableError: it takes no writes.
        """
        with self._reaching("The database"):
            await self.readiness.check()

    async def ping(self) -> None:
        """Ask it something.

        Raises:
            UnavailableError: it does not answer.
        """
        with self.reaching():
            await self.scalar(select(literal(1)))

    def reaching(self) -> AbstractContextManager[None]:
        """Tell failures to reach the database by its name.

        Raises:
            UnavailableError: it cannot be reached.
        """
        return self._reaching(f"the store {shown(self.url)}")

    @contextmanager
    def _reaching(self, name: str) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, OSError, TimeoutError) as error:
            raise unavailable(error, name) from error


default_database: LoopDefault[Database] = LoopDefault()
"""The process's database in an event loop; set by the composition root."""


@asynccontextmanager
async def open_database(url: str) -> AsyncIterator[Database]:
    """An engine and a journal for a database; nothing is connected before it is used.

    Raises:
        ConfigurationError: the URL is malformed or its driver is not installed.
    """
    with _on_disk(url) as place:
        engine = database_engine(place)
        readers = ThreadPoolExecutor(_READERS[engine.dialect.name], "oda reader")
        try:
            async with Journal(engine) as journal:
                yield Database(url, engine, journal, Readiness(journal), readers)
        finally:
            await asyncio.to_thread(readers.shutdown)
            await asyncio.to_thread(engine.dispose)


@contextmanager
def _on_disk(url: str) -> Iterator[str]:
    """Give a database in memory a file for as long as it is open: threads cannot share memory."""
    if not is_in_memory(url):
        yield url
        return
    with TemporaryDirectory(prefix="oda-") as directory:
        yield f"sqlite:///{Path(directory) / DATABASE_FILE}"
