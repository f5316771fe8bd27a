"""Tables that an application keeps, in the database of the process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from weakref import WeakKeyDictionary

from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from oda.database.database import default_database
from oda.database.engine import database_engine, first_line
from oda.database.migrate import Schema, upgrade
from oda.errors import UnavailableError
from oda.settings import Settings


class ApplicationDatabase:
    """The tables of one application.

    Inside of an `OdaContext`, which `oda serve` and `oda chat` are, they stand beside the turns and
    share the pool. Elsewhere, in `adk web` for example, each transaction opens and closes an engine
    for the same database, so that nothing stays open that nobody would close.

    Args:
        schema: The tables, and the revisions that make them; applied before the first use.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._upgrades: WeakKeyDictionary[AsyncEngine, asyncio.Lock] = WeakKeyDictionary()
        self._upgraded: WeakKeyDictionary[AsyncEngine, bool] = WeakKeyDictionary()

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[AsyncConnection]:
        """A transaction; it commits when the block ends without an exception.

        Raises:
            UnavailableError: the database cannot be reached.
            ConfigurationError: it belongs to a newer version of the application.
        """
        async with _engine() as engine:
            try:
                await self._upgrade_once(engine)
                async with engine.begin() as connection:
                    yield connection
            except (OperationalError, InterfaceError, OSError) as error:
                raise UnavailableError(
                    f"The database cannot be reached: {first_line(error)}",
                    remedy="check ODA_DATABASE_URL and that the server is running",
                ) from error

    async def _upgrade_once(self, engine: AsyncEngine) -> None:
        if engine in self._upgraded:
            return
        async with self._upgrades.setdefault(engine, asyncio.Lock()):
            if engine not in self._upgraded:
                await upgrade(engine, self._schema)
                self._upgraded[engine] = True


@asynccontextmanager
async def _engine() -> AsyncIterator[AsyncEngine]:
    """The process's engine, or one for this once."""
    if (database := default_database.get()) is not None:
        yield database.engine
        return
    engine = database_engine(_settings().resolved_database_url)
    try:
        yield engine
    finally:
        await engine.dispose()


@cache
def _settings() -> Settings:
    return Settings.load()
