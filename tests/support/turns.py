"""Turns in a database, without an engine that runs them."""

import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from google.adk.events import Event
from google.genai.types import Content, Part
from sqlalchemy import Connection

from oda.database.database import Database, open_database
from oda.database.migrate import upgrade
from oda.turn.log import Entry, EntryKind
from oda.turn.record import Turn, TurnStatus
from oda.turn.rows import StoredTurn
from oda.turn.store import TurnStore
from oda.turn.submission import TurnInput

START = datetime(2026, 1, 1, tzinfo=UTC)
LEASE = timedelta(hours=1)
"""Longer than any test."""

_numbers = itertools.count(1)


def said(text: str) -> TurnInput:
    return TurnInput(message=Content(role="user", parts=[Part(text=text)]))


def spoken(text: str, *, partial: bool | None = None, **fields: Any) -> Event:
    """An agent's event with one text."""
    part = Part(text=text, thought=fields.pop("thought", None))
    return Event(
        author=fields.pop("author", "agent"),
        content=Content(role="model", parts=[part]),
        partial=partial,
        **fields,
    )


def new_turn(session: str = "s", user: str = "u", *, at: datetime = START, **fields: Any) -> Turn:
    """A queued turn under a new id."""
    return Turn(
        turn_id=f"turn_{next(_numbers):08}",
        app="app",
        user_id=user,
        session_id=session,
        agent="app",
        created_at=at,
        **fields,
    )


def became(turn: Turn, status: TurnStatus, *, at: datetime = START, **changes: Any) -> Turn:
    """The record of a turn in another state."""
    if status == "running":
        changes = {"attempts": turn.attempts + 1, "started_at": turn.started_at or at, **changes}
    elif status in ("succeeded", "failed", "cancelled"):
        changes = {"finished_at": at, "pending_input": [], **changes}
    return turn.model_copy(update={"status": status, **changes})


class Node:
    """One of several processes on a database: its connection, its name, and its store."""

    def __init__(self, database: Database, name: str) -> None:
        self.database = database
        self.name = name
        self.store = TurnStore(database, name)

    async def accept(self, turn: Turn, **options: Any) -> Turn:
        accepted = await self.store.accept(turn, said("hello"), **options)
        return accepted.turn

    async def claim(self, turn: Turn) -> bool:
        return await self.store.claim(became(turn, "running")) is not None

    async def add(self, turn: Turn, *texts: str) -> None:
        """Store events of a running turn, without its record."""
        await self._save(turn.turn_id, [("event", spoken(text)) for text in texts], None)

    async def change(self, turn: Turn) -> None:
        """Store the record, and that it has changed."""
        kind: EntryKind = "done" if turn.final else "turn"
        await self._save(turn.turn_id, [(kind, turn)], turn, at=turn.finished_at or START)

    async def finish(self, turn: Turn, status: TurnStatus = "succeeded") -> Turn:
        ended = became(turn, status)
        await self.change(ended)
        return ended

    async def run(self, turn: Turn) -> Turn:
        """Claim a turn that nothing stands before, and end it."""
        assert await self.claim(turn)
        return await self.finish(became(turn, "running"))

    async def _save(
        self,
        turn_id: str,
        things: Sequence[tuple[EntryKind, Turn | Event]],
        turn: Turn | None,
        *,
        at: datetime = START,
    ) -> None:
        last = (await self.store.stored(turn_id)).last
        entries = [Entry.of(n, kind, data) for n, (kind, data) in enumerate(things, last + 1)]
        ended_at = at if turn is not None and turn.ended else None

        def write(connection: Connection) -> None:
            self.store.guard(turn_id, connection)
            for entry in entries:
                if entry.data is turn:
                    self.store.save(connection, turn=turn, entry=entry, ended_at=ended_at)
                else:
                    self.store.add_entry(connection, turn_id=turn_id, entry=entry)

        await self.database.journal.run(write)

    async def live(self) -> None:
        """Say that it lives."""
        await self.store.renew_lease(LEASE)

    async def fall_silent(self) -> None:
        """Let its lease run out: for the others it is dead."""
        await self.store.renew_lease(timedelta(seconds=-1))

    async def adopt_all(self) -> list[StoredTurn]:
        """Take over what dead nodes have left, in its order."""
        found = [await self.store.adopt(one) for one in await self.store.orphans()]
        return [one for one in found if one is not None]


@asynccontextmanager
async def open_node(url: str, name: str) -> AsyncIterator[Node]:
    """A node that is alive until it falls silent."""
    async with open_database(url) as database:
        await upgrade(database.engine)
        node = Node(database, name)
        await node.live()
        yield node


async def log_of(node: Node, turn_id: str) -> list[Entry]:
    return await node.store.entries(turn_id, 0)


def assert_whole(entries: Sequence[Entry], *, final: bool = True) -> None:
    """Numbers from one without gap; exactly one `done`, at the end, once the turn is final."""
    assert [entry.number for entry in entries] == list(range(1, len(entries) + 1))
    dones = [entry.number for entry in entries if entry.kind == "done"]
    assert dones == ([len(entries)] if final else [])
