"""Who may go in a session's lane, and when."""

import asyncio
from collections.abc import Callable

import pytest

from oda.errors import OverloadedError, SessionBusyError
from oda.session.lane import Lane, OnBusy, Place


class Street:
    """A lane with turns that stay in it until they are let out."""

    def __init__(self, *, max_queued: int = 32) -> None:
        self.interrupted = 0
        self.inside: list[str] = []
        self.came: list[str] = []
        self.lane = Lane(max_queued=max_queued, interrupt=self._interrupt)
        self._ends: dict[str, asyncio.Event] = {}

    def _interrupt(self) -> None:
        self.interrupted += 1

    async def drive(self, name: str, on_busy: OnBusy = "queue") -> asyncio.Task[None]:
        """Reserve a place and try to go in."""
        place = self.lane.reserve(on_busy)
        end = self._ends[name] = asyncio.Event()

        async def turn() -> None:
            async with place:
                self.came.append(name)
                self.inside.append(name)
                try:
                    await end.wait()
                finally:
                    self.inside.remove(name)

        task = asyncio.create_task(turn())
        await settled()
        return task

    async def let_out(self, name: str) -> None:
        self._ends[name].set()
        await settled()


async def settled() -> None:
    """Let every task go on as far as it can."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_turns_go_in_one_at_a_time_in_the_order_in_which_they_came() -> None:
    street = Street()
    for name in "abc":
        await street.drive(name)
    for name in "abc":
        assert street.inside == [name]
        await street.let_out(name)
    assert street.came == ["a", "b", "c"]
    assert not street.lane.busy


async def test_order_is_that_of_reserving_not_of_entering() -> None:
    lane = Lane(max_queued=5, interrupt=list)
    came: list[str] = []

    async def turn(name: str, place: Place) -> None:
        async with place:
            came.append(name)

    first, second = lane.reserve(), lane.reserve()
    async with asyncio.timeout(5):
        await asyncio.gather(turn("second", second), turn("first", first))
    assert came == ["first", "second"]


async def test_rejecting_turn_goes_in_only_if_nobody_is_there() -> None:
    street = Street()
    await street.drive("a", "reject")
    with pytest.raises(SessionBusyError):
        street.lane.reserve("reject")
    await street.let_out("a")
    await street.drive("b", "reject")
    assert street.inside == ["b"]


@pytest.mark.parametrize("on_busy", ["queue", "interrupt"])
@pytest.mark.parametrize("max_queued", [1, 2])
async def test_no_more_than_the_limit_wait(max_queued: int, on_busy: OnBusy) -> None:
    street = Street(max_queued=max_queued)
    await street.drive("inside")
    for number in range(max_queued):
        await street.drive(f"waiting {number}")
    with pytest.raises(OverloadedError) as refusal:
        street.lane.reserve(on_busy)
    assert refusal.value.retry_after_s > 0
    assert street.interrupted == 0
    await street.let_out("inside")
    await street.drive("one more", on_busy)


async def test_without_a_queue_one_turn_can_go_in() -> None:
    street = Street(max_queued=0)
    await street.drive("a")
    assert street.inside == ["a"]
    with pytest.raises(OverloadedError):
        street.lane.reserve()


async def test_interrupting_turn_ends_the_running_one_and_goes_before_those_that_wait() -> None:
    street = Street()
    for name in "abc":
        await street.drive(name)
    await street.drive("urgent", "interrupt")
    assert street.interrupted == 1
    assert street.inside == ["a"]
    for name in ("a", "urgent", "b", "c"):
        await street.let_out(name)
    assert street.came == ["a", "urgent", "b", "c"]


async def test_interrupting_an_empty_lane_interrupts_nobody() -> None:
    street = Street()
    await street.drive("a", "interrupt")
    assert (street.interrupted, street.inside) == (0, ["a"])


async def test_the_newest_of_several_interrupting_turns_goes_first() -> None:
    street = Street()
    for name in ("a", "b"):
        await street.drive(name)
    for name in ("urgent", "more urgent"):
        await street.drive(name, "interrupt")
    for name in ("a", "more urgent", "urgent", "b"):
        await street.let_out(name)
    assert street.came == ["a", "more urgent", "urgent", "b"]


async def test_cancelled_waiting_turn_leaves_the_others_in_order() -> None:
    street = Street()
    tasks = {name: await street.drive(name) for name in "abcd"}
    tasks["b"].cancel()
    await settled()
    assert tasks["b"].cancelled()
    assert street.inside == ["a"]
    for name in "acd":
        await street.let_out(name)
    assert street.came == ["a", "c", "d"]


async def test_turn_that_is_cancelled_when_it_has_just_been_called_passes_the_call_on() -> None:
    street = Street()
    tasks = {name: await street.drive(name) for name in "abc"}
    tasks["a"].cancel()
    tasks["b"].cancel()
    await settled()
    tasks["b"].cancel()
    await settled()
    assert street.inside == ["c"]


async def test_turn_that_fails_lets_the_next_one_in() -> None:
    street = Street()
    failing = await street.drive("a")
    await street.drive("b")
    failing.cancel()
    await settled()
    assert street.inside == ["b"]


@pytest.mark.parametrize("leaves", [lambda place: place.give_up(), None])
async def test_place_given_up_while_waiting_is_passed_over(
    leaves: Callable[[Place], None] | None,
) -> None:
    street = Street()
    await street.drive("a")
    place = street.lane.reserve()
    await street.drive("b")
    if leaves is None:
        street.lane.leave(place)
    else:
        leaves(place)
    assert street.inside == ["a"]
    await street.let_out("a")
    assert street.inside == ["b"]


async def test_first_place_given_up_before_it_was_entered_lets_the_next_one_in() -> None:
    street = Street()
    place = street.lane.reserve()
    await street.drive("b")
    assert street.inside == []
    place.give_up()
    place.give_up()
    await settled()
    assert street.inside == ["b"]
    await street.let_out("b")
    assert not street.lane.busy
