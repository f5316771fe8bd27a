"""Processes that open a new database together."""

import asyncio
import sqlite3
from pathlib import Path

from oda.database.database import open_database
from oda.database.engine import database_engine
from oda.session.sql_sessions import SqlSessions

PROCESSES = 8


async def test_a_new_file_that_another_connection_writes_to_is_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "oda.db"
    first = sqlite3.connect(file, isolation_level=None)
    first.execute("BEGIN IMMEDIATE")
    engine = database_engine(f"sqlite:///{file}")
    opening = asyncio.create_task(asyncio.to_thread(engine.connect))
    done, _ = await asyncio.wait([opening], timeout=0.5)
    assert not done
    first.execute("ROLLBACK")
    with await asyncio.wait_for(opening, 10) as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    first.close()
    engine.dispose()


async def test_all_that_prepare_the_tables_of_sessions_at_once_succeed(
    empty_postgres_url: str,
) -> None:
    async def prepare() -> None:
        async with open_database(empty_postgres_url) as database:
            await SqlSessions(database).prepare_tables()

    await asyncio.gather(*(prepare() for _ in range(PROCESSES)))
