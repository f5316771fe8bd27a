"""Tables that an application keeps, in the database of the process."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from typing import TypeVar
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import InterfaceError, OperationalError

from oda.database.database import Database, default_database, open_database
from oda.database.failures import unavailable
from oda.database.migrate import Schema, upgrade
from oda.settings import Settings

T = TypeVar("T")


class ApplicationDatabase:
    """The tables of one application.

    Inside of an `OdaContext`, which `oda serve` and `oda chat` are, they stand beside the turns and
    share their connections. Elsewhere, in `adk web` for example, each use opens and closes the same
    database, since there is no one who would close it later.

    Args:
        schema: The tables and their migrations, which are applied before the first use.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._upgrades: WeakKeyDictionary[Engine, asyncio.Lock] = WeakKeyDictionary()
        self._upgraded: WeakKeyDictionary[Engine, bool] = WeakKeyDictionary()

    async def read(self, query: Callable[[Connection], T]) -> T:
        """Return what `query` finds; it runs in a thread.

        Raises:
            UnavailableError: the database cannot be reached.
            ConfigurationError: it belongs to a newer version of the application.
        """
        async with self._opened() as database:
            return await database.read(query)

    async def write(self, operation: Callable[[Connection], T]) -> T:
        """Run `operation` in a thread, in a transaction; returns its result once it is committed.

        Nothing of it is stored if it raises. It may be called again after a rollback.

        Raises: as `read`.
        """
        async with self._opened() as database:
            return await database.journal.run(operation)

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Database]:
        async with _database() as database:
            try:
                await self._upgrade_once(database.engine)
                yield database
            except (OperationalError, InterfaceError, OSError) as error:
                raise unavailable(error, "The database") from error

    async def _upgrade_once(self, engine: Engine) -> None:
        if engine in self._upgraded:
            return
        async with self._upgrades.setdefault(engine, asyncio.Lock()):
            if engine not in self._upgraded:
                await upgrade(engine, self._schema)
                self._upgraded[engine] = True


@asynccontextmanager
async def _database() -> AsyncIterator[Database]:
    """The process's database, or one for this use."""
    if (database := default_database.get()) is not None:
        yield database
        return
    async with open_database(_settings().resolved_database_url) as database:
        yield database


@cache
def _settings() -> Settings:
    return Settings.load()
