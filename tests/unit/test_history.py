"""A turn is read from the session through a window that never cuts it."""

import pytest
from google.adk.events import Event
from google.adk.sessions import InMemorySessionService
from google.genai.types import Content, Part

from oda.agent.history import History

KEY = ("app", "user", "session")


async def history(turns: dict[str, int], *, recent_events: int | None) -> History:
    """A session that holds so many events of each turn, in order."""
    service = InMemorySessionService()
    session = await service.create_session(app_name="app", user_id="user", session_id="session")
    for invocation_id, count in turns.items():
        for number in range(count):
            content = Content(role="user", parts=[Part(text=f"{invocation_id} {number}")])
            event = Event(author="user", invocation_id=invocation_id, content=content)
            await service.append_event(session, event)
    return History(service, KEY, recent_events)


@pytest.mark.parametrize("recent_events", [None, 1, 3, 10, 100])
@pytest.mark.parametrize("turn", ["t1", "t2", "t3"])
async def test_turn_is_read_whole_whatever_the_window(turn: str, recent_events: int | None) -> None:
    turns = {"t1": 7, "t2": 12, "t3": 4}
    stored = await (await history(turns, recent_events=recent_events)).of_turn(turn)
    assert stored is not None
    assert [event.invocation_id for event in stored.events] == [turn] * turns[turn]


@pytest.mark.parametrize("recent_events", [2, 5, 50])
async def test_window_reaches_back_to_the_turns_beginning(recent_events: int) -> None:
    turns = {"t1": 30, "t2": 12, "t3": 4}
    read = await history(turns, recent_events=recent_events)
    stored = await read.of_turn("t2")
    assert stored is not None
    assert stored.window is not None
    session = await read.load(stored.window)
    assert session is not None
    assert sum(event.invocation_id == "t2" for event in session.events) == 12


async def test_all_is_loaded_where_there_is_no_window() -> None:
    stored = await (await history({"t1": 3}, recent_events=None)).of_turn("t1")
    assert stored is not None
    assert stored.window is None


@pytest.mark.parametrize("recent_events", [None, 2, 100])
async def test_turn_of_which_nothing_is_stored_is_none(recent_events: int | None) -> None:
    read = await history({"t1": 9}, recent_events=recent_events)
    assert await read.of_turn("t2") is None


async def test_session_that_is_not_there_has_no_turn() -> None:
    assert await History(InMemorySessionService(), KEY, 10).of_turn("t1") is None
