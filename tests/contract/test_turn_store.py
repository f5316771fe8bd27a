"""Contract of the turn store: order, keys, runs, waiting, forgetting, one process or several."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Any

import pytest
from google.adk.events import Event
from sqlalchemy import Connection, func, select, text

from oda.agent.day_budget import used_on
from oda.agent.limits import Usage
from oda.database.schema import idempotency_keys, tool_calls, turn_entries, turns
from oda.errors import (
    ConflictError,
    IdempotencyConflictError,
    InvalidRequestError,
    OverloadedError,
    OwnershipLostError,
    SessionBusyError,
    TurnNotFoundError,
)
from oda.turn.log import Entry
from oda.turn.record import Turn, TurnError, TurnUsage
from oda.turn.store import TurnStore
from oda.turn.submission import IdempotencyKey
from tests.contract.test_query_plans import statements
from tests.support.turns import (
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
ASKED = [{"id": "c1", "name": "pay", "args": {}}, {"id": "c2", "name": "pay", "args": {}}]


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
    assert (stored.run, stored.recoveries, stored.cancel_requested) == (0, 0, False)
    assert not stored.message_may_be_stored
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
    assert await node.accept(first, starts=True) == became(first, "running")
    assert await node.accept(second, starts=True) == second
    assert [e.data for e in await log_of(node, first.turn_id)] == [first, became(first, "running")]
    assert [e.data for e in await log_of(node, second.turn_id)] == [second]
    runs, waits = [await node.store.stored(turn.turn_id) for turn in (first, second)]
    assert (runs.run, runs.message_may_be_stored) == (1, True)
    assert (waits.run, waits.message_may_be_stored) == (0, False)
    await node.add(first, "its run may write")


async def test_turn_may_wait_for_a_person_before_it_runs(node: Node) -> None:
    turn = new_turn(status="waiting_input", pending_input=ASKED)
    assert await node.accept(turn) == turn
    assert [entry.data for entry in await log_of(node, turn.turn_id)] == [
        became(turn, "queued", pending_input=[]),
        turn,
    ]
    assert await node.store.unfinished() == []
    late = START + timedelta(seconds=1)
    assert [one.turn_id for one in await node.store.waiting_since(late)] == [turn.turn_id]


async def test_message_is_rejected_while_another_process_has_a_turn_of_the_session(
    pair: tuple[Node, Node],
) -> None:
    here, there = pair
    turn = await there.accept(new_turn())
    with pytest.raises(SessionBusyError):
        await here.accept(new_turn(), on_busy="reject")
    await there.run(turn)
    assert (await here.accept(new_turn(), on_busy="reject")).status == "queued"
    assert (await here.accept(new_turn(session="other"), on_busy="reject")).status == "queued"


async def test_session_takes_no_more_turns_than_may_wait(node: Node) -> None:
    store = TurnStore(node.database, max_queued=2)
    first = new_turn()
    for turn in (first, new_turn(), new_turn()):
        await store.accept(turn, said("hello"))
    for on_busy in ("queue", "interrupt"):
        with pytest.raises(OverloadedError, match="2 messages"):
            await store.accept(new_turn(), said("hello"), on_busy=on_busy)
    assert not (await store.stored(first.turn_id)).cancel_requested
    assert len(await session_order(node)) == 3
    await store.accept(new_turn(session="other"), said("hello"))
    await node.run(first)
    await store.accept(new_turn(), said("hello"))


async def test_user_has_no_more_unfinished_turns_than_allowed(node: Node) -> None:
    first, _ = [await node.accept(new_turn(f"s{n}"), turns_at_once=2) for n in range(2)]
    with pytest.raises(OverloadedError, match="2 turns"):
        await node.accept(new_turn("s2"), turns_at_once=2)
    await node.accept(new_turn("s2", "another"), turns_at_once=2)
    await node.run(first)
    await node.accept(new_turn("s2"), turns_at_once=2)


@pytest.mark.parametrize("on_busy", ["queue", "reject"])
async def test_of_turns_that_start_at_once_in_several_processes_just_one_does(
    pair: tuple[Node, Node], on_busy: str
) -> None:
    """A busy session is noticed, although the others' turns are stored at the same moment."""

    async def submit(node: Node, session: str) -> Turn | SessionBusyError:
        try:
            return await node.accept(new_turn(session), starts=True, on_busy=on_busy)
        except SessionBusyError as error:
            return error

    for round_ in range(20):
        session = f"s{round_}"
        results = await asyncio.gather(*(submit(node, session) for node in pair * 3))
        started = [one for one in results if isinstance(one, Turn) and one.status == "running"]
        assert len(started) == 1
        refused = [one for one in results if isinstance(one, SessionBusyError)]
        assert len(refused) == (5 if on_busy == "reject" else 0)


