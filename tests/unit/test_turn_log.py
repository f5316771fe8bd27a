"""The numbered log of a turn: read from anywhere, by anybody, at any pace."""

import asyncio
import json
from collections.abc import Sequence

import pytest
from google.adk.events import Event

from oda.turn.log import Entry, TurnLog
from oda.turn.record import Turn
from tests.support.turns import became, new_turn, spoken

PATIENCE_S = 10.0
EVENTS = 12
TURN = new_turn()


def entries(events: int = EVENTS, *, after: int = 0) -> list[Entry]:
    """A log from its first record to its end."""
    first = Entry.of(after + 1, "turn", TURN)
    middle = [Entry.of(after + 2 + n, "event", spoken(str(n))) for n in range(events)]
    return [first, *middle, Entry.of(after + 2 + events, "done", became(TURN, "succeeded"))]


async def read_to_the_end(log: TurnLog, after: int = 0, *, rests: int = 0) -> list[Entry]:
    """What a reader sees who rests for some turns of the loop after each reading."""
    seen: list[Entry] = []
    async with asyncio.timeout(PATIENCE_S):
        while not (log.ended and log.last <= after):
            await log.changed(after)
            seen += log.read(after)
            after = max(after, log.last)
            for _ in range(rests):
                await asyncio.sleep(0)
    return seen


def numbers(found: Sequence[Entry]) -> list[int]:
    return [entry.number for entry in found]


def test_new_log_is_empty_and_open() -> None:
    log = TurnLog()
    assert (log.base, log.last, log.ended, log.abandoned, log.read(0)) == (0, 0, False, False, [])


@pytest.mark.parametrize("base", [0, 7])
def test_log_goes_on_where_the_stored_one_ends(base: int) -> None:
    log = TurnLog(base)
    assert log.last == base
    log.publish(entries(2, after=base)[:2])
    assert (log.last, log.ended) == (base + 2, False)
    log.publish(entries(2, after=base)[2:], ended=True)
    assert (log.last, log.ended) == (base + 4, True)
    for after in range(base, base + 6):
        assert numbers(log.read(after)) == list(range(after + 1, base + 5))


async def test_readers_from_every_position_and_at_any_pace_see_each_entry_once() -> None:
    log, whole = TurnLog(), entries()
    places = [(after, rests) for after in range(len(whole) + 1) for rests in (0, 1, 7)]
    readers = [asyncio.create_task(read_to_the_end(log, a, rests=r)) for a, r in places]
    for position, entry in enumerate(whole):
        log.publish([entry], ended=entry.kind == "done")
        for _ in range(position % 4):
            await asyncio.sleep(0)
        places.append((position, 0))
        readers.append(asyncio.create_task(read_to_the_end(log, position)))
    for (after, _), reader in zip(places, readers, strict=True):
        assert await reader == whole[after:]


async def test_reader_that_goes_away_does_not_disturb_the_others() -> None:
    log, whole = TurnLog(), entries(0)
    staying = asyncio.create_task(read_to_the_end(log))
    leaving = asyncio.create_task(read_to_the_end(log))
    log.publish(whole[:1])
    await asyncio.sleep(0)
    leaving.cancel()
    log.publish(whole[1:], ended=True)
    assert await staying == whole
    assert leaving.cancelled() or leaving.cancelling()


async def test_waiting_for_a_change_returns_when_the_number_is_passed_and_not_before() -> None:
    log = TurnLog()
    waiting = asyncio.create_task(log.changed(2))
    for entry in entries()[:3]:
        await asyncio.sleep(0)
        assert not waiting.done()
        log.publish([entry])
    await asyncio.wait_for(waiting, PATIENCE_S)


@pytest.mark.parametrize("how", ["abandon", "end"])
async def test_nobody_waits_for_what_will_never_come(how: str) -> None:
    log = TurnLog(3)
    waiting = [asyncio.create_task(log.changed(after)) for after in (3, 9)]
    await asyncio.sleep(0)
    if how == "abandon":
        log.abandon()
    else:
        log.publish([], ended=True)
    await asyncio.wait_for(asyncio.gather(*waiting), PATIENCE_S)
    await asyncio.wait_for(log.changed(9), PATIENCE_S)


def test_entry_is_made_to_json_once_and_read_back_from_it() -> None:
    for made in entries(1):
        read = Entry(made.number, made.kind, made.json)
        assert read == made
        assert read.data == made.data
        assert isinstance(read.data, Turn if made.kind != "event" else Event)
    first, second = entries(1)[:2]
    assert json.loads(first.json)["turn_id"] == TURN.turn_id
    assert json.loads(second.json)["content"] == {"role": "model", "parts": [{"text": "0"}]}
    assert second.data is second.data


@pytest.mark.parametrize("partial", [None, False, True])
def test_entry_of_an_earlier_version_may_be_a_piece_of_a_text(partial: bool | None) -> None:
    made = Entry.of(1, "event", spoken("x", partial=partial))
    assert made.partial is bool(partial)
    assert Entry(1, "event", made.json).partial is bool(partial)
    assert not Entry.of(1, "turn", TURN).partial
