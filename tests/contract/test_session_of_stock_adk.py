"""ADK's own service and ours go on with each other's sessions."""

from collections.abc import AsyncIterator

import pytest
from google.adk.errors import StaleSessionError
from google.adk.sessions import DatabaseSessionService
from sqlalchemy import inspect

from oda.database.database import open_database
from oda.session.sql_sessions import SqlSessions
from tests.contract.stored_sessions import Sessions, change


@pytest.fixture
async def stock(empty_database_url: str) -> AsyncIterator[DatabaseSessionService]:
    url = empty_database_url.replace("sqlite:///", "sqlite+aiosqlite:///")
    async with DatabaseSessionService(url) as service:
        yield service


@pytest.fixture
async def ours(empty_database_url: str) -> AsyncIterator[SqlSessions]:
    async with open_database(empty_database_url) as database:
        yield SqlSessions(database)


@pytest.mark.parametrize("first", ["stock", "ours"])
async def test_each_goes_on_where_the_other_has_stopped(
    stock: DatabaseSessionService, ours: SqlSessions, first: str
) -> None:
    services = [Sessions(stock, "app", "user"), Sessions(ours, "app", "user")]
    if first == "ours":
        services.reverse()
    born = {"a": 0, "user:b": {"deep": ["äöü", None, 1.5]}, "app:c": "x"}
    await services[0].create("s", born)
    for n in range(6):
        here = services[(n + 1) % 2]
        session = await here.get("s")
        await here.append(session, change({"a": n, f"user:n{n}": n}, n=n))
    seen = [await one.get("s") for one in services]
    for session in seen:
        assert [(event.custom_metadata or {})["n"] for event in session.events] == [*range(6)]
        assert session.state == {**born, "a": 5, **{f"user:n{n}": n for n in range(6)}}
    assert seen[0].events == seen[1].events
    assert seen[0]._storage_update_marker == seen[1]._storage_update_marker


async def test_each_notices_that_the_other_has_written(
    stock: DatabaseSessionService, ours: SqlSessions
) -> None:
    services = [Sessions(stock, "app", "user"), Sessions(ours, "app", "user")]
    await services[0].create("s")
    for one, other in (services, services[::-1]):
        read = await one.get("s")
        await other.append(await other.get("s"), change({"k": 1}))
        with pytest.raises(StaleSessionError):
            await one.append(read, change({"k": 2}))


async def test_the_tables_are_those_that_adk_makes(
    stock: DatabaseSessionService, ours: SqlSessions
) -> None:
    await ours.prepare_tables()
    engine = ours.database.engine

    def shape() -> dict[str, tuple[list[str], list[str]]]:
        found = inspect(engine)
        return {
            table: (
                [str(column) for column in found.get_columns(table)],
                sorted(str(index["name"]) for index in found.get_indexes(table)),
            )
            for table in ("sessions", "events", "app_states", "user_states")
        }

    before = shape()
    await stock.prepare_tables()
    assert shape() == before
