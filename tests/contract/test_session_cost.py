"""What a session costs does not grow with its length, when it is read through a window.

Of a server the bytes are counted that go to it and come from it, of SQLite the steps of its
virtual machine.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig
from google.adk.sessions.schemas.v1 import StorageEvent
from sqlalchemy import Connection, make_url
from sqlalchemy.event import listen
from sqlalchemy.orm import Session as OrmSession

from oda.cli.chaos.relay import open_relay
from oda.database.database import open_database
from oda.session.redis_sessions import RedisSessions, open_redis
from oda.session.sql_sessions import SqlSessions
from tests.contract.conftest import forget, running_redis
from tests.contract.stored_sessions import Sessions, change

SHORT, LONG = 20, 1000
WINDOW = GetSessionConfig(num_recent_events=10)
ROOM = 1.2
"""Numbers get longer, and trees a little deeper."""

Meter = Callable[[], int]
"""What the store has done up to now."""


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("postgres", marks=pytest.mark.postgres),
        pytest.param("redis", marks=pytest.mark.redis),
    ]
)
async def metered(
    request: pytest.FixtureRequest, tmp_path: Path, user: str
) -> AsyncIterator[tuple[Sessions, Meter]]:
    """An empty store, and what it does."""
    opened: AbstractAsyncContextManager[tuple[BaseSessionService, Meter]]
    match request.param:
        case "sqlite":
            opened = sqlite_on_a_meter(f"sqlite:///{tmp_path / 'sessions.db'}")
        case "postgres":
            opened = postgres_on_a_meter(request.getfixturevalue("postgres_url"))
        case "redis":
            opened = redis_on_a_meter(user)
    async with opened as (service, meter):
        yield Sessions(service, app_name=f"app_{user}", user_id=user), meter


@asynccontextmanager
async def redis_on_a_meter(user: str) -> AsyncIterator[tuple[RedisSessions, Meter]]:
    async for url in running_redis():
        server = make_url(url)
        async with (
            open_relay(server.host or "127.0.0.1", server.port or 6379) as relay,
            open_redis(f"redis://127.0.0.1:{relay.port}/0") as client,
        ):
            yield RedisSessions(client), lambda: relay.bytes_passed
        await forget(url, user)


@asynccontextmanager
async def postgres_on_a_meter(url: str) -> AsyncIterator[tuple[SqlSessions, Meter]]:
    server = make_url(url)
    async with open_relay(server.host or "127.0.0.1", server.port or 5432) as relay:
        relayed = server.set(host="127.0.0.1", port=relay.port)
        async with open_database(relayed.render_as_string(hide_password=False)) as database:
            yield SqlSessions(database), lambda: relay.bytes_passed


@asynccontextmanager
async def sqlite_on_a_meter(url: str) -> AsyncIterator[tuple[SqlSessions, Meter]]:
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1

    def watch(connection: Any, _: object) -> None:
        connection.set_progress_handler(step, 1)

    async with open_database(url) as database:
        listen(database.engine, "connect", watch)
        yield SqlSessions(database), lambda: steps


async def filled(sessions: Sessions, name: str, events: int) -> None:
    """A session with that many events of about the same size."""
    session = await sessions.create(name, {"k": 1})
    alike = [change({}, n=n, timestamp=1_800_000_000.0 + n) for n in range(1000, 1000 + events)]
    if isinstance(sessions.service, SqlSessions):

        def add(connection: Connection) -> None:
            with OrmSession(connection) as orm:
                orm.add_all([StorageEvent.from_event(session, event) for event in alike])
                orm.flush()

        await sessions.service.database.journal.run(add)
    else:
        for event in alike:
            await sessions.append(session, event)


async def costs(sessions: Sessions, meter: Meter, name: str) -> dict[str, int]:
    """Of reading a window, of an append to it, and of reading the state alone."""
    before = meter()
    session = await sessions.get(name, WINDOW)
    read = meter()
    assert len(session.events) == 10
    await sessions.append(session, change({"k": 2}, n=9999, timestamp=1_900_000_000.0))
    appended = meter()
    await sessions.get(name, GetSessionConfig(num_recent_events=0))
    return {"window": read - before, "append": appended - read, "state": meter() - appended}


async def test_a_long_session_costs_what_a_short_one_costs(
    metered: tuple[Sessions, Meter],
) -> None:
    sessions, meter = metered
    for name, events in (("warm", SHORT), ("short", SHORT), ("long", LONG)):
        await filled(sessions, name, events)
    await costs(sessions, meter, "warm")
    short = await costs(sessions, meter, "short")
    long = await costs(sessions, meter, "long")
    assert all(cost > 0 for cost in short.values())
    assert {step: long[step] <= short[step] * ROOM for step in short} == dict.fromkeys(short, True)


async def test_a_list_costs_no_events(metered: tuple[Sessions, Meter]) -> None:
    sessions, meter = metered
    lists = []
    for events in (SHORT, SHORT, LONG):
        await filled(sessions, "s", events)
        await sessions.list()
        before = meter()
        assert len(await sessions.list()) == 1
        lists.append(meter() - before)
        await sessions.delete("s")
    assert 0 < lists[2] <= lists[1] * ROOM


async def test_a_page_costs_what_is_on_it(metered: tuple[Sessions, Meter]) -> None:
    sessions, meter = metered
    few, many = sessions, sessions.of(f"{sessions.user_id}-many")
    pages = []
    for owner, number, size in ((few, 3, 10), (few, 0, 10), (many, 120, 20_000)):
        for n in range(number):
            await owner.create(f"s{n:03}", {"k": "x" * size})
        await owner.page(2)
        before = meter()
        assert len(await owner.page(2)) == 2
        pages.append(meter() - before)
    assert 0 < pages[2] <= pages[1] * ROOM
