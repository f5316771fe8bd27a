"""Turns that survive: one engine, then its successor, then two at once, on one database."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from google.adk.events import Event
from sqlalchemy import event, or_, select, update
from sqlalchemy import text as sql

from oda import OdaContext
from oda.clock import SystemClock
from oda.database import schema
from oda.database.listener import libpq_url
from oda.errors import (
    ConflictError,
    IdempotencyConflictError,
    OverloadedError,
    SessionBusyError,
    TurnNotFoundError,
)
from oda.session.oda_session import OdaSession
from oda.turn.follow import Follower
from oda.turn.log import Entry, Preview, is_marked, texts_of
from oda.turn.patience import CHANNEL
from oda.turn.record import Turn
from oda.turn.remote import ENTRIES, PREVIEWS, WANTED
from oda.turn.submission import IdempotencyKey
from tests.support.cues import cues
from tests.support.transcript import transcript
from tests.support.turn_node import APP, SILENT_S, USER, Plan, killed_node, node, submission
from tests.support.turns import assert_whole

pytestmark = pytest.mark.asyncio(loop_factories=["uvloop"])
"""The server's loop; tests of the journal and of whole turns run on asyncio's own, too."""

PATIENCE_S = 60.0
SOON_S = 10.0
SESSION = "s"


@pytest.fixture(autouse=True)
def fresh_cues() -> Iterator[None]:
    cues.clear()
    yield


class WrongClock(SystemClock):
    """A wall clock that is fast or slow by some seconds."""

    def __init__(self, skew_s: float) -> None:
        self._skew_s = skew_s

    def now(self) -> float:
        return super().now() + self._skew_s


class Place:
    """A database, and a directory for nodes."""

    def __init__(self, url: str, directory: Path) -> None:
        self.url = url
        self.directory = directory

    def node(self, **options: Any) -> OdaContext:
        return node(self.url, self.directory, **options)


@pytest.fixture
def place(empty_database_url: str, tmp_path: Path) -> Place:
    return Place(empty_database_url, tmp_path)


@pytest.fixture
async def oda(place: Place) -> AsyncIterator[OdaContext]:
    async with place.node() as opened:
        yield opened


@pytest.fixture
def shared(empty_postgres_url: str, tmp_path: Path) -> Place:
    """A place that several processes may share."""
    return Place(empty_postgres_url, tmp_path)


@pytest.fixture
async def pair(shared: Place) -> AsyncIterator[tuple[OdaContext, OdaContext]]:
    """Two processes that share the turns, and take over those of the dead."""
    async with shared.node() as first, shared.node() as second:
        await first.turns.recover()
        await second.turns.recover()
        await conversation(first)
        yield first, second


async def conversation(oda: OdaContext, session_id: str = SESSION) -> OdaSession:
    return await oda.sessions.get_or_create(APP, USER, session_id)


async def submit(oda: OdaContext, text: str, session_id: str = SESSION, **options: Any) -> str:
    session = await conversation(oda, session_id)
    accepted = await oda.turns.submit(session, submission(text, **options))
    return accepted.turn.turn_id


async def answer(oda: OdaContext, text: str, session_id: str = SESSION, **options: Any) -> Turn:
    return await oda.turns.wait(await submit(oda, text, session_id, **options))


@contextmanager
def statements_of(oda: OdaContext) -> Iterator[list[str]]:
    """The statements that are sent to the database meanwhile."""
    sent: list[str] = []

    def keep(_: Any, __: Any, statement: str, *___: Any) -> None:
        sent.append(statement)

    event.listen(oda.database.engine, "before_cursor_execute", keep)
    try:
        yield sent
    finally:
        event.remove(oda.database.engine, "before_cursor_execute", keep)


async def hold(oda: OdaContext, name: str, *, verb: str = "hold", **options: Any) -> str:
    """A turn that runs until it is told to go on."""
    turn_id = await submit(oda, f"{verb} {name}", **options)
    await asyncio.wait_for(cues.begun[name].wait(), SOON_S)
    return turn_id


async def wish_to_cancel(oda: OdaContext, turn_id: str) -> None:
    """Wait until it is stored that a turn is to be cancelled, or has been."""
    columns = schema.turns.c
    wished = or_(columns.cancel_requested, columns.status == "cancelled")
    asked = select(wished).where(columns.turn_id == turn_id)
    while not await oda.database.scalar(asked):  # noqa: ASYNC110 - the database tells nobody
        await asyncio.sleep(0.01)


async def followed(oda: OdaContext, turn_id: str, after: int = 0) -> list[Entry]:
    return entries_in([item async for item in oda.turns.follow(turn_id, after)])


def entries_in(items: Sequence[Entry | Preview]) -> list[Entry]:
    return [item for item in items if isinstance(item, Entry)]


async def said(oda: OdaContext, session_id: str = SESSION) -> list[str]:
    """What is stored of the conversation."""
    session = await conversation(oda, session_id)
    return transcript(await session.history())


async def messages(oda: OdaContext, session_id: str = SESSION) -> list[str]:
    return [line[6:] for line in await said(oda, session_id) if line.startswith("user: ")]


async def assert_all_whole(oda: OdaContext, turn_ids: Sequence[str]) -> None:
    for turn_id in turn_ids:
        turn = await oda.turns.get(turn_id)
        entries = await oda.turns.entries(turn_id)
        assert_whole(entries, final=turn.final)
        assert entries[-1].data == turn


def ids(turn: Turn) -> list[str]:
    return [item["id"] for item in turn.pending_input]


# --- one turn


async def test_turn_whose_log_cannot_be_read_ends_and_frees_its_session(oda: OdaContext) -> None:
    turn_id = await submit(oda, "pay 1")
    turn = await oda.turns.wait(turn_id)
    entries = schema.turn_entries
    broken = update(entries).where(entries.c.turn_id == turn_id, entries.c.number == 3)
    await oda.database.journal.run(
        lambda connection: connection.execute(broken.values(data=b"{", event_id=None))
    )
    await oda.turns.answer(turn_id, [(ids(turn)[0], True, None)])
    ended = await oda.turns.wait(turn_id)
    assert (ended.status, cues.paid) == ("failed", [])
    assert ended.error is not None
    assert (await answer(oda, "next")).reply == "next"


async def test_turn_is_answered_and_stored(oda: OdaContext) -> None:
    turn_id = await submit(oda, "hello", metadata={"n": 1})
    turn, events = await oda.turns.result(turn_id)
    assert (turn.status, turn.reply, turn.attempts) == ("succeeded", "hello", 1)
    assert turn.metadata == {"n": 1}
    assert turn.started_at is not None
    assert turn.finished_at is not None
    assert turn.created_at <= turn.started_at <= turn.finished_at
    parsed = [Event.model_validate_json(event) for event in events]
    assert transcript(parsed) == ["actor: hello"]
    assert {event.invocation_id for event in parsed} == {turn_id}
    assert await said(oda) == ["user: hello", "actor: hello"]
    assert await oda.turns.get(turn_id) == turn
    assert (await oda.turns.result(turn_id)) == (turn, events)
    await assert_all_whole(oda, [turn_id])
    statuses = [e.data.status for e in await oda.turns.entries(turn_id) if isinstance(e.data, Turn)]
    assert statuses == ["queued", "running", "succeeded"]


async def test_turn_is_followed_from_every_position_live_and_afterwards(oda: OdaContext) -> None:
    turn_id = await submit(oda, "hold go", stream_tokens=True)
    live = [asyncio.create_task(followed(oda, turn_id, after)) for after in range(6)]
    await cues.begun["go"].wait()
    live += [asyncio.create_task(followed(oda, turn_id, after)) for after in range(6)]
    await asyncio.sleep(0)
    cues.go["go"].set()
    await oda.turns.wait(turn_id)
    whole = await followed(oda, turn_id)
    assert_whole(whole)
    for after in range(len(whole) + 1):
        assert await followed(oda, turn_id, after) == whole[after:]
    for number, task in enumerate(live):
        assert [e.json for e in await task] == [e.json for e in whole[number % 6 :]]


async def test_streamed_texts_are_shown_and_not_stored(oda: OdaContext) -> None:
    text = "stream " + " ".join("abcdefghij")
    turn_id = await submit(oda, text, stream_tokens=True)
    shown = [item async for item in oda.turns.follow(turn_id, previews=True)]
    previews = [item.data for item in shown if isinstance(item, Preview)]
    pieces = [event.content.parts[0].text for event in previews if event.content]  # type: ignore[index]
    assert "".join(map(str, pieces)) == "a b c d e f g h i j "
    _, events = await oda.turns.result(turn_id)
    entries = await oda.turns.entries(turn_id)
    assert len(events) == 1
    assert entries_in(shown) == entries
    assert not any(entry.partial for entry in entries)
    assert_whole(entries)


async def test_reader_in_the_process_that_runs_the_turn_needs_nothing_from_the_database(
    oda: OdaContext,
) -> None:
    await answer(oda, "first")  # what notifications before it were lost has been read
    with statements_of(oda) as sent:
        turn_id = await submit(oda, "stream a b c d e", stream_tokens=True)
        shown = [item async for item in oda.turns.follow(turn_id, previews=True)]
    assert_whole(entries_in(shown))
    assert any("INSERT INTO oda_turn_entries" in statement for statement in sent)
    assert not any("oda_turn_entries.data" in statement for statement in sent)


async def test_what_is_followed_has_been_stored(oda: OdaContext) -> None:
    turn_id = await submit(oda, "stream a b c d e", stream_tokens=True)
    follower = oda.turns.follow(turn_id, previews=True)
    while not follower.ended:
        seen = entries_in(await follower.read())
        stored = await oda.turns.entries(turn_id)
        if seen:
            first, last = seen[0].number, seen[-1].number
            assert [e.json for e in seen] == [e.json for e in stored if first <= e.number <= last]


async def test_queued_turn_is_followed_without_gap(oda: OdaContext) -> None:
    await hold(oda, "a")
    turn_id = await submit(oda, "queued")
    following = asyncio.create_task(followed(oda, turn_id))
    await asyncio.sleep(0)
    cues.go["a"].set()
    assert_whole(await following)


async def test_slow_reader_holds_up_nobody(oda: OdaContext) -> None:
    turn_id = await submit(oda, "stream a b c d e", stream_tokens=True)
    slow = oda.turns.follow(turn_id)
    await slow.read()
    assert (await oda.turns.wait(turn_id)).status == "succeeded"
    assert await answer(oda, "next")
    rest = [entry async for entry in slow]
    assert rest[-1].kind == "done"


async def test_reader_hears_in_time_that_nothing_has_come(oda: OdaContext) -> None:
    turn_id = await hold(oda, "a")
    follower = oda.turns.follow(turn_id)
    while seen := await follower.read(0.2):
        assert seen
    assert not follower.ended
    cues.go["a"].set()
    assert [entry async for entry in follower][-1].kind == "done"


async def test_turn_of_nobody_is_not_found(oda: OdaContext) -> None:
    turn_id = await submit(oda, "hello")
    await oda.turns.wait(turn_id)
    with pytest.raises(TurnNotFoundError):
        await oda.turns.get(turn_id, "someone else")
    for missing in (oda.turns.get("turn_x"), oda.turns.cancel("turn_x")):
        with pytest.raises(TurnNotFoundError):
            await missing
    with pytest.raises(TurnNotFoundError):
        await oda.turns.cancel(turn_id, "someone else")


# --- several turns of a session


async def test_twenty_turns_run_one_at_a_time_in_order(oda: OdaContext) -> None:
    first = await hold(oda, "first")
    texts = [f"alone {SESSION} {n}" for n in range(20)]
    queued = [await submit(oda, text) for text in texts]
    assert [(await oda.turns.get(one)).status for one in queued] == ["queued"] * 20
    cues.go["first"].set()
    turns = [await oda.turns.wait(one) for one in queued]
    assert [turn.reply for turn in turns] == texts
    assert await messages(oda) == ["hold first", *texts]
    assert cues.most_at_once[SESSION] == 1
    for before, after in itertools.pairwise(turns):
        assert before.finished_at is not None
        assert after.started_at is not None
        assert before.finished_at <= after.started_at
    await assert_all_whole(oda, [first, *queued])


async def test_turns_that_come_at_the_same_moment_all_run_alone(oda: OdaContext) -> None:
    texts = [f"alone {SESSION} {n}" for n in range(10)]
    await conversation(oda)
    turns = await asyncio.gather(*(answer(oda, text) for text in texts))
    assert [turn.reply for turn in turns] == texts
    assert await messages(oda) == texts
    assert cues.most_at_once[SESSION] == 1


async def test_sessions_run_beside_each_other(oda: OdaContext) -> None:
    held = await hold(oda, "a")
    assert (await answer(oda, "hello", "other")).reply == "hello"
    assert (await oda.turns.get(held)).status == "running"
    cues.go["a"].set()
    assert (await oda.turns.wait(held)).status == "succeeded"


async def test_rejecting_turn_is_refused_and_leaves_nothing(oda: OdaContext) -> None:
    first = await hold(oda, "a")
    with pytest.raises(SessionBusyError):
        await submit(oda, "no", on_busy="reject")
    cues.go["a"].set()
    await oda.turns.wait(first)
    assert (await answer(oda, "yes", on_busy="reject")).reply == "yes"
    page, _ = await oda.turns.of_session(await conversation(oda), limit=10)
    assert [turn.reply for turn in page] == ["yes", "hold a"]
    assert await messages(oda) == ["hold a", "yes"]


async def test_interrupting_turn_ends_the_running_one_and_has_a_clean_history(
    oda: OdaContext,
) -> None:
    running = await hold(oda, "a")
    waiting = await submit(oda, "waiting")
    urgent = await submit(oda, "urgent", on_busy="interrupt")
    assert (await oda.turns.wait(running)).status == "cancelled"
    assert (await oda.turns.wait(urgent)).reply == "urgent"
    assert (await oda.turns.wait(waiting)).reply == "waiting"
    assert await messages(oda) == ["hold a", "urgent", "waiting"]
    await assert_all_whole(oda, [running, waiting, urgent])


async def test_two_interrupting_turns_run_in_their_order_before_those_that_wait(
    oda: OdaContext,
) -> None:
    running = await hold(oda, "a")
    waiting = [await submit(oda, f"waiting {n}") for n in range(2)]
    first = await submit(oda, "first urgent", on_busy="interrupt")
    second = await submit(oda, "second urgent", on_busy="interrupt")
    turns = [await oda.turns.wait(one) for one in (running, *waiting, first, second)]
    assert [turn.status for turn in turns] == ["cancelled", *["succeeded"] * 4]
    assert await messages(oda) == [
        "hold a",
        "first urgent",
        "second urgent",
        "waiting 0",
        "waiting 1",
    ]


async def test_interrupting_turn_also_ends_one_that_has_not_begun(oda: OdaContext) -> None:
    session = await conversation(oda)
    first, urgent = await asyncio.gather(
        oda.turns.submit(session, submission("hold a")),
        oda.turns.submit(session, submission("urgent", on_busy="interrupt")),
    )
    assert (await oda.turns.wait(first.turn.turn_id)).status == "cancelled"
    assert (await oda.turns.wait(urgent.turn.turn_id)).reply == "urgent"
    assert (await messages(oda))[-1] == "urgent"
    await assert_all_whole(oda, [first.turn.turn_id, urgent.turn.turn_id])


async def test_full_queue_refuses_and_takes_more_when_it_has_room(place: Place) -> None:
    async with place.node(session={"max_queued": 3}) as oda:
        await hold(oda, "a")
        queued = [await submit(oda, f"queued {n}") for n in range(3)]
        for on_busy in ("queue", "interrupt"):
            with pytest.raises(OverloadedError) as refused:
                await submit(oda, "too much", on_busy=on_busy)
            assert refused.value.retry_after_s > 0
        assert (await answer(oda, "elsewhere", "other")).reply == "elsewhere"
        cues.go["a"].set()
        await oda.turns.wait(queued[-1])
        assert (await answer(oda, "again")).reply == "again"
        assert "too much" not in await messages(oda)


async def test_user_has_no_more_turns_at_once_than_allowed(oda: OdaContext) -> None:
    held = [await hold(oda, name, session_id=name, turns_at_once=2) for name in "ab"]
    with pytest.raises(OverloadedError):
        await submit(oda, "hello", "c", turns_at_once=2)
    cues.go["a"].set()
    await oda.turns.wait(held[0])
    assert (await answer(oda, "hello", "c", turns_at_once=2)).reply == "hello"
    cues.go["b"].set()
    await oda.turns.wait(held[1])


# --- cancelling


async def test_running_turn_is_cancelled_again_and_again(oda: OdaContext) -> None:
    turn_id = await hold(oda, "a")
    first = await oda.turns.cancel(turn_id)
    assert first.status == "cancelled"
    assert await oda.turns.cancel(turn_id) == first
    assert (await answer(oda, "next")).reply == "next"
    await assert_all_whole(oda, [turn_id])


async def test_queued_turn_is_cancelled_without_having_begun(oda: OdaContext) -> None:
    running = await hold(oda, "a")
    queued, last = await submit(oda, "queued"), await submit(oda, "last")
    turns = await asyncio.gather(*(oda.turns.cancel(queued) for _ in range(3)))
    assert {turn.status for turn in turns} == {"cancelled"}
    assert turns[0].started_at is None
    cues.go["a"].set()
    assert (await oda.turns.wait(last)).reply == "last"
    assert await messages(oda) == ["hold a", "last"]
    await assert_all_whole(oda, [running, queued, last])


async def test_turn_that_has_just_been_submitted_can_be_cancelled(oda: OdaContext) -> None:
    for rests in range(8):
        turn_id = await submit(oda, "hold a")
        for _ in range(rests):
            await asyncio.sleep(0)
        assert (await oda.turns.cancel(turn_id)).status == "cancelled"
        await assert_all_whole(oda, [turn_id])
    assert (await answer(oda, "next")).reply == "next"


async def test_waiting_turn_is_cancelled_and_its_question_withdrawn(oda: OdaContext) -> None:
    asked = await answer(oda, "pay 1")
    cancelled = await oda.turns.cancel(asked.turn_id)
    assert (cancelled.status, cancelled.pending_input) == ("cancelled", [])
    with pytest.raises(ConflictError):
        await oda.turns.answer(asked.turn_id, [(ids(asked)[0], True, None)])
    assert await oda.turns.cancel(asked.turn_id) == cancelled
    assert (await answer(oda, "next")).reply == "next"
    assert cues.paid == []
    await assert_all_whole(oda, [asked.turn_id])


async def test_finished_turn_is_left_as_it_is(oda: OdaContext) -> None:
    turn = await answer(oda, "hello")
    entries = await oda.turns.entries(turn.turn_id)
    assert await oda.turns.cancel(turn.turn_id) == turn
    assert await oda.turns.entries(turn.turn_id) == entries


async def test_turn_that_is_cancelled_while_it_comes_to_ask_is_cancelled(oda: OdaContext) -> None:
    for rests in range(0, 60, 4):
        turn_id = await submit(oda, "pay 1")
        for _ in range(rests):
            await asyncio.sleep(0)
        assert (await oda.turns.cancel(turn_id)).status == "cancelled"
        await assert_all_whole(oda, [turn_id])


async def test_all_turns_of_a_session_are_cancelled_and_forgotten(oda: OdaContext) -> None:
    asked = await answer(oda, "pay 1")
    running, queued = await hold(oda, "a"), await submit(oda, "queued")
    session = await conversation(oda)
    await oda.turns.cancel_all(session)
    for turn_id in (asked.turn_id, running, queued):
        assert (await oda.turns.get(turn_id)).status == "cancelled"
    await oda.turns.forget_session(session)
    with pytest.raises(TurnNotFoundError):
        await oda.turns.get(running)


# --- restarts


async def test_turn_that_was_running_when_the_node_stopped_is_answered_by_the_next(
    place: Place,
) -> None:
    async with place.node() as oda:
        running = await hold(oda, "a")
        queued = [await submit(oda, f"queued {n}") for n in range(3)]
        other = await hold(oda, "b", session_id="other")
    cues.go["a"].set()
    cues.go["b"].set()
    async with place.node() as oda:
        assert (await oda.turns.get(running)).status == "running"
        await oda.turns.recover()
        turns = [await oda.turns.wait(one) for one in (running, *queued, other)]
        assert [turn.status for turn in turns] == ["succeeded"] * 5
        assert turns[0].attempts == 2
        assert await messages(oda) == ["hold a", "queued 0", "queued 1", "queued 2"]
        assert await messages(oda, "other") == ["hold b"]
        await assert_all_whole(oda, [running, *queued, other])


async def test_turn_survives_many_restarts_without_counting_them_as_deaths(place: Place) -> None:
    async with place.node() as oda:
        turn_id = await hold(oda, "a")
    for _ in range(7):
        cues.begun["a"].clear()
        async with place.node() as oda:
            await oda.turns.recover()
            await asyncio.wait_for(cues.begun["a"].wait(), SOON_S)
    cues.go["a"].set()
    async with place.node() as oda:
        await oda.turns.recover()
        turn = await oda.turns.wait(turn_id)
        assert turn.status == "succeeded"
        assert await messages(oda) == ["hold a"]
        await assert_all_whole(oda, [turn_id])


async def test_node_that_stops_lets_turns_come_to_their_end(place: Place) -> None:
    async with AsyncExitStack() as stack:
        oda = await stack.enter_async_context(place.node(turn={"grace_s": SOON_S}))
        turn_id = await hold(oda, "a")
        stopping = asyncio.create_task(oda.turns.close())
        await asyncio.sleep(0)
        with pytest.raises(OverloadedError):
            await submit(oda, "too late")
        cues.go["a"].set()
        await stopping
        assert (await oda.turns.get(turn_id)).status == "succeeded"


async def test_stopped_node_takes_no_answers_but_the_next_does(place: Place) -> None:
    async with place.node() as oda:
        asked = await answer(oda, "pay 1")
        await oda.turns.close()
        with pytest.raises(OverloadedError):
            await oda.turns.answer(asked.turn_id, [(ids(asked)[0], True, None)])
    async with place.node() as oda:
        await oda.turns.answer(asked.turn_id, [(ids(asked)[0], True, None)])
        assert (await oda.turns.wait(asked.turn_id)).status == "succeeded"


async def test_reader_of_a_turn_goes_on_at_the_next_node_where_it_stopped(place: Place) -> None:
    async with place.node() as oda:
        turn_id = await hold(oda, "a")
        follower = oda.turns.follow(turn_id)
        seen = entries_in(await follower.read())
    cues.go["a"].set()
    async with place.node() as oda:
        await oda.turns.recover()
        seen += await followed(oda, turn_id, seen[-1].number)
        assert_whole(seen)
        assert seen == await oda.turns.entries(turn_id)


async def test_turn_whose_agent_is_gone_fails_and_the_others_go_on(place: Place) -> None:
    async with place.node() as oda:
        lost = await hold(oda, "a")
        deleted = await hold(oda, "b", session_id="deleted")
        kept = await hold(oda, "c", session_id="kept")
    for name in "abc":
        cues.go[name].set()
    async with place.node() as oda:
        await oda.services.session.delete_session(app_name=APP, user_id=USER, session_id="deleted")
        await oda.turns.recover()
        turn = await oda.turns.wait(deleted)
        assert turn.status == "failed"
        assert turn.error is not None
        assert (await oda.turns.wait(lost)).status == "succeeded"
        assert (await oda.turns.wait(kept)).status == "succeeded"
        await assert_all_whole(oda, [lost, deleted, kept])


# --- questions to a person


@pytest.mark.parametrize("confirmed", [True, False])
async def test_question_is_answered_after_a_restart_once(place: Place, confirmed: bool) -> None:
    async with place.node() as oda:
        asked = await answer(oda, "pay 1")
        assert asked.status == "waiting_input"
        assert asked.finished_at is None
        (question,) = ids(asked)
    async with place.node() as oda:
        await oda.turns.recover()
        assert (await oda.turns.get(asked.turn_id)).status == "waiting_input"
        with pytest.raises(ConflictError):
            await oda.turns.answer(asked.turn_id, [("another question", True, None)])
        before = await oda.turns.answer(asked.turn_id, [(question, confirmed, None)])
        turn = await oda.turns.wait(asked.turn_id)
        assert turn.status == "succeeded"
        assert turn.pending_input == []
        assert cues.paid == ([1] if confirmed else [])
        with pytest.raises(ConflictError):
            await oda.turns.answer(asked.turn_id, [(question, True, None)])
        assert cues.paid == ([1] if confirmed else [])
        rest = await followed(oda, asked.turn_id, before)
        assert (rest[0].number, rest[-1].kind) == (before + 1, "done")
        await assert_all_whole(oda, [asked.turn_id])
        assert cues.asked == ["pay 1"]


async def test_of_answers_at_once_on_two_nodes_one_is_taken(
    pair: tuple[OdaContext, OdaContext],
) -> None:
    asked = await answer(pair[0], "pay 1")
    given = [(ids(asked)[0], True, None)]
    results = await asyncio.gather(
        *(oda.turns.answer(asked.turn_id, given) for oda in pair * 2), return_exceptions=True
    )
    assert sum(isinstance(one, ConflictError) for one in results) == 3
    assert (await pair[0].turns.wait(asked.turn_id)).status == "succeeded"
    assert cues.paid == [1]
    await assert_all_whole(pair[1], [asked.turn_id])


async def test_two_questions_are_answered_one_after_the_other_over_restarts(place: Place) -> None:
    async with place.node() as oda:
        asked = await answer(oda, "pay 1 2")
        first, second = ids(asked)
    async with place.node() as oda:
        await oda.turns.answer(asked.turn_id, [(first, True, None)])
        turn = await oda.turns.wait(asked.turn_id)
        assert (turn.status, ids(turn)) == ("waiting_input", [second])
        with pytest.raises(ConflictError):
            await oda.turns.answer(asked.turn_id, [(first, True, None)])
    async with place.node() as oda:
        await oda.turns.answer(asked.turn_id, [(second, True, None)])
        turn = await oda.turns.wait(asked.turn_id)
        assert (turn.status, turn.pending_input) == ("succeeded", [])
        await assert_all_whole(oda, [asked.turn_id])
    assert sorted(cues.paid) == [1, 2]


async def test_other_messages_do_not_wait_for_a_question(oda: OdaContext) -> None:
    asked = await answer(oda, "pay 1")
    assert (await answer(oda, "meanwhile")).reply == "meanwhile"
    assert (await oda.turns.get(asked.turn_id)).status == "waiting_input"
    await oda.turns.answer(asked.turn_id, [(ids(asked)[0], True, None)])
    assert (await oda.turns.wait(asked.turn_id)).status == "succeeded"
    assert cues.paid == [1]


async def test_question_that_nobody_answers_in_time_fails_the_turn(place: Place) -> None:
    async with place.node() as oda:
        asked = await answer(oda, "pay 1")
    async with place.node(turn={"input_timeout_s": 0.001}) as oda:
        await oda.turns.recover()
        turn = await oda.turns.get(asked.turn_id)
        while not turn.final:
            await asyncio.sleep(0.05)
            turn = await oda.turns.get(asked.turn_id)
        assert turn.status == "failed"
        assert turn.error is not None
        assert turn.error.code == "input_expired"
        with pytest.raises(ConflictError):
            await oda.turns.answer(asked.turn_id, [(ids(asked)[0], True, None)])
        assert (await answer(oda, "next")).reply == "next"
        await assert_all_whole(oda, [asked.turn_id])
    assert cues.paid == []


# --- two nodes


async def test_turns_submitted_on_two_nodes_by_turns_run_in_order(
    pair: tuple[OdaContext, OdaContext],
) -> None:
    first = await hold(pair[0], "first")
    texts = [f"alone {SESSION} {n}" for n in range(10)]
    queued = [await submit(pair[n % 2], text) for n, text in enumerate(texts)]
    cues.go["first"].set()
    turns = [await pair[n // 2 % 2].turns.wait(one) for n, one in enumerate(queued)]
    assert [turn.reply for turn in turns] == texts
    assert await messages(pair[1]) == ["hold first", *texts]
    assert cues.most_at_once[SESSION] == 1
    await assert_all_whole(pair[0], [first, *queued])


async def test_turns_submitted_on_two_nodes_at_once_run_alone(
    pair: tuple[OdaContext, OdaContext],
) -> None:
    texts = [f"alone {SESSION} {n}" for n in range(8)]
    await conversation(pair[1])
    turns = await asyncio.gather(*(answer(pair[n % 2], text) for n, text in enumerate(texts)))
    assert [turn.reply for turn in turns] == texts
    assert cues.most_at_once[SESSION] == 1
    assert sorted(await messages(pair[0])) == sorted(texts)
    page, _ = await pair[0].turns.of_session(await conversation(pair[0]), limit=50)
    assert await messages(pair[0]) == [turn.reply for turn in reversed(page)]


@pytest.mark.parametrize("state", ["queued", "running", "waiting"])
async def test_turn_is_cancelled_from_the_other_node(
    pair: tuple[OdaContext, OdaContext], state: str
) -> None:
    here, there = pair
    turn_id = await submit(here, "pay 1") if state == "waiting" else await hold(here, "a")
    if state == "waiting":
        await here.turns.wait(turn_id)
    if state == "queued":
        turn_id = await submit(here, "queued")
    turns = await asyncio.gather(*(there.turns.cancel(turn_id) for _ in range(2)))
    assert [turn.status for turn in turns] == ["cancelled"] * 2
    assert (await here.turns.wait(turn_id)).status == "cancelled"
    cues.go["a"].set()
    assert (await answer(there, "next")).reply == "next"
    await assert_all_whole(there, [turn_id])


@pytest.mark.parametrize("state", ["queued", "started"])
async def test_turn_that_is_cancelled_elsewhere_before_its_first_model_call_makes_none(
    shared: Place, state: str
) -> None:
    async with shared.node() as here, shared.node() as there:
        if state == "queued":
            running, turn_id = await hold(here, "a"), await submit(here, "queued")
        else:
            turn_id = await hold(here, "a", verb="late")
        cancelling = asyncio.create_task(there.turns.cancel(turn_id))
        await wish_to_cancel(there, turn_id)
        cues.go["a"].set()
        assert (await asyncio.wait_for(cancelling, SOON_S)).status == "cancelled"
        if state == "queued":
            assert (await here.turns.wait(running)).status == "succeeded"
            assert await messages(here) == ["hold a"]
        assert cues.asked == (["hold a"] if state == "queued" else [])
        assert (await answer(there, "next")).reply == "next"
        await assert_all_whole(there, [turn_id])


async def test_interrupt_on_the_other_node_ends_the_running_turn(
    pair: tuple[OdaContext, OdaContext],
) -> None:
    here, there = pair
    running, waiting = await hold(here, "a"), await submit(here, "waiting")
    urgent = await submit(there, "urgent", on_busy="interrupt")
    assert (await there.turns.wait(urgent)).reply == "urgent"
    assert (await there.turns.wait(running)).status == "cancelled"
    assert (await there.turns.wait(waiting)).reply == "waiting"
    assert await messages(here) == ["hold a", "urgent", "waiting"]


async def test_rejecting_turn_is_refused_while_the_other_node_is_busy(
    pair: tuple[OdaContext, OdaContext],
) -> None:
    here, there = pair
    running = await hold(here, "a")
    with pytest.raises(SessionBusyError):
        await submit(there, "no", on_busy="reject")
    cues.go["a"].set()
    await there.turns.wait(running)
    assert (await answer(there, "yes", on_busy="reject")).reply == "yes"


async def test_turn_is_followed_live_from_the_other_node(
    pair: tuple[OdaContext, OdaContext],
) -> None:
    here, there = pair
    turn_id = await hold(here, "a", stream_tokens=True)
    follower = there.turns.follow(turn_id)
    seen = entries_in(await follower.read())
    assert [entry.kind for entry in seen][:2] == ["turn", "turn"]
    others = [asyncio.create_task(followed(there, turn_id, after)) for after in range(4)]
    cues.go["a"].set()
    seen += entries_in([item async for item in follower])
    assert_whole(seen)
    assert [e.json for e in seen] == [e.json for e in await here.turns.entries(turn_id)]
    for after, task in enumerate(others):
        assert await task == seen[after:]


async def texts_until(follower: Follower, last: str) -> list[tuple[str, bool]]:
    """Read previews until one ends with a word; return them with whether each replaces the text."""
    texts: list[tuple[str, bool]] = []
    while not (texts and texts[-1][0].endswith(f"{last} ")):
        for item in await asyncio.wait_for(follower.read(), SOON_S):
            if isinstance(item, Preview) and (parts := texts_of(item.data)):
                texts.append((parts[0].text or "", is_marked(item.data)))
    return texts


async def test_previews_are_shown_by_a_server_that_does_not_run_the_turn(shared: Place) -> None:
    async with shared.node() as here, shared.node(accept_only=True) as there:
        await here.turns.recover()
        turn_id = await submit(there, "dictate d a b c", stream_tokens=True)
        early = there.turns.follow(turn_id, previews=True)
        texts = await texts_until(early, "b")
        assert "".join(text for text, _ in texts) == "a b "
        late = there.turns.follow(turn_id, previews=True)
        assert await texts_until(late, "b") == [("a b ", True)]
        cues.go["d"].set()
        for follower in (early, late):
            rest = [item async for item in follower]
            assert_whole(await there.turns.entries(turn_id))
            assert entries_in(rest)[-1].kind == "done"
        assert not there.turns.log_of(turn_id)
        assert (await there.turns.get(turn_id)).reply == "dictate d a b c"


async def test_text_that_no_notification_could_carry_is_shown_in_pieces(shared: Place) -> None:
    long = 'é"' * 6_000
    async with shared.node() as here, shared.node(accept_only=True) as there:
        await here.turns.recover()
        turn_id = await submit(there, f"dictate d {long} b c", stream_tokens=True)
        texts = await texts_until(there.turns.follow(turn_id, previews=True), "b")
        assert "".join(text for text, _ in texts) == f"{long} b "
        assert [marked for _, marked in texts[1:]] == [False] * (len(texts) - 1)
        cues.go["d"].set()
        assert (await there.turns.wait(turn_id)).status == "succeeded"


async def test_junk_on_our_channels_ends_no_listener(shared: Place) -> None:
    async with shared.node() as here, shared.node(accept_only=True) as there:
        await here.turns.recover()
        turn_id = await submit(there, "hold a")
        following = asyncio.create_task(followed(there, turn_id))
        async with await psycopg.AsyncConnection.connect(
            libpq_url(shared.url), autocommit=True
        ) as stranger:
            for channel in (CHANNEL, ENTRIES, PREVIEWS, WANTED):
                for payload in ("", "junk", "a b c d", "{}"):
                    await stranger.execute("SELECT pg_notify(%s, %s)", (channel, payload))
        cues.go["a"].set()
        entries = await asyncio.wait_for(following, SOON_S)
        assert_whole(entries)
        assert (await answer(there, "next")).reply == "next"


async def test_key_stands_for_one_turn_on_both_nodes(
    pair: tuple[OdaContext, OdaContext],
) -> None:
    key = IdempotencyKey(key="k", route="/turns", body_hash="one")
    sessions = [await conversation(oda) for oda in pair]

    async def once(number: int) -> tuple[str, bool]:
        accepted = await pair[number].turns.submit(sessions[number], submission("hold a", key=key))
        return accepted.turn.turn_id, accepted.replayed

    results = await asyncio.gather(*(once(n) for n in (0, 1, 0, 1)))
    results.append(await once(1))
    assert len({turn_id for turn_id, _ in results}) == 1
    assert sum(not replayed for _, replayed in results) == 1
    cues.go["a"].set()
    turns = [await oda.turns.wait(results[0][0]) for oda in pair]
    assert turns[0] == turns[1]
    assert (await once(0))[1]
    assert await messages(pair[0]) == ["hold a"]
    other = IdempotencyKey(key="k", route="/turns", body_hash="two")
    with pytest.raises(IdempotencyConflictError):
        await submit(pair[1], "another", key=other)
    assert (await answer(pair[0], "next")).reply == "next"


async def test_turns_of_a_killed_node_are_taken_over_by_one_that_lives(shared: Place) -> None:
    plan = Plan(
        url=shared.url,
        directory=shared.directory,
        session_id=SESSION,
        messages=["hold a", "second", "third"],
    )
    cues.go["a"].set()
    async with AsyncExitStack() as stack:
        async with killed_node(plan) as turn_ids:
            oda = await stack.enter_async_context(shared.node())
            await oda.turns.recover()
            watching = asyncio.create_task(followed(oda, turn_ids[0]))
            mine = await submit(oda, "mine")
            assert [(await oda.turns.get(one)).status for one in turn_ids] == [
                "running",
                "queued",
                "queued",
            ]
        turns = [await oda.turns.wait(one) for one in (*turn_ids, mine)]
        assert [turn.status for turn in turns] == ["succeeded"] * 4
        assert await messages(oda) == ["hold a", "second", "third", "mine"]
        assert turns[0].attempts == 2
        await assert_all_whole(oda, [*turn_ids, mine])
        assert [e.json for e in await watching] == [
            e.json for e in await oda.turns.entries(turn_ids[0])
        ]


async def test_turn_of_a_living_node_is_its_own_however_wrong_its_clock_is(shared: Place) -> None:
    slow, fast = (shared.node(clock=WrongClock(skew_s)) for skew_s in (-10.0, 10.0))
    async with slow as here, fast as there:
        for oda in (here, there):
            await oda.turns.recover()
        turn_ids = [await hold(here, "a"), await hold(there, "b", session_id="other")]
        await asyncio.sleep(1.5 * SILENT_S)
        for name in "ab":
            cues.go[name].set()
        for turn_id in turn_ids:
            assert (await here.turns.wait(turn_id)).attempts == 1
        assert cues.asked == ["hold a", "hold b"]


async def test_node_that_stops_keeps_its_turns_for_the_grace_time(shared: Place) -> None:
    async with shared.node(turn={"grace_s": PATIENCE_S}) as here, shared.node() as there:
        await here.turns.recover()
        turn_id = await hold(here, "a")
        await there.turns.recover()
        stopping = asyncio.create_task(here.turns.close())
        await asyncio.sleep(2 * SILENT_S)
        cues.go["a"].set()
        await stopping
        assert (await there.turns.wait(turn_id)).attempts == 1
        assert cues.asked == ["hold a"]


async def test_job_that_is_given_back_is_due_by_the_clock_of_every_machine(shared: Place) -> None:
    async with shared.node() as oda:
        await hold(oda, "a")
    async with shared.node(accept_only=True) as oda:
        due = "SELECT scheduled_at < now() - interval '1 day' FROM procrastinate_jobs"
        assert await oda.database.read(lambda connection: connection.scalar(sql(due)))


async def test_job_that_was_locked_when_workers_looked_is_run_at_once(shared: Place) -> None:
    """As the job of a worker that unregisters is, by the foreign key to it."""
    async with shared.node(accept_only=True) as server:
        locked = await submit(server, "first")
        async with await psycopg.AsyncConnection.connect(libpq_url(shared.url)) as connection:
            await connection.execute("UPDATE procrastinate_jobs SET worker_id = NULL")
            other = await submit(server, "second", session_id="other")
            async with shared.node() as worker:
                await worker.turns.recover()
                assert (await server.turns.wait(other)).status == "succeeded"
                assert (await server.turns.get(locked)).status == "queued"
                await connection.commit()
                async with asyncio.timeout(SOON_S):
                    assert (await server.turns.wait(locked)).status == "succeeded"


async def test_turn_whose_session_cannot_be_read_any_more_ends(shared: Place) -> None:
    plan = Plan(url=shared.url, directory=shared.directory, session_id=SESSION, messages=["hold a"])
    async with shared.node(accept_only=True) as oda, shared.node() as worker:
        async with killed_node(plan) as (turn_id,):
            pass
        broken = sql("""UPDATE events SET event_data = '{"content": 5}'""")
        await oda.database.journal.run(lambda connection: connection.execute(broken))
        await worker.turns.recover()
        turn = await oda.turns.wait(turn_id)
        assert turn.status == "failed"
        assert turn.error is not None


async def test_turn_of_a_killed_node_can_be_cancelled_elsewhere(shared: Place) -> None:
    plan = Plan(
        url=shared.url,
        directory=shared.directory,
        session_id=SESSION,
        messages=["hold a", "hold b"],
    )
    async with shared.node() as oda:
        async with killed_node(plan) as turn_ids:
            pass
        turns = [await oda.turns.cancel(one) for one in turn_ids]
        assert [turn.status for turn in turns] == ["cancelled"] * 2
        assert (await answer(oda, "next")).reply == "next"
        await assert_all_whole(oda, turn_ids)
