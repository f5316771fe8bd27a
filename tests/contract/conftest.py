"""Every kind of store, empty, a model, and both event loops that a server may run on."""

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis.asyncio
import uvloop
from sqlalchemy.engine import make_url

from oda.database.database import Database, open_database
from oda.database.migrate import upgrade
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
    url: str = request.getfixturevalue("postgres_url")
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
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[dict[str, Any]]:
    """The settings that choose a store of sessions, empty."""
    match request.param:
        case "memory":
            yield {"session_service": "memory://"}
        case "sqlite":
            yield {"database_url": f"sqlite:///{tmp_path / 'sessions.db'}"}
        case "postgres":
            yield {"database_url": request.getfixturevalue("postgres_url")}
        case "redis":
            async for url in _redis():
                yield {"session_service": url}


@pytest.fixture
async def redis_url() -> AsyncIterator[str]:
    """URL of a Redis server, which others may use too."""
    async for url in _redis():
        yield url


async def _redis() -> AsyncIterator[str]:
    async with redis.asyncio.from_url(REDIS, socket_connect_timeout=3) as client:
        try:
            await client.ping()
        except redis.exceptions.ConnectionError as error:
            _skip_or_fail(f"needs a Redis server: {error}")
        yield REDIS


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
