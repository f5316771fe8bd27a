"""Servers that are killed, on SQLite and on PostgreSQL."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest
import pytest_asyncio
from psycopg import sql
from sqlalchemy.engine import make_url

from tests.support.fault_world import Place
from tests.support.server_lives import Nursery, open_nursery


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def nursery() -> AsyncIterator[Nursery]:
    async with open_nursery() as running:
        yield running


@pytest.fixture
def own_postgres(postgres_url: str) -> Iterator[str]:
    """URL of a new database for one test."""
    server = make_url(postgres_url)
    administrator = server.set(drivername="postgresql").render_as_string(hide_password=False)
    name = f"oda_test_{uuid.uuid4().hex}"
    database = sql.Identifier(name)
    with psycopg.connect(administrator, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(database))
        yield server.set(database=name).render_as_string(hide_password=False)
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(database))


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def own_database(request: pytest.FixtureRequest) -> str | None:
    """URL of a new database for one test; None for SQLite in the place's directory."""
    if request.param == "postgres":
        return str(request.getfixturevalue("own_postgres"))
    return None


@pytest.fixture
def settings() -> dict[str, str]:
    """More `ODA_…` variables for the servers of a place; modules have their own."""
    return {}


@pytest_asyncio.fixture(loop_scope="module")
async def place(
    nursery: Nursery, own_database: str | None, settings: dict[str, str], tmp_path: Path
) -> AsyncIterator[Place]:
    """A new database with no server on it yet, and no clients."""
    place = Place(nursery, tmp_path, own_database, **settings)
    try:
        yield place
    finally:
        await asyncio.shield(place.close())