@pytest.mark.parametrize("begins", ["no run", "a run here", "a run there"])
async def test_withdrawn_turn_is_deleted_unless_another_process_runs_it(
    pair: tuple[Node, Node], begins: str
) -> None:
    here, there = pair
    turn = await here.accept(new_turn(), starts=begins == "a run here")
    if begins == "a run there":
        await there.begin(turn)
    await here.store.withdraw(turn, said("hello"))
    assert len(await session_order(here)) == (1 if begins == "a run there" else 0)


async def test_processes_that_accept_at_once_give_every_turn_a_place(
    pair: tuple[Node, Node],
) -> None:
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


async def test_same_key_and_body_is_the_same_turn_in_any_process(pair: tuple[Node, Node]) -> None:
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
async def test_one_key_used_at_once_in_two_processes_makes_one_turn(
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
        await node.accept(new_turn(), on_busy="reject", key=key())
    await node.run(first)
    accepted = await node.store.accept(new_turn(), said("hello"), on_busy="reject", key=key())
    assert not accepted.replayed


# --- the order in which turns run


async def test_unfinished_turns_are_found_in_the_order_in_which_they_run(
    pair: tuple[Node, Node],
) -> None:
    here, there = pair
    first, running, waits = [await here.accept(new_turn()) for _ in range(3)]
    await there.begin(running)
    urgent = [await node.accept(new_turn(), on_busy="interrupt") for node in (there, here)]
    in_order = [running, *urgent, first, waits]
    for node in pair:
        assert await node.store.unfinished(SESSION) == [turn.turn_id for turn in in_order]
    await there.finish(running)
    await waiting(here)
    assert await here.store.unfinished(SESSION) == [turn.turn_id for turn in in_order[1:]]


async def test_unfinished_turns_are_found_of_one_session_or_of_all(node: Node) -> None:
    found = [
        await node.accept(new_turn(session, user))
        for session, user in (("s", "u"), ("s", "other"), ("other", "u"))
    ]
    assert set(await node.store.unfinished()) == {turn.turn_id for turn in found}
    assert await node.store.unfinished(SESSION) == [found[0].turn_id]


async def test_interrupting_turn_cancels_the_one_that_runs(pair: tuple[Node, Node]) -> None:
    here, there = pair
    await here.accept(new_turn())
    running = await here.accept(new_turn())
    await here.begin(running)
    await there.accept(new_turn("other"))
    await there.accept(new_turn(), on_busy="interrupt")
    assert await here.store.cancels_requested() == [running.turn_id]


async def test_interrupting_turn_cancels_the_next_one_if_none_runs(node: Node) -> None:
    await waiting(node)
    next_, _ = [await node.accept(new_turn()) for _ in range(2)]
    await node.accept(new_turn(), on_busy="interrupt")
    assert await node.store.cancels_requested() == [next_.turn_id]


async def test_turn_that_interrupts_nothing_cancels_nothing(node: Node) -> None:
    await node.run(await node.accept(new_turn()))
    await waiting(node)
    await node.accept(new_turn(), on_busy="interrupt")
    assert await node.store.cancels_requested() == []


# --- runs


async def test_taken_turn_runs(pair: tuple[Node, Node]) -> None:
    here, there = pair
    turn = await here.accept(new_turn())
    taken = await there.take(turn)
    assert taken is not None
    running = became(turn, "running")
    assert (taken.stored.turn, taken.was_running) == (running, False)
    assert (taken.stored.run, taken.stored.recoveries, taken.stored.last) == (1, 0, 2)
    assert not taken.stored.message_may_be_stored, "no run before this one has stored it"
    stored = await here.store.stored(turn.turn_id)
    assert (stored.turn, stored.run, stored.message_may_be_stored) == (running, 1, True)
    assert [entry.data for entry in await log_of(here, turn.turn_id)] == [turn, running]


async def test_turn_that_need_not_run_is_not_taken(pair: tuple[Node, Node]) -> None:
    here, there = pair
    ended, asked = await here.accept(new_turn()), await waiting(here)
    await here.run(ended)
    for turn in (ended, asked, new_turn()):
        assert await there.take(turn) is None
    assert (await here.store.stored(asked.turn_id)).run == 1


async def test_turn_that_was_cut_off_is_taken_again_and_a_death_counted(
    pair: tuple[Node, Node],
) -> None:
    dead, taker = pair
    turn = await dead.accept(new_turn())
    running = await dead.begin(turn)
    await dead.add(turn, "before")
    for deaths in (1, 2):
        taken = await taker.take(turn)
        assert taken is not None
        assert (taken.stored.turn, taken.was_running) == (running, True)
        assert (taken.stored.run, taken.stored.recoveries) == (1 + deaths, deaths)
        assert (taken.stored.last, taken.stored.message_may_be_stored) == (3, True)
    assert len(await log_of(taker, turn.turn_id)) == 3, "it did not begin again"
    await taker.finish(running)
    assert_whole(await log_of(dead, turn.turn_id))


async def test_released_turn_is_taken_without_counting_a_death(pair: tuple[Node, Node]) -> None:
    here, there = pair
    turn = await here.accept(new_turn())
    await here.begin(turn)
    await here.release(turn)
    taken = await there.take(turn)
    assert taken is not None
    assert (taken.stored.run, taken.stored.recoveries, taken.was_running) == (2, 0, True)
    await here.release(turn)
    again = await there.take(turn)
    assert again is not None
    assert again.stored.recoveries == 1, "a run that has ended releases nothing"


async def test_of_runs_that_begin_at_once_only_the_latest_may_write(
    pair: tuple[Node, Node],
) -> None:
    for round_ in range(10):
        turn = await pair[0].accept(new_turn(f"s{round_}"))
        taken = await asyncio.gather(*(node.take(turn) for node in pair))
        runs = sorted((one.stored.run, one.was_running) for one in taken if one is not None)
        assert runs == [(1, False), (2, True)]
        first, latest = sorted(pair, key=lambda node: node.runs[turn.turn_id])
        running = became(turn, "running")
        with pytest.raises(OwnershipLostError):
            await first.add(running, "one")
        await latest.add(running, "one")
        with pytest.raises(OwnershipLostError):
            await first.finish(running)
        await latest.finish(running)
        assert_whole(await log_of(first, turn.turn_id))


@pytest.mark.postgres
async def test_run_begins_after_the_last_entry_of_the_run_that_it_ends(
    empty_postgres_url: str,
) -> None:
    """The run before stores an entry while the turn is taken."""
    async with (
        asyncio.timeout(PATIENCE_S),
        open_node(empty_postgres_url, "a") as slow,
        open_node(empty_postgres_url, "b") as taker,
    ):
        turn = await slow.accept(new_turn(), starts=True)
        with slow.database.engine.connect() as connection:
            slow.store.guard(turn.turn_id, 1, connection)
            entry = Entry.of(3, "event", spoken("late"))
            slow.store.add_entry(connection, turn_id=turn.turn_id, entry=entry)
            taking = asyncio.create_task(taker.take(turn))
            while not await waits_for_a_lock(taker):  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0.01)
            connection.commit()
        taken = await taking
        assert taken is not None
        assert taken.stored.last == 3


