"""What is stored of turns: order, keys, ownership, waiting, forgetting; alone and among nodes."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Any

import pytest
from google.adk.events import Event
from sqlalchemy import func, select

from oda.agent.day_budget import used_on
from oda.agent.limits import Usage
from oda.database.schema import idempotency_keys, nodes, tool_calls, turn_entries, turns
from oda.errors import (
    CancelRequestedError,
    ConflictError,
    IdempotencyConflictError,
    InvalidRequestError,
    OwnershipLostError,
    SessionBusyError,
    TurnNotFoundError,
)
from oda.turn.log import Entry
from oda.turn.record import Turn, TurnError, TurnUsage
from oda.turn.submission import IdempotencyKey
from tests.contract.test_query_plans import statements
from tests.support.turns import (
    LEASE,
    START,
    Node,
    assert_whole,
    became,
    log_of,
    new_turn,
    open_node,
    said,
    spoken,
)

PATIENCE_S = 60.0
DAY = timedelta(hours=24)
SESSION = ("app", "u", "s")


@pytest.fixture
async def pair(empty_database_url: str) -> AsyncIterator[tuple[Node, Node]]:
    """Two nodes on one database."""
    async with (
        asyncio.timeout(PATIENCE_S),
        open_node(empty_database_url, "a") as first,
        open_node(empty_database_url, "b") as second,
    ):
        yield first, second


@pytest.fixture
def node(pair: tuple[Node, Node]) -> Node:
    return pair[0]


def key(name: str = "k", body: str = "body", route: str = "/turns") -> IdempotencyKey:
    return IdempotencyKey(key=name, route=route, body_hash=body)


async def rows(node: Node, table: Any) -> int:
    with node.database.engine.connect() as connection:
        return connection.scalar(select(func.count()).select_from(table)) or 0


async def used(node: Node, user: str, day: str) -> Usage:
    with node.database.engine.connect() as connection:
        return used_on(connection, user, day)


async def session_order(node: Node, session: tuple[str, str, str] = SESSION) -> list[str]:
    """Ids of all turns of a session, the oldest first."""
    found, cursor = await node.store.of_session(session, limit=500)
    assert cursor is None
    return [turn.turn_id for turn in reversed(found)]


# --- accepting


async def test_accepted_turn_is_stored_as_it_is_and_can_be_read(node: Node) -> None:
    turn = new_turn(metadata={"from": "a test"}, trace_id="trace")
    accepted = await node.store.accept(turn, said("hello"))
    assert (accepted.turn, accepted.replayed) == (turn, False)
    stored = await node.store.stored(turn.turn_id)
    assert stored.turn == turn
    assert stored.input == said("hello")
    assert (stored.begun, stored.recoveries, stored.cancel_requested) == (False, 0, False)
    assert [entry.data for entry in await log_of(node, turn.turn_id)] == [turn]
    assert stored.last == 1


async def test_turn_of_another_user_is_not_found(node: Node) -> None:
    turn = await node.accept(new_turn(user="me"))
    assert await node.store.get(turn.turn_id, "me") == turn
    with pytest.raises(TurnNotFoundError):
        await node.store.get(turn.turn_id, "you")
    with pytest.raises(TurnNotFoundError):
        await node.store.get("turn_nobody")


async def test_turn_may_start_in_the_moment_it_is_accepted_if_the_session_is_idle(
    node: Node,
) -> None:
    first, second = new_turn(), new_turn()
    assert (await node.accept(first, start=became(first, "running"))).status == "running"
    assert (await node.accept(second, start=became(second, "running"))).status == "queued"
    assert [e.data for e in await log_of(node, first.turn_id)] == [first, became(first, "running")]
    assert [e.data for e in await log_of(node, second.turn_id)] == [second]
    assert (await node.store.stored(first.turn_id)).begun


async def test_only_if_idle_is_refused_while_another_node_has_a_turn_of_the_session(
    pair: tuple[Node, Node],
) -> None:
    here, there = pair
    turn = await there.accept(new_turn())
    with pytest.raises(SessionBusyError):
        await here.accept(new_turn(), only_if_idle=True)
    await there.run(turn)
    assert (await here.accept(new_turn(), only_if_idle=True)).status == "queued"
    assert (await here.accept(new_turn(session="other"), only_if_idle=True)).status == "queued"


@pytest.mark.parametrize("alone", [False, True], ids=["start", "reject"])
async def test_of_many_nodes_that_start_a_turn_at_once_just_one_does(
    pair: tuple[Node, Node], alone: bool
) -> None:
    """A busy session is noticed, although the others' turns are stored at the same moment."""

    async def submit(node: Node, session: str) -> Turn | SessionBusyError:
        turn = new_turn(session)
        try:
            return await node.accept(turn, start=became(turn, "running"), only_if_idle=alone)
        except SessionBusyError as error:
            return error

    for round_ in range(20):
        session = f"s{round_}"
        results = await asyncio.gather(*(submit(node, session) for node in pair * 3))
        started = [one for one in results if isinstance(one, Turn) and one.status == "running"]
        assert len(started) == 1
        refused = [one for one in results if isinstance(one, SessionBusyError)]
        assert len(refused) == (5 if alone else 0)


