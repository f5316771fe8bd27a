"""Fixtures that several kinds of test share."""

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import cache, wraps
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

import psycopg
import pytest
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.base_session_service import BaseSessionService
from hypothesis import settings
from psycopg import sql
from sqlalchemy.engine import make_url

from oda.database.database import open_database
from oda.session.sql_sessions import SqlSessions
from oda.settings import Settings
from oda.testing import FakeClock
from oda.workspace.sandbox.choice import Sandboxes
from oda.workspace.sandbox.sandbox import Report

settings.register_profile("oda", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("oda")

_PART_OF_LIMIT = 0.9
"""Part of pytest-timeout's limit after which an async test is cancelled."""
POSTGRES = "postgresql+psycopg://postgres@127.0.0.1:5432/postgres"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with tests that have a time limit of their own: at the end all would wait for them."""
    items.sort(key=lambda item: item.get_closest_marker("timeout") is None)
    for item in items:
        if isinstance(item, pytest.Function) and iscoroutinefunction(item.obj):
            marker = item.get_closest_marker("timeout")
            limit_s = float(marker.args[0] if marker else config.getini("timeout"))
            item.obj = _bounded(item.obj, _PART_OF_LIMIT * limit_s)


def _bounded(
    test: Callable[..., Awaitable[None]], limit_s: float
) -> Callable[..., Awaitable[None]]:
    """Cancel a test that takes too long; pytest-timeout's signal does not end uvloop's wait."""

    @wraps(test)
    async def bounded(*args: Any, **kwargs: Any) -> None:
        async with asyncio.timeout(limit_s):
            await test(*args, **kwargs)

    return bounded


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs a sandbox that is not there; `sandbox("bwrap")` names the one."""
    if (marker := item.get_closest_marker("sandbox")) is None:
        return
    for name in marker.args or ("auto",):
        report = _sandbox(name)
        if not report.available:
            reason = f"no sandbox here: {report.reason}"
            if os.environ.get("ODA_TEST_REQUIRE_SERVERS") == "1":
                pytest.fail(reason)
            pytest.skip(reason)


@cache
def _sandbox(name: str) -> Report:
    """What a sandbox says of itself on this machine."""
    return asyncio.run(Sandboxes(Settings.model_validate({"sandbox": name})).report())


@pytest.fixture
def fake_clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(scope="module")
def postgres_url() -> Iterator[str]:
    """URL of a new database on the PostgreSQL server of `ODA_TEST_POSTGRES_URL`."""
    server = make_url(os.environ.get("ODA_TEST_POSTGRES_URL") or POSTGRES)
    administrator = server.set(drivername="postgresql").render_as_string(hide_password=False)
    try:
        connection = psycopg.connect(administrator, autocommit=True, connect_timeout=5)
    except psycopg.OperationalError as error:
        reason = f"no PostgreSQL server at {server.host}:{server.port}: {error}"
        if os.environ.get("ODA_TEST_REQUIRE_SERVERS") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    name = f"oda_test_{uuid.uuid4().hex}"
    database = sql.Identifier(name)
    with connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(database))
        yield server.set(database=name).render_as_string(hide_password=False)
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(database))


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


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def session_service(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[BaseSessionService]:
    """ADK's session services, one after the other."""
    if request.param == "memory":
        yield InMemorySessionService()
        return
    url = (
        f"sqlite:///{tmp_path / 'sessions.db'}"
        if request.param == "sqlite"
        else request.getfixturevalue("postgres_url")
    )
    async with open_database(url) as database:
        service = SqlSessions(database)
        await service.prepare_tables()
        yield service
