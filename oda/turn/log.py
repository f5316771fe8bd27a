"""The numbered entries of one turn."""

import asyncio
from collections.abc import Sequence
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
    json: bytes
    """A turn for `turn` and `done`, an ADK event for `event`, as clients get it."""

    @classmethod
    def of(cls, number: int, kind: EntryKind, data: Turn | Event) -> "Entry":
        if isinstance(data, Event):
            json = data.model_dump_json(by_alias=True, exclude_none=True)
        else:
            json = data.model_dump_json()
        entry = cls(number, kind, json.encode())
        entry.__dict__["data"] = data
        return entry

    @property
    def partial(self) -> bool:
        """Whether it is a piece of a text that is still streamed."""
        return isinstance(self.data, Event) and bool(self.data.partial)

    @cached_property
    def data(self) -> Turn | Event:
        if self.kind == "event":
            return Event.model_validate_json(self.json)
        return Turn.model_validate_json(self.json)


class TurnLog:
    """The stored entries of a turn that runs in this process, for any number of readers.

    Args:
        base: Number of the last entry that is only in the database.
    """

    def __init__(self, base: int = 0) -> None:
        self.base = base
        self.ended = False
        """Whether the turn is final, or waits for a person."""
        self.abandoned = False
        """Whether the turn goes on, if it does, somewhere else."""
        self._entries: list[Entry] = []
        self._changed = asyncio.Event()

    @property
    def last(self) -> int:
        """Number of the last entry; 0 when there is none."""
        return self.base + len(self._entries)

    def publish(self, entries: Sequence[Entry], *, ended: bool = False) -> None:
        """Show entries that have been stored."""
        self._entries.extend(entries)
        self.ended = ended
        self._wake()

    def abandon(self) -> None:
        """Tell the readers to look into the database."""
        self.abandoned = True
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def read(self, after: int) -> list[Entry]:
        """The entries with a number greater than `after`, which is not below `base`."""
        return self._entries[max(0, after - self.base) :]

    async def changed(self, after: int) -> None:
        """Return when there is an entry with a number greater than `after`, or never will be."""
        while self.last <= after and not (self.ended or self.abandoned):
            await self._changed.wait()