async def test_nodes_that_accept_at_once_give_every_turn_a_place(pair: tuple[Node, Node]) -> None:
    accepted: list[list[str]] = [[], []]

    async def submit(number: int, session: str) -> None:
        turn = await pair[number].accept(new_turn(session))
        accepted[number].append(turn.turn_id)

    sessions = ["s", "t", "v"]
    await asyncio.gather(
        *(submit(n % 2, sessions[n * 7 % 3]) for n in range(90)),
    )
    for session in sessions:
        order = await session_order(pair[0], ("app", "u", session))
        assert len(order) == 30
        for mine in accepted:
            mine = [one for one in mine if one in order]
            assert mine == [one for one in order if one in mine]


# --- idempotency


async def test_same_key_and_body_is_the_same_turn_from_any_node(pair: tuple[Node, Node]) -> None:
    here, there = pair
    turn = new_turn()
    await here.accept(turn, key=key())
    again = await there.store.accept(new_turn(), said("hello"), key=key())
    assert (again.turn.turn_id, again.replayed) == (turn.turn_id, True)
    assert await there.store.of_key("u", key(), START) == turn
    assert await rows(here, turns) == 1
    assert await rows(here, turn_entries) == 1


async def test_same_key_with_another_body_is_refused_and_stores_nothing(node: Node) -> None:
    await node.accept(new_turn(), key=key())
    with pytest.raises(IdempotencyConflictError):
        await node.accept(new_turn(), key=key(body="another"))
    with pytest.raises(IdempotencyConflictError):
        await node.store.of_key("u", key(body="another"), START)
    assert await rows(node, turns) == 1


async def test_keys_of_other_users_routes_and_names_are_others(node: Node) -> None:
    accepted = [
        await node.accept(new_turn(), key=key()),
        await node.accept(new_turn(user="someone else"), key=key(body="another")),
        await node.accept(new_turn(), key=key(route="/elsewhere", body="another")),
        await node.accept(new_turn(), key=key(name="another", body="another")),
    ]
    assert len({turn.turn_id for turn in accepted}) == 4
    assert await node.store.of_key("nobody", key(), START) is None


async def test_key_is_good_for_a_day_and_can_be_used_again_then(node: Node) -> None:
    turn = await node.accept(new_turn(), key=key())
    late = START + DAY
    assert (await node.accept(new_turn(at=late), key=key())).turn_id == turn.turn_id
    later = late + timedelta(seconds=1)
    assert await node.store.of_key("u", key(), later) is None
    other = await node.accept(new_turn(at=later), key=key(body="another"))
    assert other.turn_id != turn.turn_id
    again = await node.accept(new_turn(at=later + DAY), key=key(body="another"))
    assert again.turn_id == other.turn_id


async def test_looking_for_an_expired_key_writes_nothing(pair: tuple[Node, Node]) -> None:
    node = pair[0]
    await node.accept(new_turn(), key=key())
    assert await node.store.of_key("u", key(), START + 2 * DAY) is None
    assert await rows(node, idempotency_keys) == 1


@pytest.mark.parametrize("sessions", [["s"], ["s", "t", "v"]], ids=["one session", "several"])
async def test_one_key_used_at_once_on_two_nodes_makes_one_turn(
    pair: tuple[Node, Node], sessions: Sequence[str]
) -> None:
    for round_ in range(10):
        name = key(f"k{round_}")
        results = await asyncio.gather(
            *(
                node.store.accept(new_turn(session), said("hello"), key=name)
                for node in pair * 2
                for session in sessions
            )
        )
        assert len({one.turn.turn_id for one in results}) == 1
        assert sum(not one.replayed for one in results) == 1
    assert await rows(pair[0], turns) == 10


