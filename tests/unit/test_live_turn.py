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

from oda.database.database import Database, open_database
from oda.database.engine import database_engine
from oda.database.migrate import upgrade
from oda.errors import OwnershipLostError
from oda.message.progress import progress_event, progress_of
from oda.testing import FakeClock
from oda.turn.live import LiveTurn
from oda.turn.log import REPLACES_PARTIAL, Entry, TurnLog, joined
from tests.support.turns import Node, assert_whole, log_of, new_turn, spoken

PATIENCE_S = 20.0


# --- putting pieces together

pieces = st.builds(
    spoken,
    st.text(min_size=1, max_size=5),
    partial=st.just(True),
    thought=st.sampled_from([None, True]),
    author=st.sampled_from(["a", "b"]),
    branch=st.sampled_from([None, "x"]),
    invocation_id=st.just("i"),
)


def parts_of(event: Event) -> list[Part]:
    assert event.content is not None
    return event.content.parts or []


def by_stream(events: list[Event]) -> dict[tuple[str, str | None, bool], str]:
    """Text by author, branch and whether it is a thought."""
    found: dict[tuple[str, str | None, bool], str] = {}
    for event in events:
        for part in parts_of(event):
            key = (event.author, event.branch, bool(part.thought))
            found[key] = found.get(key, "") + (part.text or "")
    return found


@given(st.lists(pieces, max_size=12))
def test_joining_keeps_every_text_and_makes_one_piece_of_each(said: list[Event]) -> None:
    whole = joined(said)
    assert by_stream(whole) == by_stream(said)
    streams = [(event.author, event.branch) for event in whole]
    assert streams == list(dict.fromkeys((event.author, event.branch) for event in said))
    assert all(event.partial for event in whole)


CALL = Part(function_call=FunctionCall(name="f", args={}))


@pytest.mark.parametrize(
    "other",
    [
        Event(author="agent", partial=True, content=Content(parts=[CALL])),
        Event(author="agent", partial=True, content=Content(parts=[Part(text="x"), CALL])),
        Event(
            author="agent",
            partial=True,
            content=Content(parts=[Part(text="x", thought_signature=b"signed")]),
        ),
        progress_event({"text": "out"}, author="agent", invocation_id="i"),
    ],
)
def test_what_is_more_than_a_piece_of_text_stays_alone(other: Event) -> None:
    piece = spoken("x", partial=True)
    assert joined([piece, other]) == [piece, other]
    assert joined([other, piece]) == [other, piece]


def test_what_a_tool_tells_goes_on_with_what_it_told_before() -> None:
    told = [progress_event({"text": t}, author="a", invocation_id="i") for t in ("one ", "two")]
    (whole,) = joined(told)
    assert progress_of(whole) == {"text": "one two"}


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
    """A turn whose run has begun, with two entries."""
    turn = await node.accept(new_turn(), starts=True)
    stored, log = await node.store.stored(turn.turn_id), TurnLog()
    log.publish(await log_of(node, turn.turn_id))
    return LiveTurn(stored, log, node.store, node.database.journal, FakeClock())


def texts(entries: list[Entry]) -> list[str]:
    events = [entry.data for entry in entries if isinstance(entry.data, Event)]
    return ["".join(part.text or "" for part in parts_of(one)) for one in events]


def previewed(live: LiveTurn, seen: int | None) -> list[str]:
    """The texts of the previews that a reader who has seen so many is shown."""
    return [
        "".join(part.text or "" for part in parts_of(preview.data))
        for preview in live.log.previews(seen)
    ]


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
    assert texts(entries) == [str(n) for n in range(20)]
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
    assert texts(live.log.read(0)) == ["once"]


async def test_events_of_an_earlier_run_are_known_by_their_ids(node: Node) -> None:
    before = await running(node)
    event = spoken("before")
    before.append(event)
    before.change(attempts=2)
    while before.log.last < 4:
        await asyncio.wait_for(before.log.changed(before.log.last), PATIENCE_S)
    before.abandon()
    taken = await node.take(before.turn)
    assert taken is not None
    log = TurnLog(taken.stored.last)
    after = LiveTurn(
        taken.stored, log, node.store, node.database.journal, FakeClock(), seen=[event.id]
    )
    assert (after.run, after.turn) == (2, before.turn)
    assert not after.append(event)
    assert after.append(spoken("after"))
    await after.end(status="succeeded")
    entries = await log_of(node, after.turn.turn_id)
    assert_whole(entries)
    assert texts(entries) == ["before", "after"]
    assert log.read(4) == entries[4:]


