"""A process that was stopped for too long goes on: what its run was about to do, it does not do."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from google.adk.events import Event
from google.genai.types import Content, Part

from oda.clock import SystemClock
from oda.database.database import Database
from oda.database.write_queue import WriteQueue, current_writes
from oda.errors import OwnershipLostError
from oda.session.live_history import LiveHistory, current_fence
from oda.session.sql_sessions import SqlSessions
from oda.tools.idempotency import CallKey
from oda.tools.ledger import SqlToolLedger, ToolCall
from oda.turn.record import Turn
from tests.support.turns import Node, new_turn, open_node


@pytest.fixture
async def pair(empty_database_url: str) -> AsyncIterator[tuple[Node, Node]]:
    """Two processes on one database."""
    async with open_node(empty_database_url, "a") as one, open_node(empty_database_url, "b") as two:
        yield one, two


async def taken_over(pair: tuple[Node, Node]) -> Turn:
    """A turn whose run in the first process was ended by a run in the second."""
    stopped, taker = pair
    turn = await stopped.accept(new_turn(), starts=True)
    return await taker.begin(turn)


@contextmanager
def writes_of_run(node: Node, turn: Turn) -> Iterator[None]:
    """Make what the run does write through its queue, as the engine does."""
    guard = partial(node.store.guard, turn.turn_id, node.runs[turn.turn_id])
    token = current_writes.set(WriteQueue(node.database.journal, guard, turn.turn_id))
    try:
        yield
    finally:
        current_writes.reset(token)


def call(turn: Turn) -> ToolCall:
    return ToolCall(
        key=CallKey(turn.turn_id, "c1"),
        session=("app", "u", "s"),
        agent="agent",
        tool="pay",
        idempotent=False,
        inside_another=False,
    )


async def test_run_holds_its_turn_until_the_turn_ends(pair: tuple[Node, Node]) -> None:
    node, _ = pair
    turn = await node.accept(new_turn(), starts=True)
    await node.hold(turn)
    await node.finish(turn)
    with pytest.raises(OwnershipLostError):
        await node.hold(turn)


async def test_run_does_not_hold_what_a_later_run_has_taken(pair: tuple[Node, Node]) -> None:
    stopped, taker = pair
    turn = await taken_over(pair)
    with pytest.raises(OwnershipLostError):
        await stopped.hold(turn)
    await taker.hold(turn)


async def test_turn_that_waits_for_its_next_run_is_held_by_nobody(pair: tuple[Node, Node]) -> None:
    node, _ = pair
    turn = await node.accept(new_turn())
    with pytest.raises(OwnershipLostError):
        await node.store.hold(turn.turn_id, 0)


async def test_it_starts_no_tool(pair: tuple[Node, Node]) -> None:
    stopped, taker = pair
    turn = await taken_over(pair)
    with writes_of_run(stopped, turn), pytest.raises(OwnershipLostError):
        await SqlToolLedger(stopped.database, SystemClock()).begin(call(turn))
    with writes_of_run(taker, turn):
        record = await SqlToolLedger(taker.database, SystemClock()).begin(call(turn))
    assert (record.status, record.tool, record.runs) == ("started", "pay", 1)


async def test_it_writes_nothing_to_the_session(pair: tuple[Node, Node]) -> None:
    stopped, _ = pair
    turn = await taken_over(pair)
    service = await sessions(stopped.database)
    session = await service.create_session(app_name="app", user_id="u", session_id="s")

    async def fence() -> None:
        await stopped.hold(turn)

    token = current_fence.set(fence)
    with pytest.raises(OwnershipLostError):
        await service.append_event(session, message(turn))
    current_fence.reset(token)
    stored = await service.get_session(app_name="app", user_id="u", session_id="s")
    assert stored is not None
    assert not stored.events


async def sessions(database: Database) -> LiveHistory:
    stored = SqlSessions(database)
    await stored.prepare_tables()
    return LiveHistory(stored)


def message(turn: Turn) -> Event:
    return Event(
        author="user",
        invocation_id=turn.turn_id,
        content=Content(role="user", parts=[Part(text="hello")]),
    )