async def test_refused_turn_does_not_use_up_its_key(node: Node) -> None:
    first = await node.accept(new_turn())
    with pytest.raises(SessionBusyError):
        await node.accept(new_turn(), only_if_idle=True, key=key())
    await node.run(first)
    accepted = await node.store.accept(new_turn(), said("hello"), only_if_idle=True, key=key())
    assert not accepted.replayed


# --- the order in which turns run


async def test_turns_are_claimed_in_order_of_acceptance(pair: tuple[Node, Node]) -> None:
    owned = [(node, await node.accept(new_turn())) for node in (*pair, *pair)]
    for place, (node, turn) in enumerate(owned):
        for other, later in owned[place + 1 :]:
            assert not await other.claim(later)
        assert await node.claim(turn)
        for other, later in owned[place + 1 :]:
            assert not await other.claim(later)
        await node.finish(became(turn, "running"))


async def test_interrupting_turns_go_before_those_that_wait_in_their_own_order(
    pair: tuple[Node, Node],
) -> None:
    here, there = pair
    running = await here.accept(new_turn())
    assert await here.claim(running)
    waiting = await here.accept(new_turn())
    first = await there.accept(new_turn(), interrupts=True)
    second = await here.accept(new_turn(), interrupts=True)
    everybody = [(here, waiting), (there, first), (here, second)]
    assert [await node.claim(turn) for node, turn in everybody] == [False, False, False]
    assert await here.store.cancels_requested() == [running.turn_id]
    await here.finish(became(running, "running"), "cancelled")
    assert [await here.claim(waiting), await here.claim(second)] == [False, False]
    await there.run(first)
    assert not await here.claim(waiting)
    await here.run(second)
    await here.run(waiting)


async def test_sessions_do_not_wait_for_each_other(node: Node) -> None:
    for session, user in (("s", "u"), ("s", "other"), ("other", "u")):
        assert await node.claim(await node.accept(new_turn(session, user)))


async def test_turn_is_claimed_once_and_only_by_its_own_node(pair: tuple[Node, Node]) -> None:
    here, there = pair
    turn = await here.accept(new_turn())
    with pytest.raises(OwnershipLostError):
        await there.claim(turn)
    assert await here.claim(turn)
    with pytest.raises(OwnershipLostError):
        await here.claim(turn)
    with pytest.raises(OwnershipLostError):
        await here.claim(new_turn())


async def test_two_nodes_never_run_two_turns_of_a_session_at_once(pair: tuple[Node, Node]) -> None:
    sessions = ["s", "t"]
    running: dict[str, str | None] = dict.fromkeys(sessions)
    ended: dict[str, list[str]] = {session: [] for session in sessions}

    async def live(node: Node, session: str, number: int) -> None:
        turn = new_turn(session)
        accepted = await node.accept(turn, start=became(turn, "running") if number % 2 else None)
        if accepted.status == "queued":
            while not await node.claim(turn):  # noqa: ASYNC110 - nodes tell each other nothing
                await asyncio.sleep(0.02)
        assert running[session] is None
        running[session] = turn.turn_id
        await node.add(turn, "one", "two")
        assert running[session] == turn.turn_id
        running[session] = None
        await node.finish(became(turn, "running"))
        ended[session].append(turn.turn_id)

    await asyncio.gather(
        *(live(node, session, n) for n in range(5) for node in pair for session in sessions)
    )
    for session in sessions:
        order = await session_order(pair[1], ("app", "u", session))
        assert ended[session] == order
        for turn_id in order:
            assert_whole(await log_of(pair[0], turn_id))


async def test_interrupting_turn_and_waiting_turn_are_never_claimed_both(
    pair: tuple[Node, Node],
) -> None:
    """One is claimed while the other, which goes before it, is being accepted."""
    here, there = pair
    for round_ in range(30):
        waiting = await here.accept(new_turn(f"s{round_}"))
        urgent = new_turn(f"s{round_}")

        async def interrupt(urgent: Turn = urgent) -> bool:
            await there.accept(urgent, interrupts=True)
            return await there.claim(urgent)

        claimed = await asyncio.gather(here.claim(waiting), interrupt())
        assert sum(claimed) == 1


# --- the log, and who may write it


