"""The numbered events of one turn, to be read from any position, now or as they come."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from google.adk.events import Event

from oda.turn.record import Turn

EntryKind = Literal["turn", "event", "done"]


@dataclass(frozen=True)
class Entry:
    """One numbered thing that happened in a turn."""

    number: int
    """Grows by one within the turn, from 1."""
    kind: EntryKind
    data: Turn | Event
    """The record for `turn` and `done`, an ADK event for `event`."""

    @cached_property
    def json(self) -> bytes:
        """The data as it goes on the wire; made once for all who read it."""
        if isinstance(self.data, Event):
            return self.data.model_dump_json(by_alias=True, exclude_none=True).encode()
        return self.data.model_dump_json().encode()


class TurnLog:
    """Appended by the one who runs the turn, read by any number of followers at their own pace."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._changed = asyncio.Event()

    @property
    def last(self) -> int:
        """Number of the last entry; 0 when there is none."""
        return len(self._entries)

    @property
    def closed(self) -> bool:
        """Whether nothing follows any more."""
        return bool(self._entries) and self._entries[-1].kind == "done"

    def append(self, kind: EntryKind, data: Turn | Event) -> None:
        self._entries.append(Entry(self.last + 1, kind, data))
        self._changed.set()
        self._changed = asyncio.Event()

    def read(self, after: int = 0) -> list[Entry]:
        """The entries with a number greater than `after`."""
        return self._entries[max(0, after) :]

    def events(self, after: int = 0) -> list[Event]:
        """The ADK events with a number greater than `after`, without partial texts."""
        return [
            entry.data
            for entry in self.read(after)
            if isinstance(entry.data, Event) and not entry.data.partial
        ]

    async def changed(self, after: int) -> None:
        """Return when there is an entry with a number greater than `after`."""
        while self.last <= after:
            await self._changed.wait()

    async def follow(self, after: int = 0) -> AsyncGenerator[Entry, None]:
        """Yield what is there and then what comes, up to `done`."""
        position = max(0, after)
        while True:
            for entry in self.read(position):
                yield entry
                position = entry.number
            if self.closed and position >= self.last:
                return
            await self.changed(position)
