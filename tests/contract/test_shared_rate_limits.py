"""Rate limits that nodes share in Redis, and what happens while it is away."""

import asyncio
import sys
import time
from contextlib import AsyncExitStack, aclosing
from pathlib import Path

import httpx
import pytest

from oda.server.app import create_app
from oda.server.rate_window import RateStore, RateWindow
from oda.settings import Settings

TOLERANCE_S = 0.02
AGENTS = Path(__file__).parents[1] / "support" / "agents"

HIT_IN_ANOTHER_PROCESS = """
import asyncio, sys
from contextlib import aclosing
from oda.server.rate_window import RateStore, RateWindow

async def hit(url, key):
    async with aclosing(RateStore(url)) as store:
        print(await RateWindow("requests", 4, store).hit(key))

asyncio.run(hit(*sys.argv[1:]))
"""


@pytest.mark.redis
@pytest.mark.parametrize("scheme", ["redis", "async+redis"])
async def test_nodes_share_the_counts_of_a_user(redis_url: str, user: str, scheme: str) -> None:
    url = redis_url.replace("redis", scheme, 1)
    async with aclosing(RateStore(url)) as one, aclosing(RateStore(url)) as other:
        nodes = [RateWindow("requests", 4, store) for store in (one, other)]
        assert [await node.hit(user) for node in nodes] == [0, 0]
        assert await hit_in_another_process(url, user) == 0
        assert [await node.wait_s(user) for node in nodes] == [0, 0]
        assert await nodes[0].hit(user) == 0
        for node in nodes:
            assert 50 < await node.hit(user) <= 60
            assert 50 < await node.wait_s(user) <= 60
        assert await hit_in_another_process(url, user) > 50
        assert await nodes[0].hit(f"{user}-friend") == 0


@pytest.mark.redis
async def test_who_waits_as_long_as_redis_says_is_let_through(redis_url: str, user: str) -> None:
    async with aclosing(RateStore(redis_url)) as store:
        window = RateWindow("requests", 2, store, window_s=1)
        while not (wait := await window.hit(user)):
            pass
        due = time.time() + wait
        await asyncio.sleep(wait)
        assert time.time() >= due
        assert await window.wait_s(user) <= TOLERANCE_S


@pytest.mark.redis
async def test_a_full_window_is_never_said_to_end_at_once(redis_url: str, user: str) -> None:
    async with aclosing(RateStore(redis_url)) as store:
        window = RateWindow("requests", 2, store)
        for number in range(200):
            began = time.time()
            waits = [await window.hit(f"{user}-{number}") for _ in range(3)]
            assert waits[:2] == [0, 0]
            assert waits[2] >= 60 - (time.time() - began) - TOLERANCE_S


@pytest.mark.redis
async def test_servers_share_what_the_settings_name(
    redis_url: str, user: str, tmp_path: Path
) -> None:
    limits = {"storage": redis_url, "failed_logins_per_minute": 3}
    async with AsyncExitStack() as stack:
        clients = []
        for name in ("one", "other"):
            settings = Settings.load(agents_dir=AGENTS, data_dir=tmp_path / name, limits=limits)
            app = create_app(settings, host="0.0.0.0")
            await stack.enter_async_context(app.router.lifespan_context(app))
            transport = httpx.ASGITransport(app, client=(user, 1))
            client = httpx.AsyncClient(transport=transport, base_url="http://oda.example")
            clients.append(await stack.enter_async_context(client))
        guess = {"Authorization": "Bearer guessed"}
        answers = [await clients[n % 2].get("/v1/apps", headers=guess) for n in range(5)]
        assert [answer.status_code for answer in answers] == [401, 401, 401, 429, 429]
        assert 50 <= int(answers[-1].headers["retry-after"]) <= 60


async def test_nobody_is_refused_while_redis_refuses(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    async with aclosing(RateStore(f"redis://:secret@127.0.0.1:{port}")) as store:
        window = RateWindow("requests", 1, store)
        assert [await window.hit("ann") for _ in range(20)] == [0] * 20
        assert await window.wait_s("ann") == 0
    said = [record.getMessage() for record in caplog.records if record.name.startswith("oda")]
    assert len(said) == 1
    assert "rate_limits_are_off" in said[0]
    assert "secret" not in said[0]


async def test_a_redis_that_never_answers_costs_a_moment_only_now_and_then() -> None:
    async with AsyncExitStack() as stack:

        async def never_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        server = await asyncio.start_server(never_answer, "127.0.0.1", 0)
        stack.callback(server.close)
        port = server.sockets[0].getsockname()[1]
        store = await stack.enter_async_context(aclosing(RateStore(f"redis://127.0.0.1:{port}")))
        window = RateWindow("requests", 1, store)
        begun = time.monotonic()
        assert [await window.hit("ann") for _ in range(100)] == [0] * 100
        assert time.monotonic() - begun < 10


async def hit_in_another_process(url: str, key: str) -> float:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", HIT_IN_ANOTHER_PROCESS, url, key), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    return float(output)