async def test_entries_are_read_from_any_number(node: Node) -> None:
    turn = await node.accept(new_turn())
    await node.claim(turn)
    await node.add(turn, *"abcdef")
    await node.finish(became(turn, "running"))
    entries = await log_of(node, turn.turn_id)
    assert_whole(entries)
    for after in range(len(entries) + 2):
        assert await node.store.entries(turn.turn_id, after) == entries[after:]
        some = await node.store.entries(turn.turn_id, after, limit=2)
        assert some == entries[after : after + 2]


async def test_what_is_stored_is_what_clients_get(node: Node) -> None:
    turn = await node.accept(new_turn())
    await node.claim(turn)
    await node.add(turn, "你好 \u2028 \U0001f600")
    ended = became(
        became(turn, "running"),
        "failed",
        reply="第二",
        error=TurnError(code="x", message="因为", retryable=True),
        usage=TurnUsage(model_calls=2, input_tokens=3, output_tokens=4, cost_usd=0.5),
    )
    await node.change(ended)
    assert await node.store.get(turn.turn_id) == ended
    entries = await log_of(node, turn.turn_id)
    assert entries[-1].data == ended
    assert entries[1].json.decode().count("你好 \u2028 \U0001f600") == 1


async def test_node_that_has_lost_a_turn_stores_nothing_of_it(pair: tuple[Node, Node]) -> None:
    lost, taker = pair
    turn = await lost.accept(new_turn())
    assert await lost.claim(turn)
    await lost.add(turn, "before")
    await lost.fall_silent()
    adopted = await taker.store.adopt(turn.turn_id)
    assert adopted is not None
    before = await log_of(taker, turn.turn_id)
    running = adopted.turn
    with pytest.raises(OwnershipLostError):
        await lost.add(running, "an event only")
    with pytest.raises(OwnershipLostError):
        await lost.change(running)
    with pytest.raises(OwnershipLostError):
        await lost.finish(running)
    assert await log_of(taker, turn.turn_id) == before
    assert await taker.store.get(turn.turn_id) == running
    await taker.add(running, "after")
    await taker.finish(running)
    assert_whole(await log_of(lost, turn.turn_id))


async def test_ended_turn_cannot_be_written_to(node: Node) -> None:
    turn = await node.accept(new_turn())
    ended = await node.run(turn)
    with pytest.raises(OwnershipLostError):
        await node.add(turn, "late")
    with pytest.raises(OwnershipLostError):
        await node.finish(became(turn, "running"), "failed")
    assert await node.store.get(turn.turn_id) == ended
    assert_whole(await log_of(node, turn.turn_id))


# --- nodes that die


async def test_only_turns_of_dead_nodes_are_orphans(pair: tuple[Node, Node]) -> None:
    here, there = pair
    queued, running = await here.accept(new_turn("q")), await here.accept(new_turn("r"))
    await here.claim(running)
    ended = await here.accept(new_turn("e"))
    await here.run(ended)
    asked = await here.accept(new_turn("w"))
    await here.claim(asked)
    await here.change(became(asked, "waiting_input"))
    assert await there.store.orphans() == []
    assert await there.store.adopt(queued.turn_id) is None
    await here.fall_silent()
    assert set(await there.store.orphans()) == {queued.turn_id, running.turn_id}
    await here.live()
    assert await there.store.orphans() == []
    assert await there.store.adopt(queued.turn_id) is None


async def test_node_that_is_not_alive_itself_finds_and_takes_nothing(
    pair: tuple[Node, Node],
) -> None:
    here, there = pair
    turn = await here.accept(new_turn())
    for node in pair:
        await node.fall_silent()
    assert await there.store.orphans() == []
    assert await there.store.adopt(turn.turn_id) is None
    await there.live()
    assert await there.store.orphans() == [turn.turn_id]
    assert await there.store.adopt(turn.turn_id) is not None


async def test_renewing_tells_whether_the_lease_had_run_out(node: Node) -> None:
    assert await node.store.renew_lease(LEASE)
    await node.fall_silent()
    assert not await node.store.renew_lease(LEASE)
    assert await node.store.renew_lease(LEASE)
    await node.store.release()
    assert not await node.store.renew_lease(LEASE)


