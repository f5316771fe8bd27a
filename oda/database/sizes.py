"""How much is in a database."""

from collections.abc import Mapping

from sqlalchemy import Connection, func, inspect, select, table
from sqlalchemy.ext.asyncio import AsyncEngine

from oda.database.schema import metadata, turns

_OF_ADK = ("sessions", "events")


async def rows_by_table(engine: AsyncEngine) -> Mapping[str, int]:
    """The number of rows of each of our tables and of ADK's, where they exist."""
    async with engine.connect() as connection:
        return await connection.run_sync(_rows_by_table)


async def turns_by_status(engine: AsyncEngine) -> Mapping[str, int]:
    """The number of turns in each status that occurs; the table must exist."""
    count = func.count().label("turns")
    query = select(turns.c.status, count).group_by(turns.c.status).order_by(turns.c.status)
    async with engine.connect() as connection:
        rows = (await connection.execute(query)).all()
    return {row.status: row.turns for row in rows}


def _rows_by_table(connection: Connection) -> dict[str, int]:
    existing = set(inspect(connection).get_table_names())
    return {
        name: connection.scalar(select(func.count()).select_from(table(name))) or 0
        for name in (*metadata.tables, *_OF_ADK)
        if name in existing
    }
