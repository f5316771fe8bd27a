"""Contract of deliveries: stored with a turn's end, given to one sender, kept until they arrive."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from sqlalchemy import Connection

from oda.errors import NotFoundError, OwnershipLostError
from oda.testing import FakeClock
from oda.turn.log import Entry
from oda.turn.record import Turn
from oda.webhooks.deliveries import LEASE, Deliveries
from oda.webhooks.notify import Notify
from tests.contract.test_query_plans import scans, statements
from tests.support.turns import START, Node, became, new_turn, open_node, said

URL = "https://example.org/hook"
TOLD = (Notify(url=URL),)
PATIENCE_S = 60.0
WAITING = "oda_deliveries_waiting"
"""An index that holds only what waits; it may be read whole."""


@pytest.fixture
async def pair(empty_database_url: str) -> AsyncIterator[tuple[Node, Node]]:
    """Two processes on one database."""
    async with (
        asyncio.timeout(PATIENCE_S),
        open_node(empty_database_url, "a") as first,
        open_node(empty_database_url, "b") as second,
    ):
        yield first, second


@pytest.fixture
def node(pair: tuple[Node, Node]) -> Node:
    return pair[0]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(START.timestamp())


@pytest.fixture
def sender(node: Node, clock: FakeClock) -> Deliveries:
    return Deliveries(node.database, clock, "a")


@pytest.fixture
def other(pair: tuple[Node, Node], clock: FakeClock) -> Deliveries:
    return Deliveries(pair[1].database, clock, "b")


async def end(node: Node, *, notify: tuple[Notify, ...] = TOLD, run: int = 1) -> Turn:
    """Run a turn to its end, of which somebody is told."""
    turn = became(await node.accept(new_turn(), starts=True), "succeeded")
    await save(node, turn, notify=notify, run=run)
    return turn


async def save(node: Node, turn: Turn, *, notify: tuple[Notify, ...], run: int = 1) -> None:
    last = (await node.store.stored(turn.turn_id)).last
    entry = Entry.of(last + 1, "done" if turn.final else "turn", turn)

    def write(connection: Connection) -> None:
        node.store.save(connection, turn=turn, run=run, entry=entry, ended_at=START, notify=notify)

    await node.database.journal.run(write)


async def test_an_end_is_told_as_it_was_stored(node: Node, sender: Deliveries) -> None:
    turn = await end(node)
    (taken,) = await sender.take(10)
    assert (taken.turn_id, taken.url, taken.attempts) == (turn.turn_id, URL, 1)
    assert json.loads(taken.body) == {
        "type": "turn.done",
        "timestamp": "2026-01-01T00:00:00Z",
        "data": json.loads(turn.model_dump_json()),
    }


async def test_an_end_that_is_not_stored_is_not_told(node: Node, sender: Deliveries) -> None:
    with pytest.raises(OwnershipLostError):
        await end(node, run=2)
    assert await sender.take(10) == []
    assert await sender.find(limit=10) == []


async def test_each_is_told_what_it_wants_to_hear(node: Node, sender: Deliveries) -> None:
    turn = await node.accept(new_turn(), starts=True)
    notify = (Notify(url=f"{URL}/1"), Notify(url=f"{URL}/2", events=("done",)))
    asked = became(turn, "waiting_input", pending_input=[{"id": "c", "name": "pay", "args": {}}])
    await save(node, asked, notify=notify)
    (taken,) = await sender.take(10)
    assert (taken.url, json.loads(taken.body)["type"]) == (f"{URL}/1", "turn.waiting_input")


async def test_a_turn_that_is_ended_while_it_waits_is_told(node: Node, sender: Deliveries) -> None:
    turn = new_turn(
        status="waiting_input", pending_input=[{"id": "g", "name": "grant", "args": {}}]
    )
    given = said("hello").model_copy(update={"notify": TOLD})
    await node.store.accept(turn, given)
    assert await node.store.end(became(turn, "cancelled"), before="waiting_input")
    assert await node.store.end(became(turn, "cancelled"), before="waiting_input") is None
    types = {json.loads(one.body)["type"] for one in await sender.take(10)}
    assert types == {"turn.waiting_input", "turn.done"}


async def test_a_delivery_is_given_to_one_sender_at_a_time(
    node: Node, sender: Deliveries, other: Deliveries
) -> None:
    for _ in range(20):
        await end(node)
    mine, theirs = await asyncio.gather(sender.take(12), other.take(12))
    left = [*await sender.take(12), *await other.take(12)]
    ids = [one.delivery_id for one in (*mine, *theirs, *left)]
    assert len(ids) == len(set(ids)) == 20


async def test_one_whose_sender_has_died_is_given_to_another(
    node: Node, sender: Deliveries, other: Deliveries, clock: FakeClock
) -> None:
    await end(node)
    (mine,) = await sender.take(10)
    assert await other.take(10) == []
    await clock.sleep(LEASE.total_seconds() + 1)
    (theirs,) = await other.take(10)
    assert (theirs.delivery_id, theirs.attempts) == (mine.delivery_id, 2)
    await sender.not_delivered(mine, "late", None)
    await other.delivered(theirs)
    (found,) = await other.find(limit=10)
    assert (found.status, found.problem, found.attempts) == ("delivered", "", 2)


async def test_one_process_goes_on_at_once_with_what_another_was_sending(
    node: Node, sender: Deliveries, other: Deliveries
) -> None:
    await end(node)
    assert len(await sender.take(10)) == 1
    await other.reclaim()
    (again,) = await other.take(10)
    assert again.attempts == 2


async def test_it_is_tried_again_when_its_time_has_come_and_given_back_at_once(
    node: Node, sender: Deliveries, other: Deliveries, clock: FakeClock
) -> None:
    await end(node)
    (taken,) = await sender.take(10)
    await sender.not_delivered(taken, "nobody is there", timedelta(minutes=1))
    assert await other.take(10) == []
    assert await other.next_at() == START + timedelta(minutes=1)
    await clock.sleep(60)
    (taken,) = await other.take(10)
    await other.give_back(taken)
    (taken,) = await sender.take(10)
    assert taken.attempts == 2
    await sender.not_delivered(taken, "it is gone", None)
    assert await sender.next_at() is None
    (failed,) = await sender.find(status="failed", limit=10)
    assert failed.problem == "it is gone"
    assert await sender.find(status="waiting", limit=10) == []
    again = await sender.retry(failed.delivery_id)
    assert (again.status, again.attempts) == ("waiting", 0)
    assert len(await other.take(10)) == 1
    with pytest.raises(NotFoundError):
        await sender.retry("msg_unknown")


async def test_deliveries_are_forgotten_with_their_turn(node: Node, sender: Deliveries) -> None:
    turn = await end(node)
    (taken,) = await sender.take(10)
    await node.store.forget_session((turn.app, turn.user_id, turn.session_id))
    await sender.delivered(taken)
    assert await sender.find(limit=10) == []


async def test_what_a_sender_asks_again_and_again_reads_no_table_whole(
    node: Node, sender: Deliveries
) -> None:
    await end(node)
    with statements(node.database.engine) as sent:
        await sender.next_at()
        (taken,) = await sender.take(10)
        await sender.delivered(taken)
        await node.store.forget_session(("app", "u", "s"))
    found = await scans(node.database.engine, sent)
    assert not [how for how in found.values() if "oda_deliveries" in how and WAITING not in how]
