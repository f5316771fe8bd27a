"""Bring a database to the schema of this version of `oda`."""

from pathlib import Path

from sqlalchemy import Connection, inspect, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from oda.database.schema import REVISION
from oda.errors import ConfigurationError

VERSION_TABLE = "oda_schema_version"
_LOCK = 0x0DA
"""Of PostgreSQL's advisory locks, so that nodes that start together migrate one after the other."""


async def current_revision(engine: AsyncEngine) -> str | None:
    """The revision that the database is at; None when it has none of our tables."""
    async with engine.connect() as connection:
        return await connection.run_sync(_revision)


async def upgrade(engine: AsyncEngine) -> None:
    """Apply the revisions that are missing; for a database that has all of them, it only looks.

    Raises:
        ConfigurationError: the database belongs to a newer version of `oda`.
    """
    found = await current_revision(engine)
    if found == REVISION:
        return
    if found is not None and found > REVISION:
        raise ConfigurationError(
            f"the database is at revision {found}, this version of oda knows {REVISION}",
            remedy="install the newer version of oda, or use another database",
        )
    async with engine.connect() as connection:
        await _lock(connection)
        await connection.run_sync(_upgrade)
        await connection.commit()


async def _lock(connection: AsyncConnection) -> None:
    if connection.dialect.name == "sqlite":
        await connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        await connection.execute(text("SELECT pg_advisory_xact_lock(:id)"), {"id": _LOCK})


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    found = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()
    return str(found) if found is not None else None


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