async def test_orphans_are_counted_when_they_were_running_and_keep_their_order(
    pair: tuple[Node, Node],
) -> None:
    dying, living = pair
    first = await dying.accept(new_turn())
    second = await living.accept(new_turn())
    third = await dying.accept(new_turn())
    await dying.claim(first)
    await dying.fall_silent()
    adopted = await living.adopt_all()
    assert [one.turn.turn_id for one in adopted] == [first.turn_id, third.turn_id]
    assert [(one.recoveries, one.begun) for one in adopted] == [(1, True), (0, False)]
    assert not await living.claim(second)
    await living.finish(adopted[0].turn)
    assert not await living.claim(third)
    await living.run(second)
    await living.run(third)


async def test_orphan_is_adopted_by_one_node_only(empty_database_url: str) -> None:
    async with (
        open_node(empty_database_url, "dead") as dead,
        open_node(empty_database_url, "a") as first,
        open_node(empty_database_url, "b") as second,
    ):
        orphans = [await dead.accept(new_turn(f"s{n}")) for n in range(20)]
        await dead.fall_silent()
        adopted = await asyncio.gather(
            *(node.store.adopt(one.turn_id) for one in orphans for node in (first, second))
        )
        assert [sum(one is not None for one in adopted[n : n + 2]) for n in range(0, 40, 2)] == (
            [1] * 20
        )


async def test_released_turns_are_found_at_once_and_not_counted_as_a_death(
    pair: tuple[Node, Node],
) -> None:
    here, there = pair
    turn = await here.accept(new_turn())
    await here.claim(turn)
    await here.store.release()
    assert await rows(there, nodes) == 1
    assert await there.store.orphans() == [turn.turn_id]
    adopted = await there.store.adopt(turn.turn_id)
    assert adopted is not None
    assert (adopted.recoveries, adopted.begun, adopted.turn.status) == (0, True, "running")
    assert await there.store.owned() == [turn.turn_id]


async def test_wish_to_cancel_reaches_the_node_that_has_the_turn(pair: tuple[Node, Node]) -> None:
    here, there = pair
    turn = await here.accept(new_turn())
    await there.accept(new_turn("other"))
    await here.claim(turn)
    await there.store.request_cancel(turn.turn_id)
    assert await here.store.cancels_requested() == [turn.turn_id]
    assert await there.store.cancels_requested() == []
    assert await here.store.cancel_requested(turn.turn_id)
    await here.finish(became(turn, "running"), "cancelled")
    assert await here.store.cancels_requested() == []


async def test_turn_that_is_to_be_cancelled_does_not_start(pair: tuple[Node, Node]) -> None:
    here, there = pair
    turn, behind = await here.accept(new_turn()), await here.accept(new_turn())
    assert not await here.store.cancel_requested(turn.turn_id)
    await there.store.request_cancel(turn.turn_id)
    with pytest.raises(CancelRequestedError):
        await here.claim(turn)
    assert (await there.store.get(turn.turn_id)).status == "queued"
    assert not await here.claim(behind), "it comes after the one that has not ended yet"
    await here.finish(turn, "cancelled")
    assert await here.claim(behind)


async def test_wish_to_cancel_outlives_the_node(pair: tuple[Node, Node]) -> None:
    here, there = pair
    turn = await here.accept(new_turn())
    await here.claim(turn)
    await there.accept(new_turn(), interrupts=True)
    await here.fall_silent()
    (adopted,) = await there.adopt_all()
    assert adopted.cancel_requested


# --- waiting for a person

ASKED = [{"id": "c1", "name": "pay", "args": {}}, {"id": "c2", "name": "pay", "args": {}}]


async def waiting(node: Node, session: str = "s", *, since: timedelta = timedelta(0)) -> Turn:
    turn = await node.accept(new_turn(session))
    await node.claim(turn)
    asked = became(became(turn, "running"), "waiting_input", pending_input=ASKED)
    entry_at = START + since
    stored = await node.store.stored(turn.turn_id)
    entry = Entry.of(stored.last + 1, "turn", asked)
    await node.database.journal.run(
        lambda connection: node.store.save(connection, turn=asked, entry=entry, ended_at=entry_at)
    )
    return asked


async def test_waiting_turn_belongs_to_nobody_and_holds_up_nobody(pair: tuple[Node, Node]) -> None:
    here, there = pair
    turn = await waiting(here)
    assert (await there.store.get(turn.turn_id)).pending_input == ASKED
    await here.fall_silent()
    assert await there.store.orphans() == []
    await there.run(await there.accept(new_turn()))
    with pytest.raises(OwnershipLostError):
        await here.add(turn, "late")
    assert_whole(await log_of(here, turn.turn_id), final=False)


