"""Reading a turn's log from any position, wherever the turn runs."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

from oda.turn.live import LiveTurn
from oda.turn.log import Entry
from oda.turn.reader import TurnReader

HEARTBEAT_S = 15.0
_POLL_S = 0.2
_PAGE = 500


class Follower:
    """Yields what is stored of a turn after a position, then what comes, at the reader's pace.

    It ends when the turn is final, with its `done`, or when it waits for a person.
    """

    def __init__(
        self, turn_id: str, after: int, store: TurnReader, live: Callable[[str], LiveTurn | None]
    ) -> None:
        self.turn_id = turn_id
        self.position = after
        """Number of the last entry that was read."""
        self.ended = False
        self._store = store
        self._live = live

    async def read(self, within_s: float = HEARTBEAT_S) -> Sequence[Entry]:
        """The next entries; none when none has come within that time, or when it has ended."""
        try:
            async with asyncio.timeout(within_s):
                while not self.ended:
                    if entries := await self._next():
                        self.position = entries[-1].number
                        return entries
        except TimeoutError:
            pass
        return ()

    async def __aiter__(self) -> AsyncIterator[Entry]:
        while not self.ended:
            for entry in await self.read():
                yield entry

    async def _next(self) -> Sequence[Entry]:
        live = self._live(self.turn_id)
        if live is not None and live.log.base <= self.position and not live.log.abandoned:
            await live.log.changed(self.position)
            self.ended = live.log.ended
            return live.log.read(self.position)
        entries = await self._store.entries(self.turn_id, self.position, limit=_PAGE)
        if entries:
            self.ended = entries[-1].kind == "done"
            return entries
        if live is None or live.log.abandoned:
            stored = await self._store.stored(self.turn_id)
            self.ended = stored.turn.ended and stored.last <= self.position
            if not self.ended:
                await asyncio.sleep(_POLL_S)
        return ()