async def test_previews_are_shown_at_once_and_never_stored(node: Node) -> None:
    live = await running(node)
    for number, text in enumerate(("one ", "two "), 1):
        assert live.append(spoken(text, partial=True))
        assert live.log.previewed == number
        assert previewed(live, number - 1) == [text]
    assert previewed(live, 0) == ["one two "]
    live.append(spoken("one two three"))
    await live.end(status="succeeded")
    entries = await log_of(node, live.turn.turn_id)
    assert_whole(entries)
    assert texts(entries) == ["one two three"]
    assert previewed(live, None) == previewed(live, 0) == []


async def test_a_preview_waits_for_the_entries_before_it(node: Node) -> None:
    async with asyncio.timeout(PATIENCE_S):
        live = await running(node)
        live.append(spoken("first"))
        live.append(spoken("sec", partial=True))
        assert live.log.previewed == 0
        while live.log.previewed == 0:
            await live.log.changed(live.log.last, live.log.previewed)
        assert texts(live.log.read(2)) == ["first"]
        assert previewed(live, 0) == ["sec"]
        live.append(spoken("second"))
        live.append(spoken("thi", partial=True))
        await live.end(status="succeeded")
    assert texts(await log_of(node, live.turn.turn_id)) == ["first", "second"]
    assert previewed(live, None) == []


async def test_a_reader_who_comes_later_gets_each_text_so_far_as_one_marked_piece(
    node: Node,
) -> None:
    live = await running(node)
    for text, thought in (("hm", True), ("one ", None), ("two", None)):
        live.append(spoken(text, partial=True, thought=thought))
    live.append(spoken("other", partial=True, author="b"))
    first, second = live.log.previews(None)
    assert [(p.text, bool(p.thought)) for p in parts_of(first.data)] == [
        ("hm", True),
        ("one two", False),
    ]
    assert [p.text for p in parts_of(second.data)] == ["other"]
    for preview in (first, second):
        assert (preview.data.custom_metadata or {})[REPLACES_PARTIAL] is True
        assert b'"replacesPartial":true' in preview.json
    await live.end(status="cancelled")
    assert live.log.previews(None) == []


async def test_an_agents_complete_event_supersedes_its_previews_only(node: Node) -> None:
    live = await running(node)
    live.append(spoken("of a", partial=True, author="a"))
    live.append(spoken("of b", partial=True, author="b"))
    live.append(spoken("of a, whole", author="a"))
    await asyncio.wait_for(live.log.changed(2), PATIENCE_S)
    assert previewed(live, None) == ["of b"]
    assert previewed(live, 2) == []
    await live.end(status="succeeded")


async def test_a_failed_attempt_withdraws_all_previews(node: Node) -> None:
    live = await running(node)
    live.append(spoken("half", partial=True, author="a"))
    live.append(Event(author="system", error_code="RETRY_ATTEMPT"))
    await asyncio.wait_for(live.log.changed(2), PATIENCE_S)
    assert previewed(live, None) == []
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
        sqlalchemy_event.listen(opened.engine, "connect", tune)
        await upgrade(opened.engine)
        yield opened


@asynccontextmanager
async def locked(path: Path) -> AsyncIterator[None]:
    """The database can be read, but not written to."""
    engine = database_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        connection.exec_driver_sql("BEGIN EXCLUSIVE")
        yield
        connection.rollback()
    engine.dispose()


async def test_turn_waits_for_the_database_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "oda.db"
    async with asyncio.timeout(PATIENCE_S), impatient(path) as database:
        node = Node(database, "here")
        live = await running(node)
        failed = asyncio.Semaphore(0)

        def count(_: object) -> None:
            failed.release()

        sqlalchemy_event.listen(database.engine, "handle_error", count)
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
    assert texts(entries) == ["first", "second"]
    assert [e.json for e in live.log.read(0)] == [e.json for e in entries]


# --- when a later run has begun


@pytest.mark.parametrize("adds", ["an event", "a change", "its end"])
async def test_run_that_is_not_the_latest_hears_of_it_and_stores_nothing(
    node: Node, adds: str
) -> None:
    async with asyncio.timeout(PATIENCE_S):
        live = await running(node)
        await Node(node.database, "there").begin(live.turn)
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
