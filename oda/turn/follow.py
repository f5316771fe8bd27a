"""Reading a turn's log from any position, wherever the turn runs."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from oda.turn.log import Entry, Preview, TurnLog
from oda.turn.reader import TurnReader
from oda.turn.rows import StoredTurn

HEARTBEAT_S = 15.0
_POLL_S = 0.2
_PAGE = 500


class Follower:
    """Reads a turn's log from a position on, as fast as its reader does.

    It ends with the turn's `done`, or when the turn waits for a person.

    Args:
        log_of: Returns the log of a turn in memory, if there is one.
        open_log: Has the log of a turn that may run elsewhere kept in memory, from an entry on.
        previews: Whether to return previews.
    """

    def __init__(
        self,
        turn_id: str,
        after: int,
        store: TurnReader,
        log_of: Callable[[str], TurnLog | None],
        open_log: Callable[[StoredTurn, int], Awaitable[TurnLog | None]],
        *,
        previews: bool = False,
    ) -> None:
        self.turn_id = turn_id
        self.position = after
        """Number of the last entry that was read."""
        self._previews = previews
        self._seen: tuple[TurnLog, int] | None = None
        """How many previews were read of which log."""
        self.ended = False
        self._store = store
        self._log_of = log_of
        self._open_log = open_log
        self._held: TurnLog | None = None
        """The last log in memory, which is kept up to date while somebody refers to it."""

    async def read(self, within_s: float = HEARTBEAT_S) -> Sequence[Entry | Preview]:
        """Return the next entries and previews; none after a timeout or at the end."""
        try:
            async with asyncio.timeout(within_s):
                while not self.ended:
                    if items := await self._next():
                        return items
        except TimeoutError:
            pass
        return ()

    async def __aiter__(self) -> AsyncIterator[Entry | Preview]:
        while not self.ended:
            for item in await self.read():
                yield item

    async def _next(self) -> Sequence[Entry | Preview]:
        log = self._log_of(self.turn_id)
        if log is not None and log.base <= self.position and not log.abandoned:
            return await self._next_of(log)
        entries = await self._store.entries(self.turn_id, self.position, limit=_PAGE)
        if entries:
            self.position = entries[-1].number
            self.ended = entries[-1].kind == "done"
            return entries
        if log is None or log.abandoned:
            stored = await self._store.stored(self.turn_id)
            self.ended = stored.turn.ended and stored.last <= self.position
            if not self.ended:
                last = min(stored.last, self.position)  # a reader may begin beyond the end
                self._held = await self._open_log(stored, last)
                if self._held is None:
                    await asyncio.sleep(_POLL_S)
        return ()

    async def _next_of(self, log: TurnLog) -> Sequence[Entry | Preview]:
        self._held = log
        seen = self._seen[1] if self._seen and self._seen[0] is log else None
        await log.changed(self.position, (seen or 0) if self._previews else None)
        self.ended = log.ended
        entries = log.read(self.position)
        if entries:
            self.position = entries[-1].number
        if not self._previews:
            return entries
        self._seen = (log, log.previewed)
        return [*entries, *log.previews(seen)]
