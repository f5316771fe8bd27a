"""A database that is silent, full, killed or replaced: clients are told soon, and it heals."""

import asyncio
import contextlib
import os
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from sqlalchemy.engine import make_url

from oda.cli.chaos.relay import Relay, open_relay
from oda.testing import ModelServer
from oda.testing.script import Text
from tests.acceptance.conftest import Serve, Server
from tests.acceptance.test_turns_survive import (
    LATER,
    called,
    ended,
    new_session,
    post,
    user_messages,
)
from tests.contract.conftest import running_redis
from tests.support.model_settings import gemini
from tests.support.postgres_cluster import Cluster, new_cluster

TOLD_WITHIN_S = 5.0
CLIENT_PATIENCE_S = 30.0
HEALED_WITHIN_S = 30.0
ROOM = "8m"
SESSIONS = "/v1/apps/calculator/sessions"


async def refused(server: Server, method: str, path: str, **options: Any) -> dict[str, Any]:
    """The problem that a request is answered with, soon enough; time that the server is just
    not scheduled in does not count."""
    began = time.monotonic()
    sending = server.client.request(method, path, timeout=CLIENT_PATIENCE_S, **options)
    living = server.client.get("/livez", timeout=CLIENT_PATIENCE_S)
    (answer, took_s), (alive, busy_s) = await asyncio.gather(
        _timed(sending, began), _timed(living, began)
    )
    assert alive.status_code == 200
    assert answer.status_code == 503, answer.text
    assert took_s - busy_s < TOLD_WITHIN_S
    assert int(answer.headers["retry-after"]) > 0
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert problem["retryable"]
    return problem


async def _timed(request: Any, began: float) -> tuple[httpx.Response, float]:
    answer = await request
    return answer, time.monotonic() - began


async def healed(server: Server) -> None:
    async with asyncio.timeout(HEALED_WITHIN_S):
        while (await server.client.get("/readyz")).status_code != 200:  # noqa: ASYNC110
            await asyncio.sleep(0.2)


# --- silent


@pytest.fixture
async def relay(postgres_url: str) -> AsyncIterator[Relay]:
    server = make_url(postgres_url)
    async with open_relay(server.host or "127.0.0.1", server.port or 5432) as opened:
        yield opened


@pytest.mark.postgres
async def test_silent_database_is_told_within_seconds_and_heals(
    serve: Serve, relay: Relay, postgres_url: str
) -> None:
    url = make_url(postgres_url).set(host="127.0.0.1", port=relay.port)
    server = await serve(DATABASE_URL=url.render_as_string(hide_password=False))
    created = (await server.client.post(SESSIONS, json={})).json()
    assert (await server.client.get("/readyz")).status_code == 200
    relay.fall_silent()
    await asyncio.gather(
        refused(server, "GET", "/readyz"),
        refused(server, "GET", SESSIONS),
        refused(server, "POST", SESSIONS, json={}),
        refused(server, "GET", f"{SESSIONS}/{created['session_id']}"),
    )
    await asyncio.gather(
        refused(server, "GET", "/readyz"), refused(server, "POST", SESSIONS, json={})
    )
    relay.speak()
    await healed(server)
    assert (await server.client.post(SESSIONS, json={})).is_success
    assert len((await server.client.get(SESSIONS)).json()["sessions"]) == 2


# --- killed, and replaced by another


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with new_cluster() as opened:
        yield opened


