"""A turn that runs in this process: its record and its log, stored together."""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from google.adk.events import Event
from google.genai.types import Content, Part
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from oda.clock import Clock, utc
from oda.database.journal import LINGER_S, Journal, may_pass
from oda.errors import OwnershipLostError
from oda.message.progress import merged_progress, progress_of
from oda.telemetry import get_logger
from oda.turn.log import Entry, EntryKind, TurnLog
from oda.turn.record import Turn, TurnUsage
from oda.turn.store import TurnStore

log = get_logger(__name__)

PARTIAL_EVERY_S = 0.1
"""Pieces of a streamed text that come faster are put together, so that storing costs little."""

TEXT_WITHIN_S = 0.01
"""How soon a piece of text is stored and shown once it is its time."""

_FIRST_RETRY_S = 0.1
_LAST_RETRY_S = 2.0


class LiveTurn:
    """What is added to a turn is stored soon, in order, and shown to readers once it is stored.

    As long as the database is away, it waits and tries again.

    Args:
        last: Number of the last entry that is stored.
        seen: Ids of the ADK events that are stored; they are not added again.
    """

    def __init__(
        self,
        turn: Turn,
        store: TurnStore,
        journal: Journal,
        clock: Clock,
        *,
        last: int = 0,
        seen: Iterable[str] = (),
    ) -> None:
        self.turn = turn
        self.log = TurnLog(last)
        self._store = store
        self._journal = journal
        self._clock = clock
        self._seen = set(seen)
        self._waiting: list[tuple[EntryKind, Turn | Event]] = []
        self._batch: Sequence[Entry] = ()
        self._writing = False
        self._ended_at: datetime | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._partial_stored_at = float("-inf")
        self._retry_s = _FIRST_RETRY_S
        self._failure: BaseException | None = None
        self._idle = asyncio.Event()
        self._idle.set()

    def publish(self, *turns: Turn) -> None:
        """Show entries that were stored when the turn was accepted."""
        first = self.log.last + 1
        self.log.publish([Entry.of(n, "turn", turn) for n, turn in enumerate(turns, first)])

    def change(self, **changes: Any) -> None:
        """Change the record, and say so in the log.

        Raises:
            OwnershipLostError: another node has taken the turn over.
        """
        self.turn = self.turn.model_copy(update=changes)
        self._add("turn", self.turn)

    def append(self, event: Event) -> bool:
        """Add an ADK event to the log, unless it is there already; whether it was added.

        Raises:
            OwnershipLostError: another node has taken the turn over.
        """
        if event.partial:
            if self._merge(event):
                return True
        elif event.id in self._seen:
            return False
        else:
            self._seen.add(event.id)
            self._drop_superseded(event)
        self._add("event", event)
        return True

    def charge(self, usage: TurnUsage) -> None:
        """Take into the record what the turn has used; it is stored with the next change."""
        self.turn = self.turn.model_copy(update={"usage": usage})

    async def end(self, **changes: Any) -> None:
        """Change the record for the last time in this run, and wait until all is stored.

        Raises:
            OwnershipLostError: another node has taken the turn over.
        """
        self.turn = self.turn.model_copy(update=changes)
        self._ended_at = utc(self._clock)
        self._add("done" if self.turn.final else "turn", self.turn)
        self._journal.hurry()
        await self._idle.wait()
        self._check()

    def abandon(self) -> None:
        """Add nothing more; readers go on with what the database says."""
        if self._timer is not None:
            self._timer.cancel()
        self.log.abandon()

    # --- inside

    def _add(self, kind: EntryKind, data: Turn | Event) -> None:
        self._check()
        self._waiting.append((kind, data))
        self._idle.clear()
        now = asyncio.get_running_loop().time()
        pause = self._partial_stored_at + PARTIAL_EVERY_S - now
        if isinstance(data, Event) and data.partial and pause > 0:
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(pause, self._write_soon)
        else:
            self._write_soon()

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _merge(self, event: Event) -> bool:
        """Put a piece of text together with one that is not stored yet; whether that was done."""
        before = self._waiting[-1][1] if self._waiting else None
        if not isinstance(before, Event):
            return False
        merged = merged_partial(before, event) or merged_progress(before, event)
        if merged is None:
            return False
        self._waiting[-1] = ("event", merged)
        return True

    def _write_soon(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._writing:
            self._writing = True
            within_s = self._patience_s()
            self._journal.defer(self._write, within_s=within_s, quietly=True).add_done_callback(
                self._written
            )

    def _patience_s(self) -> float:
        """How long what waits to be stored may wait for company."""
        if self._ended_at is not None:
            return 0.0
        streamed = any(isinstance(data, Event) and _only_text(data) for _, data in self._waiting)
        return TEXT_WITHIN_S if streamed else LINGER_S

    def _drop_superseded(self, event: Event) -> None:
        """Leave out the pieces of a function call that is complete before they were stored."""
        while self._waiting:
            before = self._waiting[-1][1]
            if not (isinstance(before, Event) and before.partial and before.author == event.author):
                return
            if _only_text(before) or progress_of(before) is not None:
                return
            self._waiting.pop()

    async def _write(self, connection: AsyncConnection) -> None:
        if not self._batch:
            first = self.log.last + 1
            waiting, self._waiting = self._waiting, []
            self._batch = [Entry.of(n, *item) for n, item in enumerate(waiting, first)]
        records = [entry.data for entry in self._batch if isinstance(entry.data, Turn)]
        await self._store.save(
            connection,
            self.turn.turn_id,
            self._batch,
            records[-1] if records else None,
            ended_at=self._ended_at if records and records[-1].ended else None,
        )

    def _written(self, done: "asyncio.Future[None]") -> None:
        self._writing = False
        error = done.exception()
        if error is not None:
            self._failed(error)
            return
        self._retry_s = _FIRST_RETRY_S
        stored, self._batch = self._batch, ()
        if any(isinstance(entry.data, Event) and entry.data.partial for entry in stored):
            self._partial_stored_at = asyncio.get_running_loop().time()
        ended = any(isinstance(entry.data, Turn) and entry.data.ended for entry in stored)
        self.log.publish(stored, ended=ended)
        if self._waiting:
            self._write_soon()
        else:
            self._idle.set()

    def _failed(self, error: BaseException) -> None:
        if may_pass(error):
            log.warning("turn_not_stored", turn_id=self.turn.turn_id, again_in_s=self._retry_s)
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._retry_s, self._write_soon)
            self._retry_s = min(2 * self._retry_s, _LAST_RETRY_S)
            return
        if isinstance(error, IntegrityError):  # its numbers are taken
            error = OwnershipLostError(f"The turn {self.turn.turn_id!r} runs elsewhere.")
        self._failure = error
        self._idle.set()


def merged_partial(before: Event, event: Event) -> Event | None:
    """Two pieces of one streamed text as one piece; None when they cannot be that."""
    first, second = _only_text(before), _only_text(event)
    if (
        first is None
        or second is None
        or bool(first.thought) != bool(second.thought)
        or (before.author, before.branch, before.invocation_id)
        != (event.author, event.branch, event.invocation_id)
    ):
        return None
    part = second.model_copy(update={"text": f"{first.text}{second.text}"})
    content = Content(role=event.content.role if event.content else None, parts=[part])
    return event.model_copy(update={"content": content})


def _only_text(event: Event) -> Part | None:
    parts = (event.content and event.content.parts) or ()
    if not event.partial or len(parts) != 1:
        return None
    said = parts[0].model_dump(exclude_none=True, exclude={"text", "thought"})
    return parts[0] if parts[0].text is not None and not said else None
