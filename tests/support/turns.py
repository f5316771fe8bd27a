"""Turns in a database, without an engine that runs them."""

import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from google.adk.events import Event
from google.genai.types import Content, Part
from sqlalchemy import Connection

from oda.database.database import Database, open_database
from oda.database.migrate import upgrade
from oda.testing import FakeClock
from oda.turn.log import Entry, EntryKind
from oda.turn.record import Turn, TurnStatus
from oda.turn.store import TakenTurn, TurnStore
from oda.turn.submission import TurnInput

START = datetime(2026, 1, 1, tzinfo=UTC)

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
    """One of several processes on a database: its name, its store, and the runs it has begun.

    It may write for a run that another process has ended meanwhile; the store refuses that.
    """

    def __init__(self, database: Database, name: str) -> None:
        self.database = database
        self.name = name
        self.store = TurnStore(database, FakeClock(START.timestamp()), runner=name)
        self.runs: dict[str, int] = {}
        """Number of its last run of each turn."""

    async def accept(self, turn: Turn, **options: Any) -> Turn:
        accepted = await self.store.accept(turn, said("hello"), **options)
        if accepted.turn.status == "running" and not accepted.replayed:
            self.runs[turn.turn_id] = 1
        return accepted.turn

    async def take(self, turn: Turn) -> TakenTurn | None:
        taken = await self.store.take(turn.turn_id)
        if taken is not None and taken.stored.turn.status == "running":
            self.runs[turn.turn_id] = taken.stored.run
        return taken

    async def begin(self, turn: Turn) -> Turn:
        """Begin a run of a turn that must run."""
        taken = await self.take(turn)
        assert taken is not None
        assert taken.stored.turn.status == "running"
        return taken.stored.turn

    async def release(self, turn: Turn) -> None:
        await self.store.release(turn.turn_id, self._run_of(turn))

    async def hold(self, turn: Turn) -> None:
        await self.store.hold(turn.turn_id, self._run_of(turn))

    async def add(self, turn: Turn, *texts: str) -> None:
        """Store events of a running turn, without its record."""
        await self._save(turn, [spoken(text) for text in texts])

    async def change(self, turn: Turn) -> None:
        """Store the record, and that it has changed."""
        await self._save(turn, [turn], at=turn.finished_at or START)

    async def finish(self, turn: Turn, status: TurnStatus = "succeeded") -> Turn:
        """End a turn that runs."""
        ended = became(turn, status)
        await self.change(ended)
        return ended

    async def run(self, turn: Turn) -> Turn:
        """Run a turn from its beginning to its end."""
        return await self.finish(await self.begin(turn))

    async def _save(
        self, turn: Turn, things: Sequence[Turn | Event], *, at: datetime = START
    ) -> None:
        run = self._run_of(turn)
        last = (await self.store.stored(turn.turn_id)).last
        ended_at = at if turn.ended else None

        def write(connection: Connection) -> None:
            self.store.guard(turn.turn_id, run, connection)
            for number, thing in enumerate(things, last + 1):
                entry = Entry.of(number, _kind_of(thing), thing)
                if isinstance(thing, Turn):
                    self.store.save(connection, turn=thing, run=run, entry=entry, ended_at=ended_at)
                else:
                    self.store.add_entry(connection, turn_id=turn.turn_id, entry=entry)

        await self.database.journal.run(write)

    def _run_of(self, turn: Turn) -> int:
        return self.runs.get(turn.turn_id, 0)


def _kind_of(thing: Turn | Event) -> EntryKind:
    if isinstance(thing, Event):
        return "event"
    return "done" if thing.final else "turn"


@asynccontextmanager
async def open_node(url: str, name: str) -> AsyncIterator[Node]:
    async with open_database(url) as database:
        await upgrade(database.engine)
        yield Node(database, name)


async def log_of(node: Node, turn_id: str) -> list[Entry]:
    return await node.store.entries(turn_id, 0)


def assert_whole(entries: Sequence[Entry], *, final: bool = True) -> None:
    """Numbers from one without gap; exactly one `done`, at the end, once the turn is final."""
    assert [entry.number for entry in entries] == list(range(1, len(entries) + 1))
    dones = [entry.number for entry in entries if entry.kind == "done"]
    assert dones == ([len(entries)] if final else [])