async def waits_for_a_lock(node: Node) -> bool:
    """Whether a transaction of a PostgreSQL database waits for another one."""
    waits = text(
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )

    def ask() -> bool:
        with node.database.engine.connect() as connection:
            return bool(connection.scalar(waits))

    return await asyncio.to_thread(ask)


async def test_wish_to_cancel_is_seen_by_all_until_the_turn_ends(pair: tuple[Node, Node]) -> None:
    here, there = pair
    turn = await here.accept(new_turn())
    await there.accept(new_turn("other"))
    running = await here.begin(turn)
    assert not await here.store.cancel_requested(turn.turn_id)
    await there.store.request_cancel(turn.turn_id)
    for node in pair:
        assert await node.store.cancels_requested() == [turn.turn_id]
        assert await node.store.cancel_requested(turn.turn_id)
    await here.finish(running, "cancelled")
    assert await here.store.cancels_requested() == []


async def test_turn_that_is_to_be_cancelled_does_not_start(pair: tuple[Node, Node]) -> None:
    here, there = pair
    turn = await here.accept(new_turn())
    await there.store.request_cancel(turn.turn_id)
    taken = await here.take(turn)
    assert taken is not None
    assert (taken.stored.turn, taken.stored.run) == (turn, 0)
    assert taken.stored.cancel_requested
    ended = became(turn, "cancelled")
    assert await here.store.end(ended, before="queued") == 2
    assert await there.store.get(turn.turn_id) == ended
    assert await there.take(turn) is None
    assert_whole(await log_of(there, turn.turn_id))