async def test_answered_turn_queues_behind_the_others_on_the_node_that_was_told(
    pair: tuple[Node, Node],
) -> None:
    here, there = pair
    turn = await waiting(here)
    other = await here.accept(new_turn())
    queued = became(turn, "queued", pending_input=[])
    last = await there.store.answer(queued, said("yes"), begun=False)
    assert last == (await there.store.stored(turn.turn_id)).last
    stored = await here.store.stored(turn.turn_id)
    assert (stored.turn, stored.input, stored.begun) == (queued, said("yes"), False)
    assert not await there.claim(queued)
    await here.run(other)
    await there.run(queued)
    assert_whole(await log_of(here, turn.turn_id))
    assert await session_order(here) == [other.turn_id, turn.turn_id]


async def test_just_one_of_several_answers_is_taken(pair: tuple[Node, Node]) -> None:
    for round_ in range(10):
        turn = await waiting(pair[0], f"s{round_}")
        queued = became(turn, "queued", pending_input=[])
        results = await asyncio.gather(
            *(node.store.answer(queued, said("yes"), begun=False) for node in pair * 2),
            return_exceptions=True,
        )
        assert sum(isinstance(one, ConflictError) for one in results) == 3
        assert sum(isinstance(one, int) for one in results) == 1
        assert_whole(await log_of(pair[0], turn.turn_id), final=False)


async def test_waiting_turn_can_be_ended_once_and_not_answered_then(
    pair: tuple[Node, Node],
) -> None:
    here, there = pair
    turn = await waiting(here)
    ended = became(turn, "cancelled")
    assert sorted(
        await asyncio.gather(here.store.end_waiting(ended), there.store.end_waiting(ended))
    ) == [False, True]
    with pytest.raises(ConflictError):
        await there.store.answer(became(turn, "queued"), said("yes"), begun=False)
    assert await here.store.get(turn.turn_id) == ended
    assert_whole(await log_of(there, turn.turn_id))


async def test_who_waits_too_long_is_found(node: Node) -> None:
    early = await waiting(node, "early")
    await waiting(node, "late", since=timedelta(hours=1))
    found = await node.store.waiting_since(START + timedelta(minutes=1))
    assert [turn.turn_id for turn in found] == [early.turn_id]
    await node.store.answer(became(early, "queued"), said("yes"), begun=False)
    assert await node.store.waiting_since(START + timedelta(minutes=1)) == []


async def test_unfinished_turns_of_a_session_are_read_in_order_by_one_query(node: Node) -> None:
    await node.run(await node.accept(new_turn()))
    asked = await waiting(node)
    running, queued = await node.accept(new_turn()), await node.accept(new_turn())
    await node.claim(running)
    await node.accept(new_turn("other"))
    with statements(node.database.engine) as executed:
        found = await node.store.unfinished_of(SESSION)
    assert len(executed) == 1
    in_order = [asked.turn_id, running.turn_id, queued.turn_id]
    assert [one.turn.turn_id for one in found] == in_order
    assert found == [await node.store.stored(turn_id) for turn_id in in_order]


# --- pages


@pytest.mark.parametrize("limit", [1, 3, 7, 10])
async def test_pages_of_turns_hold_each_turn_once_the_newest_first(node: Node, limit: int) -> None:
    accepted = [(await node.accept(new_turn())).turn_id for _ in range(7)]
    await node.accept(new_turn("other"))
    found: list[str] = []
    cursor: str | None = None
    for _ in range(10):
        page, cursor = await node.store.of_session(SESSION, limit=limit, cursor=cursor)
        assert len(page) <= limit
        found += [turn.turn_id for turn in page]
        if cursor is None:
            break
        await node.accept(new_turn())
    assert found == accepted[::-1]


