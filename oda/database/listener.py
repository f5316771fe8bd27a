"""Notifications of a PostgreSQL database, heard by one connection of the process."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing
from types import TracebackType
from typing import Any, Self

from psycopg import AsyncConnection, Error
from psycopg.sql import SQL, Identifier
from sqlalchemy.engine import make_url

from oda.database.postgres import TRANSPORT, ImpatientAsyncConnection
from oda.telemetry import get_logger

log = get_logger(__name__)

_PROBED_EVERY_S = 5.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 2.0


class Listener:
    """Calls handlers with the payloads of channels, and connects again after each loss.

    Args:
        url: URL of the database itself: a pooler that gives connections away after each transaction
            passes no notifications on.
        handlers: What to call with a payload, by channel.
        connected: Called after each connection, since notifications before it are lost.
    """

    def __init__(
        self,
        url: str,
        handlers: Mapping[str, Callable[[str], None]],
        connected: Callable[[], None],
    ) -> None:
        self._url = libpq_url(url)
        self._handlers = handlers
        self._connected = connected
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._listen(), name="oda listener")
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _listen(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                connection = await ImpatientAsyncConnection.connect(
                    self._url, autocommit=True, prepare_threshold=None, **TRANSPORT
                )
                async with connection:
                    for channel in self._handlers:
                        await connection.execute(SQL("LISTEN {}").format(Identifier(channel)))
                    pause_s = _FIRST_PAUSE_S
                    self._connected()
                    while True:
                        await self._hear(connection)
            except (Error, OSError) as error:
                log.warning("listener_disconnected", again_in_s=pause_s, exc_info=error)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    async def _hear(self, connection: AsyncConnection[Any]) -> None:
        """Handle what comes for a while, and then find out whether the server is still there."""
        async with aclosing(connection.notifies(timeout=_PROBED_EVERY_S)) as notifications:
            async for notification in notifications:
                channel, payload = notification.channel, notification.payload
                try:
                    self._handlers[channel](payload)
                except Exception as error:  # anybody may send on a channel
                    log.warning("notification_not_understood", channel=channel, exc_info=error)
        await connection.execute("SELECT 1")


def libpq_url(url: str) -> str:
    """Return a database URL as libpq takes it."""
    plain = make_url(url).difference_update_query(["prepare_threshold"])
    return plain.set(drivername="postgresql").render_as_string(hide_password=False)