async def test_wish_to_cancel_outlives_the_run(pair: tuple[Node, Node]) -> None:
    here, there = pair
    turn = await here.accept(new_turn())
    await here.begin(turn)
    await there.accept(new_turn(), on_busy="interrupt")
    taken = await there.take(turn)
    assert taken is not None
    assert (taken.stored.turn.status, taken.stored.cancel_requested) == ("running", True)


async def test_turn_that_has_begun_is_not_ended_as_one_that_waits(node: Node) -> None:
    turn = await node.accept(new_turn())
    running = await node.begin(turn)
    assert await node.store.end(became(turn, "cancelled"), before="queued") is None
    assert await node.store.get(turn.turn_id) == running


# --- jobs that run turns


class ListedJobs:
    """A queue of jobs that only writes down what it is told."""

    def __init__(self) -> None:
        self.added: list[tuple[str, bool, int | None]] = []
        """Turn, whether it is urgent, and the job whose place it takes."""
        self.aborted: list[int] = []

    def add(
        self, connection: Connection, turn: Turn, *, urgent: bool, lost: int | None = None
    ) -> int:
        self.added.append((turn.turn_id, urgent, lost))
        return len(self.added)

    def abort(self, connection: Connection, job_id: int, app: str) -> None:
        self.aborted.append(job_id)


@pytest.fixture
def jobs() -> ListedJobs:
    return ListedJobs()


@pytest.fixture
def queue(node: Node, jobs: ListedJobs) -> TurnStore:
    """A store whose turns are run by jobs."""
    return TurnStore(node.database, jobs=jobs)


