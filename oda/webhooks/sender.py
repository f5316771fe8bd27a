"""Sends the deliveries that are due: a few at a time, as long as the process lives."""

import asyncio
from contextlib import suppress
from datetime import timedelta
from urllib.parse import urlsplit

from oda.clock import Clock, utc
from oda.telemetry import get_logger
from oda.webhooks.backoff import delay_after
from oda.webhooks.client import NotSentError, WebhookClient
from oda.webhooks.deliveries import Deliveries, TakenDelivery

log = get_logger(__name__)

_AT_ONCE = 16
_LOOKS_AGAIN_S = 5.0
"""How often the database is asked for what other processes have stored or left."""
_AFTER_FAILURE_S = 2.0
_AT_LEAST_S = 0.05


class WebhookSender:
    """Sends deliveries until `run` is cancelled; then those at work are left to others.

    Args:
        secret: Signs what is sent.
    """

    def __init__(
        self, deliveries: Deliveries, clock: Clock, *, secret: str, allow_private: bool
    ) -> None:
        self._deliveries = deliveries
        self._clock = clock
        self._secret = secret
        self._client = WebhookClient(allow_private=allow_private)
        self._sending: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Send until cancelled."""
        async with self._client:
            try:
                while True:
                    self._deliveries.added.clear()
                    try:
                        wait_s = await self._round()
                    except Exception as error:
                        log.warning("webhooks_not_read", exc_info=error)
                        wait_s = _AFTER_FAILURE_S
                    with suppress(TimeoutError):
                        async with asyncio.timeout(wait_s):
                            await self._deliveries.added.wait()
            finally:
                for task in self._sending:
                    task.cancel()
                if self._sending:
                    await asyncio.wait(self._sending)

    async def _round(self) -> float:
        """Begin to send what is due; return the seconds until there may be more."""
        while (room := _AT_ONCE - len(self._sending)) > 0:
            next_at = await self._deliveries.next_at()
            if next_at is None:
                break
            wait_s = (next_at - utc(self._clock)).total_seconds()
            if wait_s > 0:
                return min(_LOOKS_AGAIN_S, max(_AT_LEAST_S, wait_s))
            taken = await self._deliveries.take(room)
            if not taken:  # another process is faster
                return _AT_LEAST_S
            for one in taken:
                task = asyncio.create_task(self._send(one), name=f"webhook {one.delivery_id}")
                self._sending.add(task)
                task.add_done_callback(self._sent)
        return _LOOKS_AGAIN_S

    def _sent(self, task: asyncio.Task[None]) -> None:
        self._sending.discard(task)
        self._deliveries.added.set()  # there is room again
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("webhook_not_settled", exc_info=error)

    async def _send(self, taken: TakenDelivery) -> None:
        about = {
            "delivery_id": taken.delivery_id,
            "turn_id": taken.turn_id,
            "host": urlsplit(taken.url).hostname,
            "attempt": taken.attempts,
        }
        try:
            await self._client.send(
                taken.url,
                self._secret,
                taken.delivery_id,
                int(self._clock.now()),
                taken.body.encode(),
            )
        except NotSentError as error:
            delay = None if error.is_final else delay_after(taken.attempts)
            if delay is not None:
                delay = max(delay, timedelta(seconds=error.retry_after_s))
            log.warning("webhook_not_sent", **about, problem=error.problem, final=delay is None)
            await self._deliveries.not_delivered(taken, error.problem, delay)
        except asyncio.CancelledError:
            await self._deliveries.give_back(taken)
            raise
        else:
            log.info("webhook_sent", **about)
            await self._deliveries.delivered(taken)
