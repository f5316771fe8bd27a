"""The log of a turn: numbered entries, and previews of unfinished text."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

from google.adk.events import Event
from google.genai.types import Content, Part

from oda.message.progress import merged_progress, progress_of
from oda.turn.record import Turn

EntryKind = Literal["turn", "event", "done"]

REPLACES_PARTIAL = "replacesPartial"
"""Metadata of a preview with the whole text so far, for a reader who joined late."""


@dataclass(frozen=True, eq=False)
class Entry:
    """A numbered log entry, which is stored before it is published.

    It is made from JSON or from data; the other form is derived on first use.
    """

    number: int
    """Consecutive within the turn, from 1."""
    kind: EntryKind
    _json: bytes | None
    event_id: str | None = None
    """Id of an event that the same database holds in the session, and that is not stored twice."""

    @classmethod
    def of(
        cls, number: int, kind: EntryKind, data: Turn | Event, *, in_session: bool = False
    ) -> "Entry":
        entry = cls(number, kind, None, data.id if in_session and isinstance(data, Event) else None)
        entry.__dict__["data"] = data
        return entry

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Entry):
            return NotImplemented
        return (self.number, self.kind, self.json) == (other.number, other.kind, other.json)

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def json(self) -> bytes:
        """The turn (`turn`, `done`) or the ADK event (`event`), as clients get it."""
        if self._json is not None:
            return self._json
        data = self.data
        return _event_json(data) if isinstance(data, Event) else data.model_dump_json().encode()

    @property
    def partial(self) -> bool:
        """Whether it is a piece of text, as in logs of earlier versions."""
        return isinstance(self.data, Event) and bool(self.data.partial)

    @cached_property
    def data(self) -> Turn | Event:
        if self.kind == "event":
            return Event.model_validate_json(self.json)
        return Turn.model_validate_json(self.json)


@dataclass(frozen=True)
class Preview:
    """A piece of text or a progress report, which is published at once and never stored.

    The next complete event of the same agent supersedes it.
    """

    data: Event
    number: ClassVar[None] = None
    kind: ClassVar[EntryKind] = "event"

    @cached_property
    def json(self) -> bytes:
        return _event_json(self.data)


def _event_json(event: Event) -> bytes:
    return event.model_dump_json(by_alias=True, exclude_none=True).encode()


class TurnLog:
    """The entries and previews of a running turn in memory, for any number of readers.

    Args:
        base: Number of the last entry that only the database holds.
    """

    def __init__(self, base: int = 0) -> None:
        self.base = base
        self.ended = False
        """Whether the turn is final, or waits for a person."""
        self.abandoned = False
        """Whether this node no longer writes the log."""
        self._entries: list[Entry] = []
        self._previews: dict[int, Preview] = {}
        """Previews that are not superseded yet, by number."""
        self.previewed = 0
        """Number of previews so far."""
        self._changed = asyncio.Event()

    @property
    def last(self) -> int:
        """Number of the last entry; 0 without entries."""
        return self.base + len(self._entries)

    def publish(self, items: Sequence[Entry | Preview], *, ended: bool = False) -> None:
        """Publish stored entries and previews, in order."""
        for item in items:
            if isinstance(item, Preview):
                if is_marked(item.data):
                    self._drop_stream(item.data)
                self.previewed += 1
                self._previews[self.previewed] = item
            else:
                self._entries.append(item)
                for number, preview in [*self._previews.items()]:
                    if supersedes(item, preview.data):
                        del self._previews[number]
        self.ended = ended
        self._wake()

    def _drop_stream(self, whole: Event) -> None:
        """Drop the previews of a text that comes again as a whole."""
        for number, preview in [*self._previews.items()]:
            if _stream_of(preview.data) == _stream_of(whole) and texts_of(preview.data):
                del self._previews[number]

    def abandon(self) -> None:
        """Make the readers continue from the database."""
        self.abandoned = True
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def read(self, after: int) -> list[Entry]:
        """Return the entries with a number greater than `after`, which is not below `base`."""
        return self._entries[max(0, after - self.base) :]

    def previews(self, seen: int | None) -> Sequence[Preview]:
        """Return the previews after the first `seen`.

        None is for a reader who has just joined, and gets each text so far as one marked preview.
        """
        if seen is None:
            return [
                Preview(_marked(event))
                for event in joined(preview.data for preview in self._previews.values())
                if progress_of(event) is not None or texts_of(event)
            ]
        new = [preview for number, preview in self._previews.items() if number > seen]
        return new if len(new) < 2 else [*map(Preview, joined(one.data for one in new))]

    async def changed(self, after: int, seen: int | None = None) -> None:
        """Wait until there is something new, or the log has ended.

        Args:
            after: Number of the last entry read.
            seen: Number of previews read; None to wait for entries only.
        """
        while not (self.ended or self.abandoned):
            if self.last > after or (seen is not None and self.previewed > seen):
                return
            await self._changed.wait()


def supersedes(entry: Entry, preview: Event) -> bool:
    """Return whether an entry makes a preview obsolete."""
    if isinstance(entry.data, Turn):
        return entry.data.ended
    event = entry.data
    if event.author == "system" and event.error_code:  # the attempt that said it has failed
        return True
    if progress := progress_of(preview):
        answered = {response.id for response in event.get_function_responses()}
        if progress.get("call_id") in answered:
            return True
    return _stream_of(event) == _stream_of(preview)


def _stream_of(event: Event) -> tuple[str, str | None]:
    return event.author, event.branch


def joined(pieces: Iterable[Event]) -> list[Event]:
    """Join the pieces of each text, in the order in which the texts began."""
    whole: list[Event] = []
    place: dict[tuple[str, str | None], int] = {}
    for piece in pieces:
        stream = _stream_of(piece)
        if texts_of(piece):
            if (known := place.get(stream)) is None:
                place[stream] = len(whole)
                whole.append(piece)
            elif is_marked(piece):
                whole[known] = piece
            else:
                whole[known] = _appended(whole[known], piece)
        elif whole and (merged := merged_progress(whole[-1], piece)) is not None:
            whole[-1] = merged
        else:
            whole.append(piece)
    return whole


def texts_of(event: Event) -> list[Part]:
    """Return the parts of a preview that consists of text only; else none."""
    parts = (event.content and event.content.parts) or []
    plain = all(
        part.text is not None
        and not part.model_dump(exclude_none=True, exclude={"text", "thought"})
        for part in parts
    )
    return parts if event.partial and plain else []


def _appended(before: Event, piece: Event) -> Event:
    parts = list(texts_of(before))
    for part in texts_of(piece):
        if bool(parts[-1].thought) == bool(part.thought):
            parts[-1] = part.model_copy(update={"text": f"{parts[-1].text}{part.text}"})
        else:
            parts.append(part)
    content = Content(role=piece.content.role if piece.content else None, parts=parts)
    joined = piece.model_copy(update={"content": content})
    return _marked(joined) if is_marked(before) else joined


def is_marked(event: Event) -> bool:
    """Return whether a preview replaces what its reader has of the text."""
    return bool((event.custom_metadata or {}).get(REPLACES_PARTIAL))


def unmarked(event: Event) -> Event:
    """Return a preview as a piece that is appended to what its reader has."""
    metadata = {**(event.custom_metadata or {})}
    metadata.pop(REPLACES_PARTIAL, None)
    return event.model_copy(update={"custom_metadata": metadata or None})


def _marked(event: Event) -> Event:
    metadata = {**(event.custom_metadata or {}), REPLACES_PARTIAL: True}
    return event.model_copy(update={"custom_metadata": metadata})
