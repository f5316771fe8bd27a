"""A turn that runs in this process: its record and its log."""

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import Any

from google.adk.events import Event
from sqlalchemy import Connection

from oda.clock import Clock, utc
from oda.database.journal import Journal
from oda.database.write_queue import WriteQueue
from oda.turn.log import Entry, EntryKind, Preview, TurnLog
from oda.turn.record import TurnUsage
from oda.turn.rows import StoredTurn
from oda.turn.store import TurnStore


class LiveTurn:
    """Stores log entries and changes of the record in order, and then publishes them.

    Previews are published at once, but never before an entry that precedes them. While the
    database is unreachable, writes are retried.

    Args:
        stored: The turn as it was taken.
        log: Its log up to the last stored entry.
        seen: Ids of the ADK events that are stored already.
    """

    def __init__(
        self,
        stored: StoredTurn,
        log: TurnLog,
        store: TurnStore,
        journal: Journal,
        clock: Clock,
        *,
        seen: Iterable[str] = (),
    ) -> None:
        self.turn = stored.turn
        self.run = stored.run
        self.log = log
        self.is_to_end: bool | None = None
        """Whether the turn is to be cancelled, as of its last writes; None if they did not see."""
        self.writes = WriteQueue(journal, self._guard, stored.turn.turn_id)
        """Takes the events of the session, too, where they are kept in the same database."""
        self._store = store
        self._notify = stored.input.notify
        self._clock = clock
        self._seen = set(seen)
        self._last = stored.last
        """Number of the last entry, stored or not."""

    def change(self, **changes: Any) -> None:
        """Change the record, and log the change.

        Raises:
            OwnershipLostError: there is a later run of the turn.
        """
        self.turn = self.turn.model_copy(update=changes)
        self._add_record("turn")

    def append(self, event: Event) -> bool:
        """Add an ADK event to the log; return False if it is logged already.

        Raises:
            OwnershipLostError: there is a later run of the turn.
        """
        if event.partial:
            self._show(Preview(event))
            return True
        if event.id in self._seen:
            return False
        self._seen.add(event.id)
        self._last += 1
        entry = Entry.of(self._last, "event", event, in_session=self.writes.has_event(event.id))
        add = partial(self._store.add_entry, turn_id=self.turn.turn_id, entry=entry)
        self.writes.put(add, then=partial(self.log.publish, [entry]))
        if event.get_function_responses():  # a tool has had its effect
            self.writes.hurry()
        return True

    def charge(self, usage: TurnUsage) -> None:
        """Set the usage of the turn, which is stored with the next change."""
        self.turn = self.turn.model_copy(update={"usage": usage})

    async def end(self, **changes: Any) -> None:
        """Make the last change of the record in this run, and wait until all is stored.

        Raises:
            OwnershipLostError: there is a later run of the turn.
        """
        self.turn = self.turn.model_copy(update=changes)
        self._add_record("done" if self.turn.final else "turn", ended_at=utc(self._clock))
        await self.writes.flushed()
        if self._notify:
            self._store.deliveries.added.set()

    def abandon(self) -> None:
        """Stop writing; readers continue from the database."""
        self.writes.close()
        self.log.abandon()

    # --- inside

    def _guard(self, connection: Connection) -> None:
        self.is_to_end = self._store.guard(self.turn.turn_id, self.run, connection)

    def _add_record(self, kind: EntryKind, ended_at: datetime | None = None) -> None:
        self._last += 1
        entry = Entry.of(self._last, kind, self.turn)
        self.writes.put(
            partial(
                self._store.save,
                turn=self.turn,
                run=self.run,
                entry=entry,
                ended_at=ended_at,
                notify=self._notify,
            ),
            then=partial(self.log.publish, [entry], ended=self.turn.ended),
            guards=True,
        )

    def _show(self, preview: Preview) -> None:
        self.writes.check()
        if self.log.last == self._last:  # all entries are shown
            self.log.publish([preview])
        else:
            self.writes.put(None, then=partial(self.log.publish, [preview]))
            self.writes.hurry()
