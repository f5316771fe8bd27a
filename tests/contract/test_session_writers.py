"""Who writes to a session at the same time as others: what is refused, and that nothing is lost."""

import asyncio

import pytest
from google.adk.errors import StaleSessionError
from google.adk.events import Event
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig
from google.genai.types import Content, FunctionResponse, Part

from oda.session.live_history import LiveHistory, current_fence
from tests.contract.stored_sessions import Sessions, change

PATIENCE_S = 20.0
WITHOUT_EVENTS = GetSessionConfig(num_recent_events=0)


@pytest.fixture
def pair(
    nodes: tuple[BaseSessionService, BaseSessionService], user: str
) -> tuple[Sessions, Sessions]:
    """The same user's sessions, as two nodes see them."""
    one = Sessions(nodes[0], app_name=f"app_{user}", user_id=user)
    return one, one.on(nodes[1])


@pytest.mark.parametrize("window", [None, WITHOUT_EVENTS])
async def test_a_node_that_has_missed_something_is_refused(
    pair: tuple[Sessions, Sessions], window: GetSessionConfig | None
) -> None:
    one, other = pair
    await one.create("s")
    seen, missed = await one.get("s", window), await other.get("s", window)
    await one.append(seen, change({"by": "one"}))
    with pytest.raises(StaleSessionError):
        await other.append(missed, change({"by": "other", "user:by": "other", "app:by": "other"}))
    stored = await other.get("s")
    assert (len(stored.events), stored.state) == (1, {"by": "one"})
    await other.append(stored, change({"by": "other"}))
    with pytest.raises(StaleSessionError):
        await one.append(seen, change({"by": "one"}))


async def test_a_session_that_was_made_anew_is_another_one(pair: tuple[Sessions, Sessions]) -> None:
    one, other = pair
    missed = await one.create("s")
    await other.delete("s")
    await other.create("s")
    with pytest.raises(StaleSessionError):
        await one.append(missed, change({"k": 1}))


async def test_of_many_who_write_at_once_one_gets_through(pair: tuple[Sessions, Sessions]) -> None:
    await pair[0].create("s")
    read = [(node, await node.get("s")) for node in pair * 4]
    results = await asyncio.gather(
        *(node.append(session, change({"by": n})) for n, (node, session) in enumerate(read)),
        return_exceptions=True,
    )
    through = [n for n, result in enumerate(results) if isinstance(result, Event)]
    refused = [result for result in results if isinstance(result, StaleSessionError)]
    assert (len(through), len(refused)) == (1, 7)
    stored = await pair[1].get("s")
    assert (len(stored.events), stored.state) == (1, {"by": through[0]})


async def test_what_one_reader_writes_at_once_is_all_stored(
    pair: tuple[Sessions, Sessions],
) -> None:
    session = await pair[0].create("s")
    await asyncio.gather(*(pair[0].append(session, change({f"k{n}": n})) for n in range(8)))
    stored = await pair[1].get("s")
    assert stored.state == session.state == {f"k{n}": n for n in range(8)}
    assert len(stored.events) == 8


async def test_no_shared_key_is_lost_to_writers_of_others(pair: tuple[Sessions, Sessions]) -> None:
    async def write(sessions: Sessions, name: str) -> None:
        session = await sessions.create(name, {f"user:{name}": "born"})
        for n in range(12):
            await sessions.append(session, change({f"user:{name}{n}": n, f"app:{name}{n}": n}))

    await asyncio.gather(*(write(pair[n % 2], f"s{n}") for n in range(4)))
    names = [f"s{n}{m}" for n in range(4) for m in range(12)]
    assert set(await pair[1].user_state()) == {*names, "s0", "s1", "s2", "s3"}
    app_state = {key for key in (await pair[0].get("s0")).state if key.startswith("app:")}
    assert app_state == {f"app:{name}" for name in names}


async def test_sessions_made_at_once_lose_nothing_that_they_share(
    pair: tuple[Sessions, Sessions],
) -> None:
    running = await pair[0].create("running")
    await asyncio.gather(
        *(pair[n % 2].create(f"s{n}", {f"user:k{n}": n, f"app:k{n}": n}) for n in range(8)),
        pair[0].append(running, change({"user:said": True, "app:said": True})),
    )
    state = (await pair[1].get("running")).state
    expected = {f"{scope}:k{n}": n for scope in ("user", "app") for n in range(8)}
    assert state == {**expected, "user:said": True, "app:said": True}


