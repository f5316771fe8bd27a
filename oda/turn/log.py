"""What readers are told of one turn: numbered entries, and previews of what is still coming."""

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
"""Metadata of a preview that holds all of the text so far, for a reader who came later."""


@dataclass(frozen=True, eq=False)
class Entry:
    """One numbered thing that happened in a turn; stored before it is shown.

    It is made of its JSON or of its data; the other is made when it is asked for.
    """

    number: int
    """Grows by one within the turn, from 1."""
    kind: EntryKind
    _json: bytes | None
    event_id: str | None = None
    """The id of an event that the session keeps in the same database; it is not stored again."""

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
        """A turn for `turn` and `done`, an ADK event for `event`, as clients get it."""
        if self._json is not None:
            return self._json
        data = self.data
        return _event_json(data) if isinstance(data, Event) else data.model_dump_json().encode()

    @property
    def partial(self) -> bool:
        """Whether it is a piece of a text; logs of earlier versions have such entries."""
        return isinstance(self.data, Event) and bool(self.data.partial)

    @cached_property
    def data(self) -> Turn | Event:
        if self.kind == "event":
            return Event.model_validate_json(self.json)
        return Turn.model_validate_json(self.json)


@dataclass(frozen=True)
class Preview:
    """A piece of a text, or what is told by something at work: shown at once, never stored.

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
    """The stored entries and the previews of a turn that runs here, for any number of readers.

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
        self._previews: dict[int, Preview] = {}
        """Those that nothing has superseded yet, by their number among all."""
        self.previewed = 0
        """How many previews there have been."""
        self._changed = asyncio.Event()

    @property
    def last(self) -> int:
        """Number of the last entry; 0 when there is none."""
        return self.base + len(self._entries)

    def publish(self, items: Sequence[Entry | Preview], *, ended: bool = False) -> None:
        """Show entries that have been stored, and previews, in their order."""
        for item in items:
            if isinstance(item, Preview):
                self.previewed += 1
                self._previews[self.previewed] = item
            else:
                self._entries.append(item)
                for number, preview in [*self._previews.items()]:
                    if _supersedes(item, preview.data):
                        del self._previews[number]
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
        """Return the entries with a number greater than `after`, which is not below `base`."""
        return self._entries[max(0, after - self.base) :]

    def previews(self, seen: int | None) -> Sequence[Preview]:
        """Return the previews since the first `seen` of all there have been.

        None is for a reader who has just come: each text so far is one preview, marked as such.
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
        """Return when there is something new, or never will be.

        Args:
            after: Number of the last entry that was read.
            seen: Previews that were read; None to wait for entries alone.
        """
        while not (self.ended or self.abandoned):
            if self.last > after or (seen is not None and self.previewed > seen):
                return
            await self._changed.wait()


def _supersedes(entry: Entry, preview: Event) -> bool:
    """Return whether a preview holds no longer once an entry has come."""
    if isinstance(entry.data, Turn):
        return entry.data.ended
    event = entry.data
    if event.author == "system" and event.error_code:  # the attempt that said it has failed
        return True
    if progress := progress_of(preview):
        answered = {response.id for response in event.get_function_responses()}
        if progress.get("call_id") in answered:
            return True
    return (event.author, event.branch) == (preview.author, preview.branch)


def joined(pieces: Iterable[Event]) -> list[Event]:
    """Put the pieces of each text together, in the order in which the texts began. Pure."""
    whole: list[Event] = []
    place: dict[tuple[str, str | None], int] = {}
    for piece in pieces:
        stream = (piece.author, piece.branch)
        if texts_of(piece):
            if (known := place.get(stream)) is None:
                place[stream] = len(whole)
                whole.append(piece)
            else:
                whole[known] = _appended(whole[known], piece)
        elif whole and (merged := merged_progress(whole[-1], piece)) is not None:
            whole[-1] = merged
        else:
            whole.append(piece)
    return whole


def texts_of(event: Event) -> list[Part]:
    """Return the parts of a preview that is nothing but text; none if it is anything else."""
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
    return piece.model_copy(update={"content": content})


def _marked(event: Event) -> Event:
    metadata = {**(event.custom_metadata or {}), REPLACES_PARTIAL: True}
    return event.model_copy(update={"custom_metadata": metadata})
