"""Schema migrations with alembic."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, MetaData, inspect, text

from oda.database import schema
from oda.database.postgres import unhurried
from oda.errors import ConfigurationError

if TYPE_CHECKING:
    from alembic.config import Config

_LOCK = 0x0DA
"""Key of the PostgreSQL advisory lock that serializes the migrations of nodes starting together."""
_SCHEMA = "schema"
"""Attribute of alembic's configuration that holds the `Schema`."""


@dataclass(frozen=True)
class Schema:
    """The tables of one component and the revisions that create them."""

    metadata: MetaData
    migrations: Path
    """An alembic folder; its `env.py` calls `run_revisions`."""
    revision: str
    """The newest revision. Its first two digits are its line: within a line revisions only add, so
    that older versions work on a newer revision."""
    version_table: str
    """Table that stores the database's current revision; each component has its own."""


ODA_SCHEMA = Schema(
    metadata=schema.metadata,
    migrations=Path(__file__).parent / "migrations",
    revision=schema.REVISION,
    version_table="oda_schema_version",
)


async def current_revision(engine: Engine, schema: Schema = ODA_SCHEMA) -> str | None:
    """Return the database's current revision, or None if the schema was never installed."""
    return await asyncio.to_thread(_current_revision, engine, schema)


async def upgrade(engine: Engine, schema: Schema = ODA_SCHEMA) -> None:
    """Apply the missing revisions, if any.

    Raises:
        ConfigurationError: the database belongs to a newer line of versions.
    """
    await asyncio.to_thread(_upgrade, engine, schema)


def _current_revision(engine: Engine, schema: Schema) -> str | None:
    with engine.connect() as connection:
        if not inspect(connection).has_table(schema.version_table):
            return None
        found = connection.execute(text(f"SELECT version_num FROM {schema.version_table}")).scalar()
    return str(found) if found is not None else None


def _upgrade(engine: Engine, schema: Schema) -> None:
    found = _current_revision(engine, schema)
    if found == schema.revision:
        return
    if found is not None and found > schema.revision:
        if _line(found) == _line(schema.revision):
            return
        raise ConfigurationError(
            f"{schema.version_table}: the database is at revision {found}, this version knows "
            f"{schema.revision}",
            remedy="install the newer version, or use another database",
        )
    from alembic import command

    with unhurried(engine) as connection:
        _lock(connection)
        command.upgrade(alembic_config(connection, schema), "head")
        connection.commit()


def _line(revision: str) -> str:
    return revision[:2]


def alembic_config(connection: Connection, schema: Schema) -> "Config":
    """Return the configuration that alembic's commands need for a schema."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(schema.migrations))
    config.attributes["connection"] = connection
    config.attributes[_SCHEMA] = schema
    return config


def run_revisions() -> None:
    """Run the revisions on the connection of `upgrade`.

    Called by the `env.py` of a migrations folder, and so by alembic only.
    """
    from alembic import context

    schema: Schema = context.config.attributes[_SCHEMA]
    tables = schema.metadata.tables
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=schema.metadata,
        version_table=schema.version_table,
        include_name=lambda name, kind, _: kind != "table" or name in tables,
        render_as_batch=True,
    )
    with context.begin_transaction():
        context.run_migrations()


def _lock(connection: Connection) -> None:
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.execute(text("SELECT pg_advisory_xact_lock(:id)"), {"id": _LOCK})
