"""An opened database, as those who store something get it."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from oda.database.engine import database_engine, first_line, shown
from oda.database.journal import Journal
from oda.errors import UnavailableError
from oda.loop import LoopDefault


@dataclass(frozen=True)
class Database:
    """One database of a process: reads go to the engine, writes through the journal."""

    url: str
    engine: AsyncEngine
    journal: Journal

    async def ping(self) -> None:
        """Ask it something.

        Raises:
            UnavailableError: it does not answer.
        """
        with self.reaching():
            async with self.engine.connect() as connection:
                await connection.execute(text("SELECT 1"))

    @contextmanager
    def reaching(self) -> Iterator[None]:
        """Tell failures to reach the database by its name.

        Raises:
            UnavailableError: it cannot be reached.
        """
        try:
            yield
        except (SQLAlchemyError, OSError, TimeoutError) as error:
            raise UnavailableError(
                f"the store {shown(self.url)} cannot be reached: {first_line(error)}",
                remedy="check ODA_DATABASE_URL and that the server is running",
            ) from error


default_database: LoopDefault[Database] = LoopDefault()
"""The process's database in an event loop; set by the composition root."""


@asynccontextmanager
async def open_database(url: str) -> AsyncIterator[Database]:
    """An engine and a journal for a database; nothing is connected before it is used.

    Raises:
        ConfigurationError: the URL is malformed or its driver is not installed.
    """
    engine = database_engine(url)
    try:
        async with Journal(engine) as journal:
            yield Database(url, engine, journal)
    finally:
        await engine.dispose()
