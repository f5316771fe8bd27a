"""Sends notices beside the turns: one task of the process, which tries again for a day."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from oda.application_resource import ApplicationResource
from oda.clock import Clock, SystemClock, utc
from oda.telemetry import get_logger
from oda.webhooks.backoff import delay_after

from ..learning.notices import Notice, waiting_notices
from ..learning.records import SEVERITIES, Channel, Concern
from ..settings import companion_settings
from .channels import NotSent, send
from .families import families

log = get_logger(__name__)

_AFTER_FAILURE_S = 60.0
_LOOKS_AGAIN_S = 600.0
"""How often the store is asked for what other processes have left."""


def told_at_once(child_id: str, concern: Concern) -> list[tuple[str, Channel]]:
    """Return which parents are told of a concern at once, and how."""
    settings = companion_settings()
    if SEVERITIES.index(concern.severity) > SEVERITIES.index(settings.notify_from):
        return []
    told: list[tuple[str, Channel]] = []
    for parent_id, parent in families().parents_of(child_id).items():
        if parent.email and settings.smtp:
            told.append((parent_id, "email"))
        if parent.webhook and settings.webhook_secret:
            told.append((parent_id, "webhook"))
    return told


class Sender:
    """Sends what waits, as long as it is open."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Have it look at once."""
        self._woken.set()

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            self._woken.clear()
            try:
                wait_s = await self._round()
            except Exception:
                log.exception("companion_notices_not_read")
                wait_s = _AFTER_FAILURE_S
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._woken.wait()

    async def _round(self) -> float:
        """Send what is due; return the seconds until there is more."""
        while taken := await waiting_notices.take(utc(self._clock)):
            for notice in taken:
                await self._send(notice)
        next_at = await waiting_notices.next_at()
        if next_at is None:
            return _LOOKS_AGAIN_S
        return min(_LOOKS_AGAIN_S, max(0.1, (next_at - utc(self._clock)).total_seconds()))

    async def _send(self, notice: Notice) -> None:
        parent = families().parents_of(notice.child_id).get(notice.parent_id)
        told = {"notice": notice.id, "channel": notice.channel, "attempt": notice.attempts}
        try:
            await send(notice, parent, companion_settings(), utc(self._clock))
        except NotSent as error:
            delay = None if error.is_final else delay_after(notice.attempts)
            next_at = None if delay is None else utc(self._clock) + delay
            log.warning("companion_notice_not_sent", **told, problem=error.problem, again=next_at)
            await waiting_notices.not_sent(notice, error.problem, next_at)
        else:
            log.info("companion_notice_sent", **told)
            await waiting_notices.sent(notice)


@asynccontextmanager
async def _open_sender() -> AsyncIterator[Sender]:
    sender = Sender(SystemClock())
    task = asyncio.create_task(sender.run(), name="companion notices")
    try:
        yield sender
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


_sender = ApplicationResource(_open_sender)


async def send_waiting(*, at_once: bool = False) -> None:
    """Have notices sent beside the turn, also those that an earlier process has left.

    Args:
        at_once: Whether there is a new one.
    """
    if not families():
        return
    async with _sender.use() as sender:
        if at_once:
            sender.wake()
