"""The fake clock."""

import asyncio

import pytest

from oda.testing import FakeClock


async def test_sleeping_moves_the_clock_and_takes_no_time() -> None:
    clock = FakeClock(start=100.0)

    async with asyncio.timeout(1):
        await clock.sleep(3600)
        await clock.sleep(0.5)

    assert clock.now() == 3700.5
    assert clock.sleeps == (3600, 0.5)


async def test_other_tasks_run_while_one_sleeps() -> None:
    clock, seen = FakeClock(), list[str]()

    async def other() -> None:
        seen.append("other")

    task = asyncio.create_task(other())
    await clock.sleep(1)
    seen.append("sleeper")
    await task

    assert seen == ["other", "sleeper"]


def test_time_is_moved_by_hand_but_never_back() -> None:
    clock = FakeClock()
    clock.advance(2)

    assert clock.now() == 2
    assert clock.sleeps == ()
    with pytest.raises(ValueError, match="cannot go back"):
        clock.advance(-1)
