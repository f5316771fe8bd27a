"""Every kind of store, empty, a model, and both event loops that a server may run on."""

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis.asyncio
import uvloop
from google.adk.sessions.base_session_service import BaseSessionService
from sqlalchemy.engine import make_url

from oda.database.database import Database, open_database
from oda.database.migrate import upgrade
from oda.session.services import open_services
from oda.settings import Settings
from oda.testing import ModelServer

REDIS = os.environ.get("ODA_TEST_REDIS_URL", "redis://127.0.0.1:6379/0")
REQUIRED = bool(os.environ.get("ODA_TEST_REQUIRE_SERVERS"))


def pytest_asyncio_loop_factories(
    item: pytest.Item,
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Both loops for tests that ask for them, asyncio's own for all others."""
    asked = item.get_closest_marker("asyncio")
    if asked is None or "loop_factories" not in asked.kwargs:
        return {"asyncio": asyncio.new_event_loop}
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def empty_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of a database without tables."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'oda.db'}"
    return await _emptied(request.getfixturevalue("postgres_url"))


@pytest.fixture
async def empty_postgres_url(postgres_url: str) -> str:
    """URL of a PostgreSQL database without tables."""
    return await _emptied(postgres_url)


async def _emptied(url: str) -> str:
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    async with await psycopg.AsyncConnection.connect(plain, autocommit=True) as connection:
        await connection.execute("DROP SCHEMA public CASCADE")
        await connection.execute("CREATE SCHEMA public")
    return url


@pytest.fixture
async def database(empty_database_url: str) -> AsyncIterator[Database]:
    """An opened database with our tables."""
    async with open_database(empty_database_url) as opened:
        await upgrade(opened.engine)
        yield opened


@pytest.fixture(
    params=[
        "memory",
        "sqlite",
        pytest.param("postgres", marks=pytest.mark.postgres),
        pytest.param("redis", marks=pytest.mark.redis),
    ]
)
async def store(
    request: pytest.FixtureRequest, tmp_path: Path, user: str
) -> AsyncIterator[dict[str, Any]]:
    """The settings that choose a store of sessions, empty."""
    match request.param:
        case "memory":
            yield {"session_service": "memory://"}
        case "sqlite":
            yield {"database_url": f"sqlite:///{tmp_path / 'sessions.db'}"}
        case "postgres":
            yield {"database_url": request.getfixturevalue("postgres_url")}
        case "redis":
            async for url in running_redis():
                yield {"session_service": url}
                await forget(url, user)


@pytest.fixture
async def nodes(
    store: dict[str, Any], tmp_path: Path
) -> AsyncIterator[tuple[BaseSessionService, BaseSessionService]]:
    """The session services of two nodes on one store; memory has one node only."""
    settings = Settings.load(data_dir=tmp_path, config_dir=tmp_path, **store)
    async with open_sessions(settings) as one:
        if settings.session_service == "memory://":
            yield one, one
            return
        async with open_sessions(settings) as other:
            yield one, other


@asynccontextmanager
async def open_sessions(settings: Settings) -> AsyncIterator[BaseSessionService]:
    """Sessions as the settings say, as one node opens them."""
    async with (
        open_database(settings.resolved_database_url) as database,
        open_services(settings, database) as services,
    ):
        yield services.session


@pytest.fixture
async def redis_url() -> AsyncIterator[str]:
    """URL of a Redis server, which others may use too."""
    async for url in running_redis():
        yield url


async def running_redis() -> AsyncIterator[str]:
    """URL of the server, if it runs."""
    async with redis.asyncio.from_url(REDIS, socket_connect_timeout=3) as client:
        try:
            await client.ping()
        except redis.exceptions.ConnectionError as error:
            _skip_or_fail(f"needs a Redis server: {error}")
        yield REDIS


async def forget(url: str, name: str) -> None:
    """Remove all keys that a name is part of."""
    async with redis.asyncio.from_url(url) as client:
        async for key in client.scan_iter(f"oda:*{name}*", count=1000):
            await client.unlink(key)


def _skip_or_fail(reason: str) -> None:
    if REQUIRED:
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest.fixture
def user() -> str:
    """Somebody new, for stores that outlive a test."""
    return uuid.uuid4().hex
