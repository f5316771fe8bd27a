"""A pooled connection that has died is replaced before anybody uses it."""

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import OperationalError

from oda.database.engine import database_engine

pytestmark = pytest.mark.postgres


async def backend(engine: Engine) -> int:
    with engine.connect() as connection:
        return int((connection.execute(text("SELECT pg_backend_pid()"))).scalar_one())


async def kill(url: str, pid: int) -> None:
    engine = database_engine(url)
    with engine.connect() as connection:
        connection.execute(text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": pid})
    engine.dispose()


async def test_a_connection_is_kept(postgres_url: str) -> None:
    engine = database_engine(postgres_url, trusted_s=0)
    assert await backend(engine) == await backend(engine)
    engine.dispose()


async def test_after_a_pause_it_is_asked_whether_it_lives(postgres_url: str) -> None:
    engine = database_engine(postgres_url, trusted_s=0)
    first = await backend(engine)
    await kill(postgres_url, first)
    assert await backend(engine) != first
    engine.dispose()


async def test_one_that_was_just_used_fails_once(postgres_url: str) -> None:
    engine = database_engine(postgres_url, trusted_s=3600)
    first = await backend(engine)
    await kill(postgres_url, first)
    with pytest.raises(OperationalError):
        await backend(engine)
    assert await backend(engine) != first
    engine.dispose()
