"""The revisions bring any database to the schema, once, whoever starts together."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, event, inspect, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from oda.database.engine import database_engine
from oda.database.migrate import ODA_SCHEMA, alembic_config, current_revision, upgrade
from oda.database.schema import REVISION, metadata
from oda.errors import ConfigurationError

VERSION_TABLE = ODA_SCHEMA.version_table
PATIENCE_S = 30.0


@pytest.fixture
async def engine(empty_database_url: str) -> AsyncIterator[AsyncEngine]:
    engine = database_engine(empty_database_url)
    yield engine
    await engine.dispose()


async def tables(engine: AsyncEngine) -> set[str]:
    async with engine.connect() as connection:
        return set(await connection.run_sync(lambda one: inspect(one).get_table_names()))


def differences(connection: Connection) -> list[Any]:
    """What a revision would have to change, comments and triggers aside."""
    context = MigrationContext.configure(
        connection, opts={"version_table": VERSION_TABLE, "compare_type": True}
    )
    found: list[Any] = compare_metadata(context, metadata)
    return found


async def test_upgrade_from_nothing_makes_all_tables(engine: AsyncEngine) -> None:
    assert await current_revision(engine) is None
    await upgrade(engine)
    assert await current_revision(engine) == REVISION
    assert await tables(engine) == {*metadata.tables, VERSION_TABLE}


async def test_migrated_schema_is_the_one_in_the_code(engine: AsyncEngine) -> None:
    await upgrade(engine)
    async with engine.connect() as connection:
        assert await connection.run_sync(differences) == []


async def test_second_upgrade_only_asks_for_the_revision(engine: AsyncEngine) -> None:
    await upgrade(engine)
    statements: list[str] = []
    event.listen(
        engine.sync_engine,
        "before_cursor_execute",
        lambda _c, _cursor, statement, *_: statements.append(statement),
    )
    await upgrade(engine)
    assert len(statements) <= 2
    assert VERSION_TABLE in statements[-1]
    assert all(s.lstrip().upper().startswith(("SELECT", "PRAGMA")) for s in statements)


async def test_nodes_that_start_together_migrate_once(empty_database_url: str) -> None:
    engines = [database_engine(empty_database_url) for _ in range(3)]
    try:
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*(upgrade(engine) for engine in engines))
        for engine in engines:
            assert await current_revision(engine) == REVISION
        async with engines[0].connect() as connection:
            versions = await connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}"))
            assert versions.scalars().all() == [REVISION]
    finally:
        for engine in engines:
            await engine.dispose()


async def test_database_of_a_newer_version_is_refused_and_left_alone(engine: AsyncEngine) -> None:
    await upgrade(engine)
    async with engine.begin() as connection:
        await connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    with pytest.raises(ConfigurationError, match="9999"):
        await upgrade(engine)
    assert await current_revision(engine) == "9999"


async def test_tables_of_others_are_left_alone(engine: AsyncEngine) -> None:
    async with engine.begin() as connection:
        await connection.execute(text("CREATE TABLE sessions (id INTEGER)"))
        await connection.execute(text("INSERT INTO sessions VALUES (1)"))
    await upgrade(engine)
    async with engine.connect() as connection:
        assert await connection.scalar(text("SELECT id FROM sessions")) == 1


async def test_downgrade_leaves_nothing_and_can_be_undone(engine: AsyncEngine) -> None:
    def downgrade(connection: Connection) -> None:
        command.downgrade(alembic_config(connection, ODA_SCHEMA), "base")

    await upgrade(engine)
    async with engine.connect() as connection:
        await connection.run_sync(downgrade)
        await connection.commit()
    assert await tables(engine) == {VERSION_TABLE}
    assert await current_revision(engine) is None
    await upgrade(engine)
    assert await tables(engine) == {*metadata.tables, VERSION_TABLE}


@pytest.mark.parametrize("change", ["UPDATE oda_audit SET status = 0", "DELETE FROM oda_audit"])
async def test_audit_can_only_grow(engine: AsyncEngine, change: str) -> None:
    await upgrade(engine)
    async with engine.begin() as connection:
        await connection.execute(
            text(
                "INSERT INTO oda_audit (id, at, actor, user_id, action, target, status, detail) "
                "VALUES (1, '2026-01-01', 'a', 'u', 'x', 'y', 200, '{}')"
            )
        )
    with pytest.raises(DBAPIError, match="append-only"):
        async with engine.begin() as connection:
            await connection.execute(text(change))
    async with engine.connect() as connection:
        assert await connection.scalar(text("SELECT status FROM oda_audit")) == 200
