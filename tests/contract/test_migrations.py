"""The revisions bring any database to the schema, once, whoever starts together."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from google.adk.events import Event
from sqlalchemy import Connection, Engine, MetaData, Table, event, insert, inspect, text
from sqlalchemy.exc import DBAPIError

from oda.database.engine import database_engine
from oda.database.migrate import ODA_SCHEMA, alembic_config, current_revision, upgrade
from oda.database.schema import REVISION, metadata
from oda.errors import ConfigurationError
from oda.turn.log import Entry
from oda.turn.reader import entries_of
from oda.turn.record import Turn, TurnStatus, TurnUsage
from oda.turn.rows import columns_of
from tests.support.turns import assert_whole, became, log_of, new_turn, open_node, spoken

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


async def test_processes_that_start_together_migrate_once(empty_database_url: str) -> None:
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


async def set_revision(engine: Engine, revision: str) -> None:
    await upgrade(engine)
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '{revision}'"))


async def test_newer_database_of_the_same_line_is_accepted_and_left_alone(engine: Engine) -> None:
    await set_revision(engine, f"{REVISION[:2]}99")
    await upgrade(engine)
    assert await current_revision(engine) == f"{REVISION[:2]}99"


@pytest.mark.parametrize("revision", ["0200", "9999"])
async def test_database_of_a_newer_line_is_refused_and_left_alone(
    engine: Engine, revision: str
) -> None:
    await set_revision(engine, revision)
    with pytest.raises(ConfigurationError, match=revision):
        await upgrade(engine)
    assert await current_revision(engine) == revision


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


async def fill_earlier(engine: Engine, revision: str, logs: Mapping[str, Sequence[Entry]]) -> None:
    """Make a database of an earlier version with turns, by their logs.

    A turn is as its last record says. Entries hold the whole JSON that clients get.
    """
    with engine.connect() as connection:
        command.upgrade(alembic_config(connection, ODA_SCHEMA), revision)
        earlier = Table("oda_turns", MetaData(), autoload_with=connection)
        for position, (turn_id, entries) in enumerate(logs.items(), start=1):
            turn = [entry.data for entry in entries if isinstance(entry.data, Turn)][-1]
            columns = {"app", "user_id", "session_id", "agent", "metadata", "created_at"}
            row = {
                **columns_of(turn),
                **turn.model_dump(include=columns),
                "turn_id": turn_id,
                "input": {"message": {"role": "user", "parts": [{"text": "hello"}]}},
                "position": position,
                "interrupts": False,
                "begun": turn.status != "queued",
                "owner": "a node" if turn.status == "running" else None,
                "recoveries": 0,
                "cancel_requested": False,
            }
            connection.execute(insert(earlier).values(row))
            for entry in entries:
                connection.execute(
                    text(
                        "INSERT INTO oda_turn_entries (turn_id, number, kind, data) "
                        "VALUES (:turn_id, :number, :kind, :data)"
                    ),
                    {
                        "turn_id": turn_id,
                        "number": entry.number,
                        "kind": entry.kind,
                        "data": entry.json.decode(),
                    },
                )
        connection.commit()


def log(turn: Turn, *statuses: TurnStatus) -> list[Entry]:
    """The log of a turn that was accepted, said something, and became these."""
    things: list[Turn | Event] = [turn, spoken("hello")]
    for status in statuses:
        turn = became(turn, status)
        things.append(turn)
    return [
        Entry.of(n, "event" if isinstance(one, Event) else "done" if one.final else "turn", one)
        for n, one in enumerate(things, start=1)
    ]


@pytest.mark.parametrize("revision", ["0003", "0004"])
async def test_logs_of_an_earlier_version_are_read_as_they_were(
    engine: Engine, revision: str
) -> None:
    queued, running, ended = new_turn(metadata={"from": "a test"}), new_turn(), new_turn()
    used = ended.model_copy(update={"reply": "hello", "usage": TurnUsage(model_calls=3)})
    logs = {
        queued.turn_id: log(queued),
        running.turn_id: log(running, "running"),
        ended.turn_id: log(used, "running", "succeeded"),
    }
    await fill_earlier(engine, revision, logs)
    await upgrade(engine)
    with engine.connect() as connection:
        for turn_id, entries in logs.items():
            assert entries_of(connection, turn_id) == entries


async def test_turn_that_a_node_of_an_earlier_version_ran_goes_on(
    engine: Engine, empty_database_url: str
) -> None:
    turn = new_turn()
    entries = log(turn, "running")
    await fill_earlier(engine, "0004", {turn.turn_id: entries})
    async with open_node(empty_database_url, "a process") as node:
        assert await node.store.unfinished() == [turn.turn_id]
        stored = await node.store.stored(turn.turn_id)
        assert (stored.run, stored.message_may_be_stored) == (0, True)
        taken = await node.take(turn)
        assert taken is not None
        assert (taken.was_running, taken.stored.run, taken.stored.recoveries) == (True, 1, 1)
        await node.add(turn, "and on")
        ended = await node.finish(taken.stored.turn)
        found = await log_of(node, turn.turn_id)
    assert_whole(found)
    assert found[: len(entries)] == entries
    assert found[-1].data == ended