@pytest.mark.postgres
@pytest.mark.timeout(240)
@pytest.mark.parametrize("trouble", ["restarted", "failed over"])
async def test_turns_outlive_the_database_server(
    serve: Serve, work: Serve, cluster: Cluster, tmp_path: Path, trouble: str
) -> None:
    copy = None
    if trouble == "failed over":
        copy = await asyncio.to_thread(cluster.standby, cluster.directory.with_name("copy"))
    async with open_relay("127.0.0.1", cluster.port) as relay, ModelServer() as model:
        url = make_url(cluster.url).set(port=relay.port).render_as_string(hide_password=False)
        settings = {**gemini(model), "DATABASE_URL": url}
        servers = [
            await serve("--accept-only", **settings, data=tmp_path / "server"),
            *[await work(**settings, data=tmp_path / name) for name in ("a", "b")],
        ]
        client = servers[0].client
        model.play([Text(text="first", delay_s=4.0), Text(text="second")])
        sessions = [await new_session(client) for _ in range(2)]
        turns = [(await post(client, sessions[0], "one", **LATER)).json()["turn_id"]]
        await called(model)
        await asyncio.to_thread(cluster.kill)
        for path in (f"/v1/turns/{turns[0]}", SESSIONS, "/readyz"):
            await refused(servers[0], "GET", path)
        await refused(servers[0], "POST", f"{sessions[1]}/turns", json={"message": "lost"})
        if copy is None:
            await asyncio.to_thread(cluster.start)
        else:
            await asyncio.to_thread(copy.promote)
            relay.server = ("127.0.0.1", copy.port)
        for server in servers:
            await healed(server)
        turns.append((await post(client, sessions[1], "two", **LATER)).json()["turn_id"])
        replies = [(await ended(client, one))["reply"] for one in turns]
        assert replies == ["first", "second"]
        assert [await user_messages(client, one) for one in sessions] == [["one"], ["two"]]


# --- Redis, which holds the sessions and counts the requests


@pytest.fixture
async def redis_relay() -> AsyncIterator[Relay]:
    async for url in running_redis():
        server = urlsplit(url)
        async with open_relay(server.hostname or "127.0.0.1", server.port or 6379) as opened:
            yield opened


@pytest.mark.redis
@pytest.mark.parametrize("trouble", ["silent", "cut off"])
async def test_lost_redis_is_told_and_a_running_turn_goes_on_when_it_is_back(
    serve: Serve, redis_relay: Relay, trouble: str
) -> None:
    url = f"redis://127.0.0.1:{redis_relay.port}"
    async with ModelServer() as model:
        server = await serve(**gemini(model), SESSION_SERVICE=url, LIMITS__STORAGE=url)
        model.play([Text(text="first", delay_s=3.0), Text(text="second")])
        session = await new_session(server.client)
        turn_id = (await post(server.client, session, "one", **LATER)).json()["turn_id"]
        await called(model)
        redis_relay.fall_silent()
        if trouble == "cut off":
            redis_relay.cut()
        await asyncio.gather(
            refused(server, "GET", "/readyz"),
            refused(server, "GET", session),
            refused(server, "POST", SESSIONS, json={}),
        )
        redis_relay.cut()
        redis_relay.speak()
        await healed(server)
        assert (await ended(server.client, turn_id))["reply"] == "first"
        assert (await post(server.client, session, "two")).json()["reply"] == "second"
        assert await user_messages(server.client, session) == ["one", "two"]


# --- full


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with little room."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(path: Path) -> None:
    file = os.open(path, os.O_CREAT | os.O_WRONLY)
    with contextlib.suppress(OSError):
        while True:
            os.write(file, bytes(4096))
    os.close(file)


async def test_full_disk_is_told_and_heals_when_there_is_room(
    serve: Serve, small_disk: Path
) -> None:
    server = await serve(DATABASE_URL=f"sqlite:///{small_disk / 'oda.db'}")
    created = (await server.client.post(SESSIONS, json={})).json()
    fill(small_disk / "filling")
    large = {"state": {"text": "x" * 100_000}}
    problems = [
        await refused(server, "POST", SESSIONS, json=large),
        await refused(server, "GET", "/readyz"),
        await refused(server, "POST", SESSIONS, json=large),
        await refused(server, "GET", "/readyz"),
    ]
    for problem in problems:
        assert problem["code"] == "storage_full"
        assert "free disk space" in problem["detail"]
        assert str(small_disk) not in str(problem)
    read = await server.client.get(f"{SESSIONS}/{created['session_id']}")
    assert read.status_code == 200
    (small_disk / "filling").unlink()
    await healed(server)
    assert (await server.client.post(SESSIONS, json=large)).is_success
    assert len((await server.client.get(SESSIONS)).json()["sessions"]) == 2
