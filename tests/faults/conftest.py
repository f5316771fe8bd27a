"""Servers that are killed, on SQLite and on PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from oda.cli.chaos.processes import ForkServer, open_fork_server
from tests.support.fault_world import TellerPlace


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fork_server() -> AsyncIterator[ForkServer]:
    async with open_fork_server() as running:
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
    fork_server: ForkServer, own_database: str | None, settings: dict[str, str], tmp_path: Path
) -> AsyncIterator[TellerPlace]:
    """A new database with no server on it yet, and no clients."""
    place = TellerPlace(fork_server, tmp_path, own_database, **settings)
    try:
        yield place
    finally:
        await asyncio.shield(place.close())