@pytest.mark.parametrize("cursor", ["", "x", "!!", "ü", "LTE", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk"])
async def test_cursor_that_was_never_given_out_is_refused(node: Node, cursor: str) -> None:
    with pytest.raises(InvalidRequestError):
        await node.store.of_session(SESSION, limit=1, cursor=cursor)


# --- usage and forgetting


async def test_usage_adds_up_for_each_user_and_day_and_counts_final_turns_only(node: Node) -> None:
    usage = TurnUsage(model_calls=2, input_tokens=10, output_tokens=5, cost_usd=0.25)
    late = START + DAY
    for user, at in (("u", START), ("u", START), ("u", late), ("other", START)):
        turn = await node.accept(new_turn(f"{user}{at}", user))
        await node.claim(turn)
        await node.change(became(became(turn, "running"), "succeeded", at=at, usage=usage))
    free = await node.accept(new_turn("free"))
    await node.claim(free)
    unpriced = TurnUsage(model_calls=1)
    await node.change(became(became(free, "running"), "failed", usage=unpriced))
    assert await used(node, "u", "2026-01-01") == Usage(
        model_calls=5, input_tokens=20, output_tokens=10, cost_usd=0.5
    )
    assert (await used(node, "u", "2026-01-02")).model_calls == 2
    assert (await used(node, "nobody", "2026-01-01")).model_calls == 0


async def test_usage_of_one_user_can_be_charged_by_two_nodes_at_once(
    pair: tuple[Node, Node],
) -> None:
    async def live(node: Node, session: str) -> None:
        turn = await node.accept(new_turn(session))
        await node.claim(turn)
        usage = TurnUsage(model_calls=1)
        await node.change(became(became(turn, "running"), "succeeded", usage=usage))

    await asyncio.gather(*(live(node, f"{node.name}{n}") for n in range(20) for node in pair))
    assert (await used(pair[0], "u", "2026-01-01")).model_calls == 40


async def test_what_is_old_is_forgotten_with_all_that_belongs_to_it(node: Node) -> None:
    retention = timedelta(days=30)
    old = await node.accept(new_turn("old"), key=key())
    await node.run(old)
    unfinished = await node.accept(new_turn("unfinished"), key=key("other"))
    asked = await waiting(node, "asked")
    now = START + retention + timedelta(seconds=1)
    young = await node.accept(new_turn("young", at=now), key=key("young"))
    await node.claim(young)
    await node.change(became(became(young, "running"), "succeeded", at=now))
    assert not await node.store.forget_old(now, retention)
    with pytest.raises(TurnNotFoundError):
        await node.store.get(old.turn_id)
    assert await log_of(node, old.turn_id) == []
    for turn in (unfinished, asked, young):
        assert (await node.store.get(turn.turn_id)).turn_id == turn.turn_id
        assert await log_of(node, turn.turn_id)
    assert await rows(node, idempotency_keys) == 1
    assert (await used(node, "u", "2026-01-01")).model_calls == 0


async def test_keys_and_dead_nodes_are_forgotten_too(pair: tuple[Node, Node]) -> None:
    here, there = pair
    await here.accept(new_turn(), key=key())
    await there.store.renew_lease(-2 * DAY)
    await here.store.forget_old(START + 2 * DAY, timedelta(days=1))
    assert await rows(here, idempotency_keys) == 0
    assert await rows(here, nodes) == 1
    await there.live()
    assert await rows(here, nodes) == 2


async def test_session_is_forgotten_whole_and_alone(node: Node) -> None:
    ended = await node.accept(new_turn(), key=key())
    await node.run(ended)
    running = await node.accept(new_turn())
    await node.claim(running)
    kept = [await node.accept(new_turn("other")), await node.accept(new_turn(user="other"))]
    await node.store.forget_session(SESSION)
    assert await session_order(node) == []
    for turn in (ended, running):
        assert await log_of(node, turn.turn_id) == []
    assert await rows(node, idempotency_keys) == 0
    assert await rows(node, tool_calls) == 0
    for turn in kept:
        assert await node.store.get(turn.turn_id) == turn
    late = became(running, "running")
    entry = Entry.of(9, "turn", late)
    with pytest.raises(OwnershipLostError):
        await node.database.journal.run(
            lambda connection: node.store.save(connection, turn=late, entry=entry)
        )


async def test_event_with_every_kind_of_content_is_read_as_it_was_stored(node: Node) -> None:
    turn = await node.accept(new_turn())
    await node.claim(turn)
    texts = ["x" * 200_000, "\\u0000 is not a NUL", '{"json": "inside"}']
    await node.add(turn, *texts)
    events = [e.data for e in await log_of(node, turn.turn_id) if e.kind == "event"]
    assert [one.content for one in events if isinstance(one, Event)] == [
        spoken(text).content for text in texts
    ]