async def test_turn_that_must_run_has_a_job(node: Node, queue: TurnStore, jobs: ListedJobs) -> None:
    queued, urgent, runs = new_turn(), new_turn(), new_turn("other")
    await queue.accept(queued, said("hello"))
    await queue.accept(urgent, said("hello"), on_busy="interrupt")
    await queue.accept(runs, said("hello"), starts=True)
    asks = new_turn(status="waiting_input", pending_input=ASKED)
    await queue.accept(asks, said("hello"))
    assert jobs.added == [(queued.turn_id, False, None), (urgent.turn_id, True, None)]
    answered = became(asks, "queued", pending_input=[])
    await queue.answer(answered, said("yes"), message_may_be_stored=False)
    assert jobs.added[2:] == [(asks.turn_id, False, None)]


async def test_turn_is_taken_by_its_job_only(queue: TurnStore) -> None:
    turn = new_turn()
    await queue.accept(turn, said("hello"))
    assert await queue.take(turn.turn_id, job_id=2) is None
    assert await queue.take(turn.turn_id, job_id=1) is not None


async def test_lost_job_is_replaced_once(queue: TurnStore, jobs: ListedJobs) -> None:
    turn = new_turn()
    await queue.accept(turn, said("hello"), on_busy="interrupt")
    assert await queue.replace_job(turn.turn_id, 1)
    assert not await queue.replace_job(turn.turn_id, 1)
    assert jobs.added[1:] == [(turn.turn_id, True, 1)]
    assert await queue.take(turn.turn_id, job_id=1) is None
    assert await queue.take(turn.turn_id, job_id=2) is not None


async def test_job_of_a_turn_that_is_to_be_cancelled_is_aborted(
    queue: TurnStore, jobs: ListedJobs
) -> None:
    first, second = new_turn(), new_turn()
    for turn in (first, second):
        await queue.accept(turn, said("hello"))
    await queue.request_cancel(second.turn_id)
    await queue.accept(new_turn(), said("hello"), on_busy="interrupt")
    assert jobs.aborted == [2, 1]


# --- the log, and who may write it


async def test_entries_are_read_from_any_number(node: Node) -> None:
    turn = await node.accept(new_turn())
    running = await node.begin(turn)
    await node.add(turn, *"abcdef")
    await node.finish(running)
    entries = await log_of(node, turn.turn_id)
    assert_whole(entries)
    for after in range(len(entries) + 2):
        assert await node.store.entries(turn.turn_id, after) == entries[after:]
        some = await node.store.entries(turn.turn_id, after, limit=2)
        assert some == entries[after : after + 2]


async def test_records_in_the_log_repeat_nothing_that_the_turn_has(node: Node) -> None:
    turn = await node.accept(new_turn(metadata={"note": "x" * 500}))
    running = await node.begin(turn)
    await node.change(running.model_copy(update={"usage": TurnUsage(model_calls=1)}))
    ended = await node.finish(running.model_copy(update={"reply": "y" * 500}))
    with node.database.engine.connect() as connection:
        stored = connection.execute(select(turn_entries.c.data)).scalars().all()
    assert len(stored) == 4
    assert all(len(data) < 200 for data in stored)
    assert [entry.data for entry in await log_of(node, turn.turn_id)] == [
        turn,
        running,
        running.model_copy(update={"usage": TurnUsage(model_calls=1)}),
        ended,
    ]


async def test_what_is_stored_is_what_clients_get(node: Node) -> None:
    turn = await node.accept(new_turn())
    running = await node.begin(turn)
    await node.add(turn, "你好 \u2028 \U0001f600")
    ended = became(
        running,
        "failed",
        reply="第二",
        error=TurnError(code="x", message="因为", retryable=True),
        usage=TurnUsage(model_calls=2, input_tokens=3, output_tokens=4, cost_usd=0.5),
    )
    await node.change(ended)
    assert await node.store.get(turn.turn_id) == ended
    entries = await log_of(node, turn.turn_id)
    assert entries[-1].data == ended
    assert entries[2].json.decode().count("你好 \u2028 \U0001f600") == 1


async def test_run_that_is_not_the_latest_stores_nothing(pair: tuple[Node, Node]) -> None:
    lost, taker = pair
    turn = await lost.accept(new_turn())
    running = await lost.begin(turn)
    await lost.add(turn, "before")
    assert await taker.begin(turn) == running
    before = await log_of(taker, turn.turn_id)
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


