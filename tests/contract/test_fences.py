"""A node that was silent for too long wakes up: whatever it was about to do, it does not."""

from collections.abc import AsyncIterator

import pytest
from google.adk.events import Event
from google.genai.types import Content, Part

from oda.clock import SystemClock
from oda.database.database import Database
from oda.errors import OwnershipLostError
from oda.session.live_history import LiveHistory, current_fence
from oda.session.sql_sessions import SqlSessions
from oda.tools.idempotency import CallKey
from oda.tools.ledger import SqlToolLedger, ToolCall
from tests.support.turns import Node, new_turn, open_node


@pytest.fixture
async def pair(empty_database_url: str) -> AsyncIterator[tuple[Node, Node]]:
    """Two nodes on one database."""
    async with open_node(empty_database_url, "a") as one, open_node(empty_database_url, "b") as two:
        yield one, two


async def taken_over(pair: tuple[Node, Node]) -> str:
    """A turn that the second node has taken over from the first."""
    silent, taker = pair
    turn = await silent.accept(new_turn())
    assert await silent.claim(turn)
    await silent.fall_silent()
    assert await taker.store.adopt(turn.turn_id)
    return turn.turn_id


def call(turn_id: str) -> ToolCall:
    return ToolCall(
        key=CallKey(turn_id, "c1"),
        session=("app", "u", "s"),
        agent="agent",
        tool="pay",
        idempotent=False,
        inside_another=False,
    )


async def test_it_holds_what_is_its_own(pair: tuple[Node, Node]) -> None:
    node, _ = pair
    turn = await node.accept(new_turn())
    await node.store.hold(turn.turn_id)


async def test_it_does_not_hold_what_another_has_taken_over(pair: tuple[Node, Node]) -> None:
    turn_id = await taken_over(pair)
    with pytest.raises(OwnershipLostError):
        await pair[0].store.hold(turn_id)
    await pair[1].store.hold(turn_id)


async def test_with_a_fresh_lease_nothing_is_asked(pair: tuple[Node, Node]) -> None:
    silent, _ = pair
    turn_id = await taken_over(pair)
    await silent.live()
    await silent.store.hold(turn_id)


async def test_it_starts_no_tool(pair: tuple[Node, Node]) -> None:
    silent, taker = pair
    turn_id = await taken_over(pair)
    with pytest.raises(OwnershipLostError):
        await SqlToolLedger(silent.database, SystemClock(), "a").begin(call(turn_id))
    begun = await SqlToolLedger(taker.database, SystemClock(), "b").begin(call(turn_id))
    assert (begun.status, begun.tool) == ("started", "pay")


async def test_it_writes_nothing_to_the_session(pair: tuple[Node, Node]) -> None:
    silent, _ = pair
    turn_id = await taken_over(pair)
    service = await sessions(silent.database)
    session = await service.create_session(app_name="app", user_id="u", session_id="s")

    async def fence() -> None:
        await silent.store.hold(turn_id)

    token = current_fence.set(fence)
    with pytest.raises(OwnershipLostError):
        await service.append_event(session, message(turn_id))
    current_fence.reset(token)
    stored = await service.get_session(app_name="app", user_id="u", session_id="s")
    assert stored is not None
    assert not stored.events


async def sessions(database: Database) -> LiveHistory:
    stored = SqlSessions(database)
    await stored.prepare_tables()
    return LiveHistory(stored)


def message(turn_id: str) -> Event:
    return Event(
        author="user",
        invocation_id=turn_id,
        content=Content(role="user", parts=[Part(text="hello")]),
    )
