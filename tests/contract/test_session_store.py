"""What a session service stores and gives back: the same in every store."""

from typing import Any

import pytest
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events import Event, EventActions
from google.adk.sessions import Session
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig
from google.genai.types import Content, FunctionCall, FunctionResponse, Part

from oda.session.past_state import META
from tests.contract.stored_sessions import Sessions, change

SCOPES = {"own": [1, {"二": None}], "user:name": "Ann", "app:motd": "hi", "temp:step": 1}
WINDOWS = [
    (GetSessionConfig(), [0, 1, 2, 3, 4]),
    (GetSessionConfig(num_recent_events=0), []),
    (GetSessionConfig(num_recent_events=2), [3, 4]),
    (GetSessionConfig(num_recent_events=9), [0, 1, 2, 3, 4]),
    (GetSessionConfig(after_timestamp=102.0), [2, 3, 4]),
    (GetSessionConfig(after_timestamp=200.0), []),
    (GetSessionConfig(num_recent_events=2, after_timestamp=101.0), [3, 4]),
    (GetSessionConfig(num_recent_events=4, after_timestamp=103.0), [3, 4]),
]


@pytest.fixture
def sessions(nodes: tuple[BaseSessionService, BaseSessionService], user: str) -> Sessions:
    """Sessions of an app and a user that nobody else has."""
    return Sessions(nodes[0], app_name=f"app_{user}", user_id=user)


def numbers(session: Session) -> list[Any]:
    return [(event.custom_metadata or {}).get("n") for event in session.events]


async def test_state_is_of_the_session_the_user_or_the_app(sessions: Sessions) -> None:
    created = await sessions.create("s", SCOPES)
    lasting = {key: value for key, value in SCOPES.items() if key != "temp:step"}
    assert created.state == lasting
    assert (await sessions.get("s")).state == lasting
    beside = await sessions.create("beside")
    assert beside.state == {"user:name": "Ann", "app:motd": "hi"}
    assert await sessions.user_state() == {"name": "Ann"}
    of_another = sessions.of(f"{sessions.user_id}-other")
    assert (await of_another.create("s")).state == {"app:motd": "hi"}
    assert await of_another.user_state() == {}


async def test_events_change_the_state_and_none_deletes(sessions: Sessions) -> None:
    session = await sessions.create("s", {"old": 1, "kept": 2, "user:old": 3})
    event = change({"old": None, "user:old": None, "new": {"n": 1}, "app:new": "ä", "temp:x": 1})
    await sessions.append(session, event)
    assert session.state["temp:x"] == 1
    stored = await sessions.get("s")
    there = {key: value for key, value in stored.state.items() if value is not None}
    assert there == {"kept": 2, "new": {"n": 1}, "app:new": "ä"}
    assert stored.events[0].actions.state_delta == {
        "old": None,
        "user:old": None,
        "new": {"n": 1},
        "app:new": "ä",
    }
    assert stored.last_update_time == pytest.approx(event.timestamp, abs=1e-5)


async def test_events_come_back_whole(sessions: Sessions) -> None:
    session = await sessions.create("s")
    call = FunctionCall(id="c", name="add", args={"a": 0.1, "text": "二\n\"'"})
    response = FunctionResponse(id="c", name="add", response={"sum": None, "list": []})
    events = [
        Event(
            author="agent",
            invocation_id="turn",
            branch="a.b",
            content=Content(role="model", parts=[Part(text="hm", thought=True), Part(text="é")]),
            custom_metadata={"empty": {}, "none": None},
        ),
        Event(
            author="agent",
            invocation_id="turn",
            content=Content(role="model", parts=[Part(function_call=call)]),
            long_running_tool_ids={"c"},
        ),
        Event(
            author="agent",
            invocation_id="turn",
            content=Content(role="user", parts=[Part(function_response=response)]),
            actions=EventActions(artifact_delta={"f": 0}, end_of_agent=True),
        ),
    ]
    for event in events:
        await sessions.append(session, event)
    assert (await sessions.get("s")).events == events
    assert session.events == events


async def test_what_is_only_shown_is_not_stored(sessions: Sessions) -> None:
    session = await sessions.create("s")
    await sessions.append(session, change({"k": 1}, partial=True))
    stored = await sessions.get("s")
    assert (stored.events, stored.state) == ([], {})
    await sessions.append(session, change({"k": 2}))


async def test_events_keep_their_order_whatever_the_clocks_say(sessions: Sessions) -> None:
    session = await sessions.create("s")
    for n, time in enumerate([100.0, 100.0, 100.0, 100.0, 99.0, 100.0, 50.0, 101.0]):
        await sessions.append(session, change({}, n=n, timestamp=time))
    assert numbers(await sessions.get("s")) == list(range(8))
    assert numbers(await sessions.get("s", GetSessionConfig(num_recent_events=3))) == [5, 6, 7]


