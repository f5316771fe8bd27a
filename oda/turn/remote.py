"""Logs of turns that run in other processes, kept up to date by notifications."""

import asyncio
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self
from weakref import WeakValueDictionary

from google.adk.events import Event
from google.genai.types import Content

from oda.telemetry import get_logger
from oda.turn.log import Entry, Preview, TurnLog, supersedes, texts_of, unmarked
from oda.turn.reader import TurnReader
from oda.turn.record import Turn
from oda.turn.rows import StoredTurn
from oda.turn.store import TakenTurn

lines = get_logger(__name__)

ENTRIES = "oda_entries"
"""Channel of new entries; payload: turn id, number. A trigger of the table sends it."""
PREVIEWS = "oda_previews"
"""Channel of previews; payload: turn id, number of the entry before it, event."""
WANTED = "oda_previews_wanted"
"""Channel of readers who want to see previews; payload: turn id."""

_LOOKED_EVERY_S = 3.0
"""How often a followed log is read in case that a notification was lost."""
_READER_WITHIN_S = 2.0
"""How long the log of a new turn is kept for a first reader."""
_SENT_EVERY_S = 0.25
_LONGEST_PAYLOAD = 7_900
"""Bytes; PostgreSQL allows a little less than 8,000."""
_LONGEST_TEXT = 1_200
"""Characters, each of up to six bytes in JSON."""

Notify = Callable[[str, str], Awaitable[None]]


class RemoteLogs:
    """The logs that readers in this process follow, while they do."""

    def __init__(self, store: TurnReader, notify: Notify) -> None:
        self._store = store
        self._notify = notify
        self._logs: WeakValueDictionary[str, _RemoteLog] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._begin(self._look_again())
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for log in [*self._logs.values()]:
            log.abandon()
        if self._tasks:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks)

    def get(self, turn_id: str) -> TurnLog | None:
        """Return the log of a turn that somebody follows; a log that has ended gets nothing new."""
        log = self._logs.get(turn_id)
        return None if log is None or log.ended else log

    def expect(self, turn_id: str) -> "_RemoteLog":
        """Return an empty log for a turn that is about to be stored; see `begin`."""
        log = self._logs[turn_id] = _RemoteLog(turn_id, 0, self._want_previews)
        return log

    def begin(self, log: "_RemoteLog", queued: Turn) -> None:
        """Publish that a turn has been stored; its log is kept until a reader can have come."""
        if not (log.last or log.abandoned):
            log.publish([Entry.of(1, "turn", queued)])
        asyncio.get_running_loop().call_later(_READER_WITHIN_S, log.keep)

    async def open(self, stored: StoredTurn, last: int) -> TurnLog:
        """Return the log of a turn from entry `last` on; it is kept while it is referred to.

        Args:
            last: Number of the last stored entry that the reader has.
        """
        turn_id = stored.turn.turn_id
        log = self._logs.get(turn_id)
        if log is None or log.ended or log.abandoned:
            log = self._logs[turn_id] = _RemoteLog(turn_id, last, self._want_previews)
            log.is_running = stored.turn.status == "running"
            await self._read(log)  # what was stored before notifications were heard
        return log

    @contextmanager
    def taking(self, turn_id: str) -> Iterator[None]:
        """Read nothing for the log of a turn that this process takes, and then runs."""
        log = self._logs.get(turn_id)
        if log is not None:
            log.is_local = True
        try:
            yield
        finally:
            if log is not None and not (log.ended or log.abandoned):
                log.is_local = False
                self._feed(log, None)

    def leave_to_run(self, taken: TakenTurn) -> TurnLog:
        """Return the log that a run in this process writes from now on.

        It is the one that readers follow here, if there is one and it lacks nothing but the record
        with which the turn has begun.
        """
        stored = taken.stored
        has_begun = stored.turn.status == "running" and not taken.was_running
        log = self._logs.get(stored.turn.turn_id)
        if log is not None and not (log.ended or log.abandoned):
            log.is_local = True
            if log.last >= stored.last - has_begun:
                return log
            log.abandon()
        return TurnLog(stored.last)

    def forget(self, turn_id: str) -> None:
        """Let new readers begin with what the database holds."""
        self._logs.pop(turn_id, None)

    def refresh(self) -> None:
        """Read all logs again, since notifications may be lost."""
        for log in self._logs.values():
            if not log.is_local:
                self._feed(log, None)

    def heard_entries(self, payload: str) -> None:
        """Handle a notification on `ENTRIES`."""
        turn_id, number = payload.split(" ")
        log = self._logs.get(turn_id)
        # Who expects a turn publishes its first entry.
        if log is not None and int(number) > max(log.last, 1) and not log.is_local:
            self._feed(log, None)

    def heard_preview(self, payload: str) -> None:
        """Handle a notification on `PREVIEWS`."""
        turn_id, after, event = payload.split(" ", 2)
        if (log := self._logs.get(turn_id)) is not None and log.has_viewers:
            self._feed(log, (int(after), event))

    def _feed(self, log: "_RemoteLog", item: tuple[int, str] | None) -> None:
        log.heard.append(item)
        if not log.is_fed:
            log.is_fed = True
            self._begin(self._take_in(log))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _take_in(self, log: "_RemoteLog") -> None:
        """Publish what was heard, in order."""
        try:
            while log.heard:
                item = log.heard.popleft()
                if item is None:
                    await self._read(log)
                else:
                    await self._take_preview(log, *item)
        except Exception as error:  # it is looked at again soon
            lines.debug("log_not_read", turn_id=log.turn_id, exc_info=error)
        finally:
            log.is_fed = False

    async def _take_preview(self, log: "_RemoteLog", after: int, event: str) -> None:
        if after > log.last:
            await self._read(log)
        if log.ended or log.is_local:
            return
        preview = Preview(Event.model_validate_json(event))
        if not any(supersedes(it, preview.data) for it in log.read(after)):
            log.publish([preview])

    async def _read(self, log: "_RemoteLog") -> None:
        read = await self._store.entries(log.turn_id, log.last)
        entries = [entry for entry in read if entry.number > log.last]  # read meanwhile by another
        if log.is_local or not entries:
            return
        records = [entry.data for entry in entries if isinstance(entry.data, Turn)]
        log.publish(entries, ended=entries[-1].data in records and records[-1].ended)
        if records:
            log.is_running = records[-1].status == "running"
            if log.has_viewers and log.is_running:  # perhaps in another process than before
                await self._want_previews(log)

    async def _want_previews(self, log: "_RemoteLog") -> None:
        await self._notify(WANTED, log.turn_id)

    async def _look_again(self) -> None:
        while True:
            await asyncio.sleep(_LOOKED_EVERY_S)
            self.refresh()


