"""How often one may come, and how much one may keep open."""

import asyncio
import sys
import time
from contextlib import ExitStack

import pytest

from oda.errors import ConfigurationError, OverloadedError
from oda.server.rate_limits import RateLimit, Sockets
from oda.server.rate_window import RateStore, RateWindow
from tests.support.asgi import Reader, ask, scope_of
from tests.support.rate_windows import beginning_of

TOLERANCE_S = 0.01


async def test_a_window_lets_so_many_through_and_says_how_long_to_wait() -> None:
    await beginning_of(60)
    window = RateWindow("requests", 2)
    assert await window.wait_s("ann") == 0
    assert [await window.hit("ann") for _ in range(2)] == [0, 0]
    until_the_next = 60 - time.time() % 60
    assert await window.hit("ann") == pytest.approx(until_the_next, abs=1)
    assert await window.wait_s("ann") == pytest.approx(until_the_next, abs=1)
    assert await window.hit("bob") == 0


async def test_who_waits_as_long_as_told_is_let_through_and_nobody_sooner() -> None:
    await beginning_of(1)
    window = RateWindow("requests", 3, window_s=1)
    for _ in range(3):
        assert await window.hit() == 0
    asked = time.time()
    wait = await window.hit()
    told = time.time()
    assert 0 < wait <= 1
    async with asyncio.timeout(5):
        while True:
            before = time.time()
            if not await window.hit():
                break
            assert before < told + wait + TOLERANCE_S
            await asyncio.sleep(0.01)
    assert time.time() > asked + wait - TOLERANCE_S


async def test_looking_counts_nothing() -> None:
    window = RateWindow("requests", 1)
    for _ in range(3):
        assert await window.wait_s("ann") == 0
    assert await window.hit("ann") == 0


async def test_windows_of_one_store_do_not_mix() -> None:
    await beginning_of(60)
    store = RateStore()
    logins, requests = (RateWindow(name, 1, store) for name in ("logins", "requests"))
    assert await logins.hit("ann") == 0
    assert await requests.hit("ann") == 0
    assert await requests.hit("ann") > 0


def test_redis_needs_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis.asyncio", None)
    with pytest.raises(ConfigurationError, match="extra 'redis'"):
        RateStore("redis://localhost")


@pytest.mark.parametrize("url", ["redis://localhost:1/0?db=x", "redis://localhost?nope=1&db=a"])
def test_a_url_that_redis_does_not_understand_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="storage of rate limits"):
        RateStore(url)


async def test_who_comes_too_often_is_told_when_to_come_again() -> None:
    await beginning_of(60)
    reader = Reader()
    users = {"10.0.0.1": "ann", "10.0.0.2": "bob"}
    app = RateLimit(
        reader, window=RateWindow("requests", 1), key=lambda scope: users.get(scope["client"][0])
    )
    assert (await ask(app, scope_of())).status == 200
    soonest = 60 - time.time() % 60
    refused = await ask(app, scope_of())
    assert refused.status == 429
    assert int(refused.headers["retry-after"]) - soonest == pytest.approx(0.5, abs=0.6)
    assert len(reader.scopes) == 1
    assert (await ask(app, scope_of(client="10.0.0.2"))).status == 200
    for _ in range(3):
        assert (await ask(app, scope_of(client="10.0.0.3"))).status == 200


def test_each_user_has_so_many_sockets() -> None:
    sockets = Sockets(2)
    with ExitStack() as stack:
        stack.enter_context(sockets.open("ann"))
        with sockets.open("ann"), pytest.raises(OverloadedError, match="2 open"):
            stack.enter_context(sockets.open("ann"))
        stack.enter_context(sockets.open("ann"))
        stack.enter_context(sockets.open("bob"))
    with sockets.open("ann"), sockets.open("ann"):
        pass
