"""Sessions in Redis: those that ADK's own service has stored, and broken connections."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from google.adk.integrations.redis import RedisSessionService, RedisSessionServiceConfig
from google.adk.sessions import Session
from redis.asyncio import Redis

from oda.cli.chaos.relay import open_relay
from oda.errors import UnavailableError
from oda.session.redis_adoption import adopt_adk_sessions
from oda.session.redis_sessions import RedisSessions, open_redis
from oda.settings import Settings
from tests.contract.conftest import open_sessions
from tests.contract.stored_sessions import Sessions, change

pytestmark = pytest.mark.redis


@pytest.fixture
async def client(redis_url: str, user: str) -> AsyncIterator[Redis]:
    """A client of a database of its own, in which no other test adopts anything."""
    async with open_redis(urlsplit(redis_url)._replace(path="/9").geturl()) as client:
        yield client
        async for key in client.scan_iter(f"*{user}*", count=1000):
            await client.unlink(key)


def of_adk(client: Redis, user: str) -> Sessions:
    service = RedisSessionService(RedisSessionServiceConfig(), redis_client=client)
    return Sessions(service, app_name=f"app_{user}", user_id=user)


async def stored_by_adk(client: Redis, user: str) -> Session:
    sessions = of_adk(client, user)
    session = await sessions.create("s", {"k": [1], "user:k": 2, "app:k": "三"})
    for n in range(3):
        await sessions.append(session, change({"n": n, "k": None}, n=n, timestamp=100.0 + n))
    return session


async def test_what_adk_has_stored_is_adopted_once(client: Redis, user: str) -> None:
    before = await stored_by_adk(client, user)
    await asyncio.gather(*(adopt_adk_sessions(client) for _ in range(3)))
    sessions = Sessions(RedisSessions(client), app_name=f"app_{user}", user_id=user)
    adopted = await sessions.get("s")
    assert adopted.model_dump() == before.model_dump()
    assert await sessions.list() == [("s", before.state, [])]
    assert not [key async for key in client.scan_iter(f"adk:*{user}*", count=1000)]
    await sessions.append(adopted, change({"n": 3}, n=3))
    await adopt_adk_sessions(client)
    assert len((await sessions.get("s")).events) == 4


async def test_what_is_adopted_does_not_expire(client: Redis, user: str) -> None:
    await stored_by_adk(client, user)
    await adopt_adk_sessions(client)
    lifetimes = [await client.ttl(key) async for key in client.scan_iter(f"oda:*{user}*")]
    assert set(lifetimes) == {-1}


async def test_newer_values_are_not_overwritten(client: Redis, user: str) -> None:
    ours = Sessions(RedisSessions(client), app_name=f"app_{user}", user_id=user)
    await ours.create("s", {"k": "ours", "user:k": "ours"})
    await stored_by_adk(client, user)
    await adopt_adk_sessions(client)
    assert (await ours.get("s")).state == {"k": "ours", "user:k": "ours", "app:k": "三"}


async def test_sessions_of_the_layout_without_an_order_are_listed(client: Redis, user: str) -> None:
    ours = Sessions(RedisSessions(client), app_name=f"app_{user}", user_id=user)
    for n, name in enumerate("ab"):
        session = await ours.create(name)
        await ours.append(session, change({}, n=n, timestamp=100.0 + n))
    await client.unlink(f"oda:sessions_by_time:app_{user}:{user}")
    await client.sadd(f"oda:sessions:app_{user}:{user}", "a", "b", "gone")
    await adopt_adk_sessions(client)
    assert [one.session_id for one in await ours.page(5)] == ["b", "a"]
    assert not await client.exists(f"oda:sessions:app_{user}:{user}")


async def test_what_cannot_be_read_stays(client: Redis, user: str) -> None:
    await stored_by_adk(client, user)
    await client.set(f"adk:session:app_{user}:{user}:broken", json.dumps({"no": "session"}))
    await adopt_adk_sessions(client)
    assert await client.exists(f"adk:session:app_{user}:{user}:broken")
    sessions = Sessions(RedisSessions(client), app_name=f"app_{user}", user_id=user)
    assert len((await sessions.get("s")).events) == 3


async def test_an_event_whose_answer_was_lost_is_stored_once(redis_url: str, user: str) -> None:
    server = urlsplit(redis_url)
    async with (
        open_relay(server.hostname or "127.0.0.1", server.port or 6379) as relay,
        open_redis(f"redis://127.0.0.1:{relay.port}/9") as client,
    ):
        sessions = Sessions(RedisSessions(client), app_name=f"app_{user}", user_id=user)
        session = await sessions.create("s")
        relay.lose_answer_to = b"EXEC"
        await sessions.append(session, change({"k": 1}, event_id="e"))
        assert relay.lost == 1
        stored = await sessions.get("s")
        assert ([event.id for event in stored.events], stored.state) == (["e"], {"k": 1})
        await sessions.append(session, change({"k": 2}))
        await sessions.delete("s")


async def test_a_server_that_is_away_is_told_at_the_start(tmp_path: Path) -> None:
    settings = Settings.load(
        data_dir=tmp_path, config_dir=tmp_path, session_service="redis://:secret@127.0.0.1:1/0"
    )
    with pytest.raises(UnavailableError, match="ODA_SESSION_SERVICE") as raised:
        async with open_sessions(settings):
            pass
    assert "secret" not in str(raised.value)