class _RemoteLog(TurnLog):
    """A log that is read from the database, unless its turn runs in this process."""

    def __init__(
        self, turn_id: str, base: int, want_previews: Callable[["_RemoteLog"], Awaitable[None]]
    ) -> None:
        super().__init__(base)
        self.turn_id = turn_id
        self.is_running = False
        self.is_local = False
        """Whether a run in this process writes it."""
        self.has_viewers = False
        """Whether a reader wants previews."""
        self._want_previews = want_previews
        self.heard: deque[tuple[int, str] | None] = deque()
        """Previews, and None where there may be new entries."""
        self.is_fed = False

    async def changed(self, after: int, seen: int | None = None) -> None:
        if seen is not None and not self.has_viewers:
            self.has_viewers = True
            if self.is_running and not self.is_local:
                await self._want_previews(self)
        await super().changed(after, seen)

    def keep(self) -> None:
        """Do nothing; a timer that refers to it keeps the log until then."""


class Previewing:
    """Sends previews of turns that run here to the processes that want them."""

    def __init__(self, notify: Notify) -> None:
        self._notify = notify
        self._logs: dict[str, TurnLog | None] = {}
        """Logs of the turns that run here; None for one that is being taken."""
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._joined: set[str] = set()
        """Turns that a reader has joined, who needs the text so far."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if tasks := set(self._tasks.values()):
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    @contextmanager
    def turn(self, turn_id: str) -> Iterator[None]:
        """Remember who wants to see a turn that this process is about to take."""
        self._logs[turn_id] = None
        try:
            yield
        finally:
            self._logs.pop(turn_id, None)
            self._joined.discard(turn_id)

    def begin(self, turn_id: str, log: TurnLog) -> None:
        """Send the previews of a turn that has been taken, once somebody wants them."""
        self._logs[turn_id] = log
        if turn_id in self._joined:
            self.heard_wish(turn_id)

    def heard_wish(self, turn_id: str) -> None:
        """Handle a notification on `WANTED`: send the text so far, and what follows."""
        if turn_id not in self._logs:
            return
        self._joined.add(turn_id)
        log = self._logs[turn_id]
        if log is not None and turn_id not in self._tasks:
            task = asyncio.create_task(self._send_all(turn_id, log))
            self._tasks[turn_id] = task
            task.add_done_callback(lambda _: self._tasks.pop(turn_id))

    async def _send_all(self, turn_id: str, log: TurnLog) -> None:
        seen: int | None = 0
        while True:
            await log.changed(sys.maxsize, seen or 0)
            if log.ended or log.abandoned:
                return
            if turn_id in self._joined:
                self._joined.discard(turn_id)
                seen = None
            previews, after, seen = log.previews(seen), log.last, log.previewed
            for preview in previews:
                for event in _pieces(preview.data):
                    payload = f"{turn_id} {after} {Preview(event).json.decode()}"
                    if len(payload.encode()) <= _LONGEST_PAYLOAD:
                        await self._notify(PREVIEWS, payload)
            await asyncio.sleep(_SENT_EVERY_S)


def _pieces(event: Event) -> list[Event]:
    """Split a long text so that a notification may carry each piece."""
    texts = [
        part.model_copy(update={"text": part.text[start : start + _LONGEST_TEXT]})
        for part in texts_of(event)
        if part.text
        for start in range(0, len(part.text), _LONGEST_TEXT)
    ]
    if len(texts) < 2:
        return [event]
    role = event.content.role if event.content else None
    first, *rest = [
        event.model_copy(update={"content": Content(role=role, parts=[text])}) for text in texts
    ]
    return [first, *(unmarked(piece) for piece in rest)]
