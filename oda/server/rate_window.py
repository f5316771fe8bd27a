"""How often a key came in the last minute, counted by the library `limits`."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from limits import RateLimitItemPerSecond
from limits.aio.storage import MemoryStorage, RedisStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from limits.errors import StorageError

from oda.errors import ConfigurationError
from oda.telemetry import get_logger

if TYPE_CHECKING:
    from redis.asyncio import ConnectionPool

log = get_logger(__name__)

IN_PROCESS: Final = "memory://"

_PREFIX = "oda"
_PATIENCE_S = 0.5
_ASK_AGAIN_S = 5.0
_LOG_EVERY_S = 60.0
_SHORTEST_WAIT_S = 0.001


class RateStore:
    """Storage of counters: in this process, or in a Redis that nodes share.

    While Redis is unavailable, everything is allowed: an outage of the counters must not become an
    outage of the service. It is retried every few seconds.

    Raises:
        ConfigurationError: the URL is malformed, or redis is not installed.
    """

    def __init__(self, url: str = IN_PROCESS) -> None:
        self._pool = None if url == IN_PROCESS else _redis_pool(url)
        self.limiter = SlidingWindowCounterRateLimiter(
            MemoryStorage() if self._pool is None else _redis_storage(url, self._pool)
        )
        self._ask_again_at = float("-inf")
        self._log_again_at = float("-inf")

    async def aclose(self) -> None:
        if self._pool is not None:
            await self._pool.aclose()

    async def ask(self, wait_s: Callable[[], Awaitable[float]]) -> float:
        """The seconds that the store says; 0 when it does not answer, or did not just now."""
        now = asyncio.get_running_loop().time()
        if now < self._ask_again_at:
            return 0.0
        try:
            return await wait_s()
        except StorageError as error:
            self._ask_again_at = now + _ASK_AGAIN_S
            if now >= self._log_again_at:
                self._log_again_at = now + _LOG_EVERY_S
                log.warning("rate_limits_are_off", reason=str(error.storage_error))
            return 0.0


class RateWindow:
    """At most so many hits of a key in a window that slides, as a rule.

    The hits of the last fixed window count by the part of it that the sliding one still covers,
    as if they had come evenly. That costs two counters for each key, however many hits it has.

    Args:
        name: Tells the windows of one store apart.
        limit: Hits of each key.
        store: Without it, the window has one of its own in this process.
    """

    def __init__(
        self, name: str, limit: int, store: RateStore | None = None, *, window_s: int = 60
    ) -> None:
        self._name = name
        self._store = store or RateStore()
        self._item = RateLimitItemPerSecond(limit, window_s)

    async def hit(self, key: str = "") -> float:
        """Count a hit; when there were too many, the seconds to wait instead, else 0."""
        return await self._store.ask(partial(self._hit, key))

    async def wait_s(self, key: str = "") -> float:
        """Seconds until a hit would be let through; 0 when it would be now."""
        return await self._store.ask(partial(self._test, key))

    async def _hit(self, key: str) -> float:
        passes = await self._store.limiter.hit(self._item, self._name, key)
        return 0.0 if passes else max(_SHORTEST_WAIT_S, await self._left(key))

    async def _test(self, key: str) -> float:
        passes = await self._store.limiter.test(self._item, self._name, key)
        return 0.0 if passes else await self._left(key)

    async def _left(self, key: str) -> float:
        """Seconds to wait, of a key that has too many hits.

        In the millisecond in which a window begins, the library takes its end for now, and counts
        the window before as a whole: who waits comes a millisecond later.
        """
        stats = await self._store.limiter.get_window_stats(self._item, self._name, key)
        left = stats.reset_time - time.time()
        if left > _SHORTEST_WAIT_S:
            return left + _SHORTEST_WAIT_S
        await asyncio.sleep(_SHORTEST_WAIT_S)
        return await self._test(key)


def _redis_pool(url: str) -> "ConnectionPool":
    try:
        from redis.asyncio import ConnectionPool
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
    except ImportError as error:
        raise ConfigurationError(
            "rate limits in Redis need the extra 'redis'", remedy="install oda[redis]"
        ) from error
    try:
        return ConnectionPool.from_url(
            url.removeprefix("async+"),
            socket_timeout=_PATIENCE_S,
            socket_connect_timeout=_PATIENCE_S,
            retry=Retry(NoBackoff(), 1),
        )
    except ValueError as error:
        raise ConfigurationError(
            f"the storage of rate limits cannot be used: {error}",
            remedy="correct ODA_LIMITS__STORAGE",
        ) from error


def _redis_storage(url: str, pool: "ConnectionPool") -> RedisStorage:
    chosen: dict[str, Any] = {"connection_pool": pool}
    return RedisStorage(
        url, wrap_exceptions=True, implementation="redispy", key_prefix=_PREFIX, **chosen
    )