@pytest.mark.parametrize(("window", "expected"), WINDOWS)
async def test_a_window_is_of_the_most_recent_events(
    sessions: Sessions, window: GetSessionConfig, expected: list[int]
) -> None:
    session = await sessions.create("s", {"k": 1})
    for n in range(5):
        await sessions.append(session, change({}, n=n, timestamp=100.0 + n))
    read = await sessions.get("s", window)
    assert numbers(read) == expected
    assert read.state == {"k": 1}
    await sessions.append(read, change({}, n=5, timestamp=105.0))
    assert numbers(await sessions.get("s")) == [0, 1, 2, 3, 4, 5]


async def test_sessions_are_listed_with_state_without_events_oldest_first(
    sessions: Sessions,
) -> None:
    other = sessions.of(f"{sessions.user_id}-other")
    assert await sessions.list() == []
    for owner, name, time in ((sessions, "a", 300.0), (sessions, "b", 100.0), (other, "c", 200.0)):
        session = await owner.create(name, {"user:of": owner.user_id})
        await owner.append(session, change({"name": name}, timestamp=time))
    mine, theirs = sessions.user_id, other.user_id
    expected: list[tuple[str, dict[str, Any], list[Event]]] = [
        ("b", {"name": "b", "user:of": mine}, []),
        ("c", {"name": "c", "user:of": theirs}, []),
        ("a", {"name": "a", "user:of": mine}, []),
    ]
    assert await sessions.list(of_all=True) == expected
    assert await sessions.list() == [expected[0], expected[2]]


async def test_pages_are_of_the_most_recently_used_and_miss_none(sessions: Sessions) -> None:
    other = sessions.of(f"{sessions.user_id}-other")
    times = {"a": 300.0, "b": 100.0, "c": 200.0, "d": 200.0, "e": 200.0, "f": 100.000001}
    for owner in (sessions, other):
        for n, (name, time) in enumerate(times.items()):
            session = await owner.create(name, {META: {"created_at": 50.0, "turns": n}})
            await owner.append(session, change({"k": "x"}, timestamp=time))
    first = await sessions.page(2)
    second = await sessions.page(2, first[-1].position)
    third = await sessions.page(5, second[-1].position)
    listed = [*first, *second, *third]
    assert [one.session_id for one in listed] == ["a", "e", "d", "c", "f", "b"]
    assert [one.updated_at for one in listed] == [times[one.session_id] for one in listed]
    assert [one.turns for one in listed] == [0, 4, 3, 2, 5, 1]
    assert {(one.user_id, one.created_at) for one in listed} == {(sessions.user_id, 50.0)}
    assert not await sessions.page(2, third[-1].position)


async def test_a_session_without_our_notes_is_on_the_page(sessions: Sessions) -> None:
    await sessions.append(await sessions.create("s"), change({}, timestamp=100.0))
    (listed,) = await sessions.page(1)
    assert (listed.created_at, listed.updated_at, listed.turns) == (100.0, 100.0, 0)
    await sessions.delete("s")
    assert not await sessions.page(1)


async def test_a_taken_id_is_refused_with_all_that_was_given(sessions: Sessions) -> None:
    await sessions.create("s", {"k": "first"})
    with pytest.raises(AlreadyExistsError):
        await sessions.create("s", {"k": "second", "user:k": 1, "app:k": 1})
    assert (await sessions.get("s")).state == {"k": "first"}


async def test_a_deleted_session_is_gone_and_what_it_shared_stays(sessions: Sessions) -> None:
    session = await sessions.create("s", {"k": 1, "user:k": 2})
    await sessions.append(session, change({"j": 1}))
    await sessions.delete("s")
    await sessions.delete("s")
    assert await sessions.find("s") is None
    assert await sessions.list() == []
    with pytest.raises(SessionNotFoundError):
        await sessions.append(session, change({"user:k": 3}))
    again = await sessions.create("s")
    assert (again.state, again.events) == ({"user:k": 2}, [])
    await sessions.append(again, session.events[0])


async def test_no_id_can_be_taken_for_another(sessions: Sessions) -> None:
    with_a_colon, without = sessions.of(f"{sessions.user_id}:a"), sessions
    await with_a_colon.create("b", {"k": 1, "user:k": 1})
    await without.create("a:b", {"k": 2, "user:k": 2})
    assert (await with_a_colon.get("b")).state == {"k": 1, "user:k": 1}
    assert (await without.get("a:b")).state == {"k": 2, "user:k": 2}
    assert [name for name, *_ in await without.list()] == ["a:b"]
