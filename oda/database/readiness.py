"""Readiness check of a database: whether it accepts writes."""

import asyncio
import uuid

from sqlalchemy import Connection, delete, insert

from oda.database.journal import REQUEST_S, Journal
from oda.database.schema import probes

_ASKED_EVERY_S = 1.0
_ROOM = 256 * 1024
"""Size in characters of the probe after a failed write: a nearly full disk may fit a small one."""


class Readiness:
    """Probes the database through the journal, like any write, at most once a second."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._asking = asyncio.Lock()
        self._asked_at = float("-inf")
        self._failed: Exception | None = None

    async def check(self) -> None:
        """Check that a write succeeds, reusing a result of the last second.

        Raises:
            Exception: the error of the failed write.
        """
        async with self._asking:
            now = asyncio.get_running_loop().time
            if now() - self._asked_at >= _ASKED_EVERY_S:
                try:
                    await self._write(_ROOM if self._failed else 0)
                    self._failed = None
                except Exception as error:
                    self._failed = error
                self._asked_at = now()
            if self._failed is not None:
                raise self._failed.with_traceback(None)

    async def _write(self, size: int) -> None:
        probe_id = uuid.uuid4().hex

        def write(connection: Connection) -> None:
            filling = "x" * size
            connection.execute(insert(probes).values(probe_id=probe_id, filling=filling))
            if not size:
                remove(connection)

        def remove(connection: Connection) -> None:
            connection.execute(delete(probes).where(probes.c.probe_id == probe_id))

        await self._journal.run(write, within_s=REQUEST_S)
        if size:
            await self._journal.run(remove, within_s=REQUEST_S)
