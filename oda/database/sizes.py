"""Row counts of a database."""

import asyncio
from collections.abc import Callable, Mapping
from typing import TypeVar

from sqlalchemy import Connection, Engine, func, inspect, select, table

from oda.database.postgres import unhurried
from oda.database.schema import metadata, turns

_OF_ADK = ("sessions", "events")


T = TypeVar("T")


async def rows_by_table(engine: Engine) -> Mapping[str, int]:
    """Return the number of rows of each existing ODA and ADK table, by name."""
    return await asyncio.to_thread(_run_count, engine, _rows_by_table)


async def turns_by_status(engine: Engine) -> Mapping[str, int]:
    """Return the number of turns by status; the table must exist."""
    return await asyncio.to_thread(_run_count, engine, _turns_by_status)


def _run_count(engine: Engine, count: Callable[[Connection], T]) -> T:
    with unhurried(engine) as connection:
        return count(connection)


def _turns_by_status(connection: Connection) -> dict[str, int]:
    count = func.count().label("turns")
    query = select(turns.c.status, count).group_by(turns.c.status).order_by(turns.c.status)
    return {row.status: row.turns for row in connection.execute(query)}


def _rows_by_table(connection: Connection) -> dict[str, int]:
    existing = set(inspect(connection).get_table_names())
    return {
        name: connection.scalar(select(func.count()).select_from(table(name))) or 0
        for name in (*metadata.tables, *_OF_ADK)
        if name in existing
    }
