"""Tables of the queue: made once, by whoever comes first, and only where they are ours."""

import asyncio

import psycopg
import pytest
from procrastinate.schema import SchemaManager
from sqlalchemy import text

from oda.database.database import Database, open_database
from oda.database.listener import libpq_url
from oda.errors import ConfigurationError
from oda.turn.queue import length
from oda.turn.queue_schema import install

pytestmark = pytest.mark.postgres


async def test_processes_that_start_together_make_one_set_of_tables(
    empty_postgres_url: str,
) -> None:
    async def start() -> str | None:
        async with open_database(empty_postgres_url) as database:
            await asyncio.to_thread(install, database.engine)
            return await version(database)

    versions = set(await asyncio.gather(*(start() for _ in range(4))))
    assert len(versions) == 1
    assert versions != {None}
    async with open_database(empty_postgres_url) as database:
        assert (await database.read(length)).waiting == 0


async def test_tables_of_a_newer_version_are_left_as_they_are(empty_postgres_url: str) -> None:
    async with open_database(empty_postgres_url) as database:
        await asyncio.to_thread(install, database.engine)
        later = "99.99.99_01_later.sql"
        await execute(empty_postgres_url, f"COMMENT ON TABLE procrastinate_jobs IS '{later}'")
        await asyncio.to_thread(install, database.engine)
        assert await version(database) == later


async def test_a_queue_of_somebody_else_is_refused_and_left_as_it_is(
    empty_postgres_url: str,
) -> None:
    await execute(empty_postgres_url, SchemaManager.get_schema())
    async with open_database(empty_postgres_url) as database:
        with pytest.raises(ConfigurationError, match="not ODA's") as refused:
            await asyncio.to_thread(install, database.engine)
        assert "search_path" in str(refused.value.remedy)
        assert await version(database) is None


async def test_a_schema_of_its_own_beside_somebody_elses_queue_works(
    empty_postgres_url: str,
) -> None:
    await execute(empty_postgres_url, SchemaManager.get_schema())
    await execute(empty_postgres_url, "CREATE SCHEMA oda")
    async with open_database(f"{empty_postgres_url}?options=-csearch_path%3Doda") as database:
        await asyncio.to_thread(install, database.engine)
        assert await version(database)


async def version(database: Database) -> str | None:
    query = text("SELECT obj_description(to_regclass('procrastinate_jobs'), 'pg_class')")
    return await database.read(lambda connection: connection.scalar(query))


async def execute(url: str, statements: str) -> None:
    async with await psycopg.AsyncConnection.connect(libpq_url(url), autocommit=True) as connection:
        await connection.execute(statements.encode())
