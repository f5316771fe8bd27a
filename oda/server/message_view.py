"""A turn's log as spans and content of the message protocol."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TypeVar

from google.adk.events import Event

from oda.message.protocol import MessageBuilder
from oda.turn.log import Entry, Preview
from oda.turn.record import Turn

Item = TypeVar("Item", bound=Entry | Preview)

_AT_ONCE = 20
"""Entries that are looked at before others on the loop have their turn; some milliseconds."""

Told = tuple[str, bytes]
"""A kind and its JSON: `turn` or `done` with the turn, else a message's type with the message."""


class MessageView:
    """Tells the entries of one log, which it must be given all, from the first on."""

    def __init__(self) -> None:
        self._builder = MessageBuilder()

    async def of(self, entries: Sequence[Item]) -> AsyncIterator[tuple[Item, Sequence[Told]]]:
        """Yield each entry with its messages: after `turn`, but before `done`."""
        for count, entry in enumerate(entries, 1):
            yield entry, self._told(entry)
            if count % _AT_ONCE == 0:
                await asyncio.sleep(0)

    def _told(self, entry: Entry | Preview) -> list[Told]:
        read = Event if entry.kind == "event" else Turn  # from JSON, as it is for all readers
        messages = self._builder.feed(read.model_validate_json(entry.json))
        told: list[Told] = [(one.type, one.model_dump_json().encode()) for one in messages]
        if entry.kind == "turn":
            return [(entry.kind, entry.json), *told]
        return [*told, (entry.kind, entry.json)] if entry.kind == "done" else told
