"""Servers that are killed, on SQLite and on PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.fault_world import Place
from tests.support.server_lives import Nursery, open_nursery


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def nursery() -> AsyncIterator[Nursery]:
    async with open_nursery() as running:
        yield running


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
