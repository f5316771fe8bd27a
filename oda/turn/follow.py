"""Reading a turn's log from any position, wherever the turn runs."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

from oda.turn.live import LiveTurn
from oda.turn.log import Entry, Preview, TurnLog
from oda.turn.reader import TurnReader

HEARTBEAT_S = 15.0
_POLL_S = 0.2
_PAGE = 500


class Follower:
    """Reads a turn's log from a position on, as fast as its reader does.

    It ends with the turn's `done`, or when the turn waits for a person.

    Args:
        previews: Whether to return previews, which only the node that runs the turn has.
    """

    def __init__(
        self,
        turn_id: str,
        after: int,
        store: TurnReader,
        live: Callable[[str], LiveTurn | None],
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
        self._live = live

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
        live = self._live(self.turn_id)
        if live is not None and live.log.base <= self.position and not live.log.abandoned:
            return await self._next_of(live.log)
        entries = await self._store.entries(self.turn_id, self.position, limit=_PAGE)
        if entries:
            self.position = entries[-1].number
            self.ended = entries[-1].kind == "done"
            return entries
        if live is None or live.log.abandoned:
            stored = await self._store.stored(self.turn_id)
            self.ended = stored.turn.ended and stored.last <= self.position
            if not self.ended:
                await asyncio.sleep(_POLL_S)
        return ()

    async def _next_of(self, log: TurnLog) -> Sequence[Entry | Preview]:
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