async def test_the_record_alone_is_not_stored_by_a_run_that_is_not_the_latest(
    pair: tuple[Node, Node],
) -> None:
    """Its operation does the check of the guard itself."""
    lost, taker = pair
    turn = await lost.accept(new_turn(), starts=True)
    await taker.begin(turn)
    entry = Entry.of(3, "turn", turn)
    with pytest.raises(OwnershipLostError):
        await lost.database.journal.run(
            lambda connection: lost.store.save(connection, turn=turn, run=1, entry=entry)
        )
    assert len(await log_of(taker, turn.turn_id)) == 2


async def test_ended_turn_cannot_be_written_to(node: Node) -> None:
    turn = await node.accept(new_turn())
    ended = await node.run(turn)
    with pytest.raises(OwnershipLostError):
        await node.add(turn, "late")
    with pytest.raises(OwnershipLostError):
        await node.finish(became(turn, "running"), "failed")
    assert await node.store.get(turn.turn_id) == ended
    assert_whole(await log_of(node, turn.turn_id))


# --- waiting for a person


async def waiting(node: Node, session: str = "s", *, since: timedelta = timedelta(0)) -> Turn:
    turn = await node.accept(new_turn(session))
    running = await node.begin(turn)
    asked = became(running, "waiting_input", pending_input=ASKED)
    entry, run = Entry.of(3, "turn", asked), node.runs[turn.turn_id]
    await node.database.journal.run(
        lambda connection: node.store.save(
            connection, turn=asked, run=run, entry=entry, ended_at=START + since
        )
    )
    return asked


async def test_waiting_turn_runs_nowhere(pair: tuple[Node, Node]) -> None:
    here, there = pair
    turn = await waiting(here)
    assert (await there.store.get(turn.turn_id)).pending_input == ASKED
    assert await there.store.unfinished() == []
    assert (await there.accept(new_turn(), starts=True)).status == "running"
    with pytest.raises(OwnershipLostError):
        await here.add(turn, "late")
    assert_whole(await log_of(here, turn.turn_id), final=False)


async def test_answered_turn_queues_behind_the_others(pair: tuple[Node, Node]) -> None:
    here, there = pair
    turn = await waiting(here)
    other = await here.accept(new_turn())
    queued = became(turn, "queued", pending_input=[])
    last = await there.store.answer(queued, said("yes"), message_may_be_stored=False)
    stored = await here.store.stored(turn.turn_id)
    assert last == stored.last
    assert (stored.turn, stored.input) == (queued, said("yes"))
    assert not stored.message_may_be_stored
    in_order = [other.turn_id, turn.turn_id]
    assert await session_order(here) == await here.store.unfinished() == in_order
    taken = await there.take(turn)
    assert taken is not None
    assert (taken.stored.run, taken.stored.recoveries, taken.was_running) == (2, 0, False)
    assert taken.stored.turn.attempts == 2
    with pytest.raises(OwnershipLostError):
        await here.add(turn, "of the run before the question")
    await there.finish(taken.stored.turn)
    assert_whole(await log_of(here, turn.turn_id))


async def test_answer_is_refused_while_too_many_turns_wait(node: Node) -> None:
    turn = await waiting(node)
    store = TurnStore(node.database, max_queued=0)
    await node.accept(new_turn())
    queued = became(turn, "queued", pending_input=[])
    with pytest.raises(OverloadedError):
        await store.answer(queued, said("yes"), message_may_be_stored=False)
    assert await node.store.get(turn.turn_id) == turn


