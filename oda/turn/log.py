"""The numbered events of one turn, to be read from any position, now or as they come."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
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

    def events(self) -> list[Event]:
        """The ADK events, without partial texts."""
        return [
            entry.data
            for entry in self._entries
            if isinstance(entry.data, Event) and not entry.data.partial
        ]

    async def follow(self, after: int = 0) -> AsyncGenerator[Entry, None]:
        """Yield what is there and then what comes, up to `done`."""
        position = max(0, after)
        while True:
            changed = self._changed
            entries = self.read(position)
            for entry in entries:
                yield entry
                position = entry.number
            if self.closed and position >= self.last:
                return
            if not entries:
                await changed.wait()
