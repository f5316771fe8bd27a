"""The revisions bring any database to the schema, once, whoever starts together."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, Engine, event, insert, inspect, text
from sqlalchemy.exc import DBAPIError

from oda.database.engine import database_engine
from oda.database.migrate import ODA_SCHEMA, alembic_config, current_revision, upgrade
from oda.database.schema import REVISION, metadata, turns
from oda.errors import ConfigurationError
from oda.turn.log import Entry
from oda.turn.reader import entries_of
from oda.turn.rows import columns_of
from tests.support.turns import new_turn, spoken

VERSION_TABLE = ODA_SCHEMA.version_table
PATIENCE_S = 30.0


@pytest.fixture
async def engine(empty_database_url: str) -> AsyncIterator[Engine]:
    engine = database_engine(empty_database_url)
    yield engine
    engine.dispose()


async def tables(engine: Engine) -> set[str]:
    with engine.connect() as connection:
        return set(inspect(connection).get_table_names())


def differences(connection: Connection) -> list[Any]:
    """What a revision would have to change, comments and triggers aside."""
    context = MigrationContext.configure(
        connection, opts={"version_table": VERSION_TABLE, "compare_type": True}
    )
    found: list[Any] = compare_metadata(context, metadata)
    return found


async def test_upgrade_from_nothing_makes_all_tables(engine: Engine) -> None:
    assert await current_revision(engine) is None
    await upgrade(engine)
    assert await current_revision(engine) == REVISION
    assert await tables(engine) == {*metadata.tables, VERSION_TABLE}


async def test_migrated_schema_is_the_one_in_the_code(engine: Engine) -> None:
    await upgrade(engine)
    with engine.connect() as connection:
        assert differences(connection) == []


async def test_second_upgrade_only_asks_for_the_revision(engine: Engine) -> None:
    await upgrade(engine)
    statements: list[str] = []
    event.listen(
        engine,
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
        with engines[0].connect() as connection:
            versions = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}"))
            assert versions.scalars().all() == [REVISION]
    finally:
        for engine in engines:
            engine.dispose()


async def test_database_of_a_newer_version_is_refused_and_left_alone(engine: Engine) -> None:
    await upgrade(engine)
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    with pytest.raises(ConfigurationError, match="9999"):
        await upgrade(engine)
    assert await current_revision(engine) == "9999"


async def test_tables_of_others_are_left_alone(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE sessions (id INTEGER)"))
        connection.execute(text("INSERT INTO sessions VALUES (1)"))
    await upgrade(engine)
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT id FROM sessions")) == 1


async def test_downgrade_leaves_nothing_and_can_be_undone(engine: Engine) -> None:
    await upgrade(engine)
    with engine.connect() as connection:
        command.downgrade(alembic_config(connection, ODA_SCHEMA), "base")
        connection.commit()
    assert await tables(engine) == {VERSION_TABLE}
    assert await current_revision(engine) is None
    await upgrade(engine)
    assert await tables(engine) == {*metadata.tables, VERSION_TABLE}


@pytest.mark.parametrize("change", ["UPDATE oda_audit SET status = 0", "DELETE FROM oda_audit"])
async def test_audit_can_only_grow(engine: Engine, change: str) -> None:
    await upgrade(engine)
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO oda_audit (id, at, actor, user_id, action, target, status, detail) "
                "VALUES (1, '2026-01-01', 'a', 'u', 'x', 'y', 200, '{}')"
            )
        )
    with pytest.raises(DBAPIError, match="append-only"), engine.begin() as connection:
        connection.execute(text(change))
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT status FROM oda_audit")) == 200


async def test_logs_of_an_earlier_version_are_read_as_they_were(engine: Engine) -> None:
    queued = new_turn()
    entries = [Entry.of(1, "turn", queued), Entry.of(2, "event", spoken("hello"))]
    with engine.connect() as connection:
        command.upgrade(alembic_config(connection, ODA_SCHEMA), "0003")
        row = {
            **columns_of(queued),
            **queued.model_dump(include={"turn_id", "app", "user_id", "session_id", "created_at"}),
            "metadata": {},
            "input": {},
            "position": 1,
            "interrupts": False,
            "begun": False,
            "recoveries": 0,
            "cancel_requested": False,
        }
        connection.execute(insert(turns).values(row))
        for entry in entries:
            earlier = text("INSERT INTO oda_turn_entries VALUES (:turn_id, :number, :kind, :data)")
            row = {"turn_id": queued.turn_id, "number": entry.number, "kind": entry.kind}
            connection.execute(earlier, {**row, "data": entry.json.decode()})
        connection.commit()
    await upgrade(engine)
    with engine.connect() as connection:
        assert entries_of(connection, queued.turn_id) == entries