async def test_just_one_of_several_answers_is_taken(pair: tuple[Node, Node]) -> None:
    for round_ in range(10):
        turn = await waiting(pair[0], f"s{round_}")
        queued = became(turn, "queued", pending_input=[])
        results = await asyncio.gather(
            *(
                node.store.answer(queued, said("yes"), message_may_be_stored=False)
                for node in pair * 2
            ),
            return_exceptions=True,
        )
        assert sum(isinstance(one, ConflictError) for one in results) == 3
        assert sum(isinstance(one, int) for one in results) == 1
        assert_whole(await log_of(pair[0], turn.turn_id), final=False)


async def test_waiting_turn_can_be_ended_once_and_not_answered_then(
    pair: tuple[Node, Node],
) -> None:
    turn = await waiting(pair[0])
    ended = became(turn, "cancelled")
    endings = await asyncio.gather(
        *(node.store.end(ended, before="waiting_input") for node in pair)
    )
    assert sorted(endings, key=str) == [4, None]
    with pytest.raises(ConflictError):
        await pair[1].store.answer(became(turn, "queued"), said("yes"), message_may_be_stored=False)
    assert await pair[0].store.get(turn.turn_id) == ended
    assert_whole(await log_of(pair[1], turn.turn_id))


async def test_who_waits_too_long_is_found(node: Node) -> None:
    early, refused = await waiting(node, "early"), await waiting(node, "refused")
    await waiting(node, "late", since=timedelta(hours=1))
    await node.store.end(became(refused, "failed"), before="waiting_input")
    found = await node.store.waiting_since(START + timedelta(minutes=1))
    assert [turn.turn_id for turn in found] == [early.turn_id]
    queued = became(early, "queued", pending_input=[])
    await node.store.answer(queued, said("yes"), message_may_be_stored=False)
    assert await node.store.waiting_since(START + timedelta(minutes=1)) == []


async def test_unfinished_turns_of_a_session_are_read_in_order_by_one_query(node: Node) -> None:
    await node.run(await node.accept(new_turn()))
    asked = await waiting(node)
    running, queued = await node.accept(new_turn()), await node.accept(new_turn())
    await node.begin(running)
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
        await node.begin(turn)
        await node.change(became(became(turn, "running"), "succeeded", at=at, usage=usage))
    free = await node.accept(new_turn("free"))
    await node.begin(free)
    unpriced = TurnUsage(model_calls=1)
    await node.change(became(became(free, "running"), "failed", usage=unpriced))
    assert await used(node, "u", "2026-01-01") == Usage(
        model_calls=5, input_tokens=20, output_tokens=10, cost_usd=0.5
    )
    assert (await used(node, "u", "2026-01-02")).model_calls == 2
    assert (await used(node, "nobody", "2026-01-01")).model_calls == 0


async def test_usage_of_one_user_can_be_charged_by_two_processes_at_once(
    pair: tuple[Node, Node],
) -> None:
    async def live(node: Node, session: str) -> None:
        turn = await node.accept(new_turn(session))
        await node.begin(turn)
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
    await node.begin(young)
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


async def test_keys_are_forgotten_too(node: Node) -> None:
    await node.accept(new_turn(), key=key())
    await node.store.forget_old(START + 2 * DAY, timedelta(days=1))
    assert await rows(node, idempotency_keys) == 0


async def test_session_is_forgotten_whole_and_alone(node: Node) -> None:
    ended = await node.accept(new_turn(), key=key())
    await node.run(ended)
    running = await node.accept(new_turn())
    await node.begin(running)
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
            lambda connection: node.store.save(connection, turn=late, run=1, entry=entry)
        )


async def test_event_with_every_kind_of_content_is_read_as_it_was_stored(node: Node) -> None:
    turn = await node.accept(new_turn())
    await node.begin(turn)
    texts = ["x" * 200_000, "\\u0000 is not a NUL", '{"json": "inside"}']
    await node.add(turn, *texts)
    events = [e.data for e in await log_of(node, turn.turn_id) if e.kind == "event"]
    assert [one.content for one in events if isinstance(one, Event)] == [
        spoken(text).content for text in texts
    ]
