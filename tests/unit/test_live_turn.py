"""A turn that runs here: stored in order, shown when it is stored, pieces of text put together."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from google.adk.events import Event
from google.genai.types import Content, FunctionCall, Part
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import event as sqlalchemy_event
from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncConnection

from oda.database.database import Database, open_database
from oda.database.engine import database_engine
from oda.database.migrate import upgrade
from oda.database.schema import turns
from oda.errors import OwnershipLostError
from oda.testing import FakeClock
from oda.turn.live import LiveTurn, merged_partial
from oda.turn.log import Entry
from tests.support.turns import Node, assert_whole, became, log_of, new_turn, spoken

PATIENCE_S = 20.0


# --- putting pieces together

pieces = st.builds(
    spoken,
    st.text(max_size=5),
    partial=st.just(True),
    thought=st.sampled_from([None, False, True]),
    author=st.sampled_from(["a", "b"]),
    branch=st.sampled_from([None, "x"]),
    invocation_id=st.just("i"),
)


def part_of(event: Event) -> Part:
    assert event.content is not None
    assert event.content.parts is not None
    (part,) = event.content.parts
    return part


def kind_of(event: Event) -> tuple[str, str | None, bool]:
    return event.author, event.branch, bool(part_of(event).thought)


@given(st.lists(pieces, min_size=1, max_size=12))
def test_merging_keeps_every_text_and_never_mixes_kinds(given_pieces: list[Event]) -> None:
    merged = given_pieces[:1]
    for piece in given_pieces[1:]:
        together = merged_partial(merged[-1], piece)
        assert (together is None) == (kind_of(merged[-1]) != kind_of(piece))
        if together is None:
            merged.append(piece)
        else:
            assert kind_of(together) == kind_of(piece)
            assert together.partial
            merged[-1] = together
    for kind in {kind_of(piece) for piece in given_pieces}:
        said = [
            "".join(part_of(p).text or "" for p in some if kind_of(p) == kind)
            for some in (given_pieces, merged)
        ]
        assert said[0] == said[1]


CALL = Part(function_call=FunctionCall(name="f", args={}))


@pytest.mark.parametrize(
    "other",
    [
        spoken("whole"),
        Event(author="agent", partial=True, content=Content(parts=[CALL])),
        Event(author="agent", partial=True, content=Content(parts=[Part(text="x"), CALL])),
        Event(author="agent", partial=True, content=Content(parts=[])),
        Event(author="agent", partial=True),
        Event(
            author="agent",
            partial=True,
            content=Content(parts=[Part(text="x", thought_signature=b"signed")]),
        ),
    ],
)
def test_what_is_more_than_a_piece_of_text_stays_alone(other: Event) -> None:
    piece = spoken("x", partial=True)
    assert merged_partial(piece, other) is None
    assert merged_partial(other, piece) is None


# --- storing


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with open_database(f"sqlite:///{tmp_path / 'oda.db'}") as opened:
        await upgrade(opened.engine)
        yield opened


@pytest.fixture
def node(database: Database) -> Node:
    return Node(database, "here")


async def running(node: Node) -> LiveTurn:
    """A turn that has begun, with two entries."""
    queued = new_turn()
    turn = became(queued, "running")
    await node.accept(queued, start=turn)
    live = LiveTurn(queued, node.store, node.database.journal, FakeClock())
    live.publish(queued, turn)
    live.turn = turn
    return live


def texts(entries: list[Entry], *, partial: bool) -> list[str]:
    events = [entry.data for entry in entries if entry.partial == partial]
    return [part_of(one).text or "" for one in events if isinstance(one, Event)]


async def test_what_is_added_is_stored_in_order_and_then_shown(node: Node) -> None:
    async with asyncio.timeout(PATIENCE_S):
        live = await running(node)
        for number in range(20):
            assert live.append(spoken(str(number)))
            if number == 10:
                live.change(attempts=2)
        assert live.log.last == 2
        await live.end(status="succeeded", reply="19")
        entries = await log_of(node, live.turn.turn_id)
    assert_whole(entries)
    assert [e.json for e in live.log.read(0)] == [e.json for e in entries]
    assert texts(entries, partial=False) == [str(n) for n in range(20)]
    assert (live.log.ended, live.turn.attempts, live.turn.reply) == (True, 2, "19")
    assert await node.store.get(live.turn.turn_id) == live.turn


async def test_nothing_is_shown_before_it_is_stored(node: Node) -> None:
    async with asyncio.timeout(PATIENCE_S):
        live = await running(node)

        async def watch() -> None:
            position = 0
            while not live.log.ended:
                await live.log.changed(position)
                shown = live.log.read(position)
                stored = await node.store.entries(live.turn.turn_id, position)
                assert [e.json for e in stored][: len(shown)] == [e.json for e in shown]
                position = live.log.last

        watching = asyncio.create_task(watch())
        for number in range(30):
            live.append(spoken(str(number), partial=number % 3 == 0))
            await asyncio.sleep(0.002 * (number % 4))
        await live.end(status="failed")
        await watching


async def test_event_that_is_stored_already_is_not_added_again(node: Node) -> None:
    live = await running(node)
    once = spoken("once")
    assert [live.append(one) for one in (once, once, once.model_copy(deep=True))] == [
        True,
        False,
        False,
    ]
    await live.end(status="succeeded")
    assert texts(live.log.read(0), partial=False) == ["once"]


async def test_events_of_an_earlier_life_are_known_by_their_ids(node: Node) -> None:
    before = await running(node)
    event = spoken("before")
    before.append(event)
    before.change(attempts=2)
    while before.log.last < 4:
        await asyncio.wait_for(before.log.changed(before.log.last), PATIENCE_S)
    before.abandon()
    after = LiveTurn(
        before.turn, node.store, node.database.journal, FakeClock(), last=4, seen=[event.id]
    )
    assert not after.append(event)
    assert after.append(spoken("after"))
    await after.end(status="succeeded")
    entries = await log_of(node, after.turn.turn_id)
    assert_whole(entries)
    assert texts(entries, partial=False) == ["before", "after"]
    assert after.log.read(4) == entries[4:]


async def test_fast_pieces_of_text_are_stored_together(node: Node) -> None:
    async with asyncio.timeout(PATIENCE_S):
        live = await running(node)
        said = [f"{number} " for number in range(500)]
        for number, text in enumerate(said):
            live.append(spoken(text, partial=True))
            if number % 10 == 0:
                await asyncio.sleep(0.001)
        live.append(spoken("".join(said)))
        await live.end(status="succeeded")
        entries = await log_of(node, live.turn.turn_id)
    assert "".join(texts(entries, partial=True)) == "".join(said)
    assert texts(entries, partial=False) == ["".join(said)]
    assert len(entries) < 50
    assert_whole(entries)


async def test_slow_pieces_are_shown_although_nothing_follows(node: Node) -> None:
    live = await running(node)
    for text in ("first", "second", "third"):
        position = live.log.last
        live.append(spoken(text, partial=True))
        await asyncio.wait_for(live.log.changed(position), PATIENCE_S)
        assert texts(live.log.read(position), partial=True) == [text]
    await live.end(status="succeeded")


async def test_waiting_turn_ends_without_being_done(node: Node) -> None:
    live = await running(node)
    await live.end(status="waiting_input", pending_input=[{"id": "c", "name": "n", "args": {}}])
    assert live.log.ended
    entries = await log_of(node, live.turn.turn_id)
    assert_whole(entries, final=False)
    assert entries[-1].data == live.turn


# --- when the database is away


@asynccontextmanager
async def impatient(path: Path) -> AsyncIterator[Database]:
    """One whose connections do not wait for locks."""

    def tune(connection: Any, _: object) -> None:
        connection.execute("PRAGMA busy_timeout=1")

    async with open_database(f"sqlite:///{path}") as opened:
        sqlalchemy_event.listen(opened.engine.sync_engine, "connect", tune)
        await upgrade(opened.engine)
        yield opened


@asynccontextmanager
async def locked(path: Path) -> AsyncIterator[None]:
    """The database can be read, but not written to."""
    engine = database_engine(f"sqlite:///{path}")
    async with engine.connect() as connection:
        await connection.exec_driver_sql("BEGIN EXCLUSIVE")
        yield
        await connection.rollback()
    await engine.dispose()


async def test_turn_waits_for_the_database_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "oda.db"
    async with asyncio.timeout(PATIENCE_S), impatient(path) as database:
        node = Node(database, "here")
        live = await running(node)
        failed = asyncio.Semaphore(0)

        def count(_: object) -> None:
            failed.release()

        sqlalchemy_event.listen(database.engine.sync_engine, "handle_error", count)
        async with locked(path):
            live.append(spoken("first"))
            for _ in range(3):
                await failed.acquire()
            live.append(spoken("piece ", partial=True))
            live.append(spoken("second"))
            ending = asyncio.create_task(live.end(status="succeeded"))
            for _ in range(3):
                await failed.acquire()
            assert not ending.done()
            assert live.log.last == 2
            assert not live.log.ended
        await ending
        entries = await log_of(node, live.turn.turn_id)
    assert_whole(entries)
    assert texts(entries, partial=False) == ["first", "second"]
    assert [e.json for e in live.log.read(0)] == [e.json for e in entries]


# --- when another node has the turn


async def give_away(node: Node, live: LiveTurn) -> None:
    async def operation(connection: AsyncConnection) -> None:
        taken = update(turns).where(turns.c.turn_id == live.turn.turn_id).values(owner="there")
        await connection.execute(taken)

    await node.database.journal.run(operation)


@pytest.mark.parametrize("adds", ["an event", "a change", "its end"])
async def test_node_that_has_lost_the_turn_hears_of_it_and_stores_nothing(
    node: Node, adds: str
) -> None:
    async with asyncio.timeout(PATIENCE_S):
        live = await running(node)
        await give_away(node, live)
        if adds == "its end":
            with pytest.raises(OwnershipLostError):
                await live.end(status="succeeded")
        else:
            with pytest.raises(OwnershipLostError):
                while True:
                    if adds == "an event":
                        live.append(spoken("lost"))
                    else:
                        live.change(attempts=9)
                    await asyncio.sleep(0.001)
        with pytest.raises(OwnershipLostError):
            await live.end(status="succeeded")
        assert len(await log_of(node, live.turn.turn_id)) == 2
        assert (live.log.last, live.log.ended) == (2, False)


async def test_readers_of_an_abandoned_turn_are_told_to_look_elsewhere(node: Node) -> None:
    live = await running(node)
    waiting = asyncio.create_task(live.log.changed(2))
    await asyncio.sleep(0)
    live.abandon()
    await asyncio.wait_for(waiting, PATIENCE_S)
    assert live.log.abandoned
    assert not live.log.ended