async def test_of_one_shared_key_the_last_writer_wins(pair: tuple[Sessions, Sessions]) -> None:
    one, other = pair
    early, late = await one.create("early"), await other.create("late")
    await one.append(early, change({"user:k": "early", "user:e": 1}))
    await other.append(late, change({"user:k": "late", "user:l": 1}))
    assert await one.user_state() == {"k": "late", "e": 1, "l": 1}


async def test_who_is_cancelled_while_writing_stands_in_nobodys_way(
    pair: tuple[Sessions, Sessions],
) -> None:
    one, other = pair
    await one.create("s")
    for rests in range(30):
        writing = asyncio.create_task(one.append(await one.get("s"), change({"n": rests})))
        for _ in range(rests):
            await asyncio.sleep(0)
        writing.cancel()
        await asyncio.wait([writing])
        async with asyncio.timeout(PATIENCE_S):
            await other.append(await other.get("s"), change({"m": rests}))
    deltas = [event.actions.state_delta for event in (await one.get("s")).events]
    assert [delta["m"] for delta in deltas if "m" in delta] == list(range(30))


async def test_an_event_is_stored_once(pair: tuple[Sessions, Sessions]) -> None:
    one, other = pair
    for name in ("s", "copy"):
        await one.create(name)
        await one.append(await one.get(name), change({"k": 1}, event_id="e"))
    await one.append(await one.get("s"), change({"k": 2}))
    for node in pair:
        for window in (None, WITHOUT_EVENTS):
            with pytest.raises(StaleSessionError):
                await node.append(await node.get("s", window), change({"k": 3}, event_id="e"))
    stored = await other.get("s")
    assert (len(stored.events), stored.state) == (2, {"k": 2})


async def test_a_turns_message_is_stored_once_however_many_nodes_think_it_theirs(
    pair: tuple[Sessions, Sessions],
) -> None:
    async def owned() -> None:
        """Both nodes still think that the turns are theirs."""

    current_fence.set(owned)
    one, other = (node.on(LiveHistory(node.service)) for node in pair)
    session = await one.create("s")
    for event in (message("t1"), message("t2"), answer("t1", "c1"), answer("t1", "c2")):
        await one.append(session, event)
    for again in (message("t1"), answer("t1", "c2")):
        with pytest.raises(StaleSessionError):
            await other.append(await other.get("s"), again)
    assert len((await other.get("s")).events) == 4


async def test_outside_of_turns_a_user_says_many_things(pair: tuple[Sessions, Sessions]) -> None:
    live = pair[0].on(LiveHistory(pair[0].service))
    session = await live.create("s")
    for _ in range(2):
        await live.append(session, message("live"))
    assert len((await live.get("s")).events) == 2


def message(turn_id: str) -> Event:
    content = Content(role="user", parts=[Part(text="hello")])
    return Event(author="user", invocation_id=turn_id, content=content)


def answer(turn_id: str, call_id: str) -> Event:
    response = FunctionResponse(id=call_id, name="ask", response={"confirmed": True})
    content = Content(role="user", parts=[Part(function_response=response)])
    return Event(author="user", invocation_id=turn_id, content=content)


@pytest.mark.parametrize("recent", [None, 1, 2, 5])
async def test_a_reader_sees_what_another_node_has_added(
    pair: tuple[Sessions, Sessions], recent: int | None
) -> None:
    one, other = pair
    config = GetSessionConfig(num_recent_events=recent) if recent else None
    session = await one.create("s")
    for n in range(6):
        node = (one, other)[n % 2]
        session = await node.get("s", config)
        await node.append(session, change({"k": n}, n=n))
        for reader in pair:
            seen = await reader.get("s", config)
            found = [(event.custom_metadata or {})["n"] for event in seen.events]
            assert found == [*range(n + 1)][-recent if recent else None :]
            assert seen.state["k"] == n
