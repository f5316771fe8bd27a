"""The numbered log of a turn: read from anywhere, by anybody, at any pace."""

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from google.adk.events import Event
from google.genai.types import Content, Part

from oda.turn.log import Entry, TurnLog
from oda.turn.record import Turn, TurnStatus

PATIENCE_S = 10.0
EVENTS = 12


def record(status: TurnStatus = "running") -> Turn:
    return Turn(
        turn_id="t",
        app="app",
        user_id="user",
        session_id="s",
        agent="agent",
        status=status,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def event(text: str, *, partial: bool | None = None) -> Event:
    return Event(author="agent", content=Content(parts=[Part(text=text)]), partial=partial)


def written(events: int = EVENTS) -> TurnLog:
    """A log from its first record to its end."""
    log = TurnLog()
    log.append("turn", record())
    for number in range(events):
        log.append("event", event(str(number)))
    log.append("done", record("succeeded"))
    return log


async def followed(log: TurnLog, after: int = 0, *, rests: int = 0) -> list[Entry]:
    """What a follower sees who rests for some turns of the loop after each entry."""
    seen = []
    async with asyncio.timeout(PATIENCE_S):
        async for entry in log.follow(after):
            seen.append(entry)
            for _ in range(rests):
                await asyncio.sleep(0)
    return seen


def numbers(entries: Sequence[Entry]) -> list[int]:
    return [entry.number for entry in entries]


def test_new_log_is_empty_and_open() -> None:
    log = TurnLog()
    assert (log.last, log.closed, log.read(), log.events()) == (0, False, [], [])


def test_entries_are_numbered_from_one_without_gap() -> None:
    log = written(3)
    assert numbers(log.read()) == [1, 2, 3, 4, 5]
    assert [entry.kind for entry in log.read()] == ["turn", "event", "event", "event", "done"]
    assert log.last == 5


@pytest.mark.parametrize(
    ("after", "expected"), [(-1, [1, 2, 3]), (0, [1, 2, 3]), (2, [3]), (3, []), (99, [])]
)
def test_reading_begins_behind_a_number(after: int, expected: list[int]) -> None:
    assert numbers(written(1).read(after)) == expected


def test_only_done_closes_the_log() -> None:
    log = TurnLog()
    log.append("turn", record())
    log.append("event", event("x"))
    assert not log.closed
    log.append("done", record("failed"))
    assert log.closed


def test_events_are_those_of_adk_without_partial_texts() -> None:
    log = TurnLog()
    log.append("turn", record())
    log.append("event", event("hel", partial=True))
    log.append("event", event("hello"))
    assert [one.content for one in log.events()] == [event("hello").content]


def test_entry_goes_on_the_wire_as_json_made_once() -> None:
    first, second = written(1).read()[:2]
    assert json.loads(first.json)["turn_id"] == "t"
    assert json.loads(second.json)["content"] == {"parts": [{"text": "0"}]}
    assert second.json is second.json


@pytest.mark.parametrize("after", range(-1, EVENTS + 3))
async def test_follower_of_a_finished_turn_sees_all_behind_its_position_and_the_end(
    after: int,
) -> None:
    log = written()
    assert await followed(log, after) == log.read(after)


async def test_followers_from_every_position_and_at_any_pace_see_each_entry_once() -> None:
    log = TurnLog()
    followers = [
        asyncio.create_task(followed(log, after, rests=rests))
        for after in range(EVENTS + 2)
        for rests in (0, 1, 7)
    ]
    log.append("turn", record())
    for number in range(EVENTS):
        log.append("event", event(str(number)))
        for _ in range(number % 4):
            await asyncio.sleep(0)
        followers.append(asyncio.create_task(followed(log, number)))
    log.append("done", record("succeeded"))
    for after, seen in [(n // 3, task) for n, task in enumerate(followers[: 3 * (EVENTS + 2)])]:
        assert numbers(await seen) == list(range(after + 1, EVENTS + 3))
    for after, seen in enumerate(followers[3 * (EVENTS + 2) :]):
        assert numbers(await seen) == list(range(after + 1, EVENTS + 3))


async def test_follower_that_goes_away_does_not_disturb_the_others() -> None:
    log = TurnLog()
    staying = asyncio.create_task(followed(log))
    leaving = asyncio.create_task(followed(log))
    log.append("turn", record())
    await asyncio.sleep(0)
    leaving.cancel()
    log.append("done", record("succeeded"))
    assert numbers(await staying) == [1, 2]
    assert leaving.cancelled() or leaving.cancelling()


async def test_waiting_for_a_change_returns_when_the_number_is_passed_and_not_before() -> None:
    log = TurnLog()
    log.append("turn", record())
    async with asyncio.timeout(PATIENCE_S):
        await log.changed(0)
        waiting = asyncio.create_task(log.changed(2))
        for _ in range(3):
            assert log.last <= 2
            await asyncio.sleep(0)
            assert not waiting.done()
            log.append("event", event("x"))
            if log.last > 2:
                break
        await waiting
