"""One turn at a time in a session, in the order in which they came."""

import asyncio

import pytest

from oda.errors import OverloadedError, SessionBusyError
from oda.session.lane import Lane, OnBusy, Place

SOON_S = 5.0


class Traffic:
    """A lane, and what happens in it."""

    def __init__(self, *, max_queued: int = 10) -> None:
        self.log: list[str] = []
        self.interrupted = 0
        self.lane = Lane(max_queued=max_queued, interrupt=self._interrupt)
        self._gates: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def _interrupt(self) -> None:
        self.interrupted += 1

    async def arrive(self, name: str, on_busy: OnBusy = "queue") -> None:
        """Reserve a place and drive on until told to leave."""
        await self._arrive(name, self.lane.reserve(on_busy))

    async def arrive_again(self, name: str) -> None:
        """As `arrive`, for one that was accepted before."""
        await self._arrive(name, self.lane.reserve_again())

    async def _arrive(self, name: str, place: Place) -> None:
        self._gates[name] = asyncio.Event()
        self._tasks[name] = asyncio.create_task(self._drive(name, place))
        await asyncio.sleep(0)

    async def leave(self, name: str) -> None:
        self._gates[name].set()
        await asyncio.wait_for(self._tasks[name], SOON_S)
        await asyncio.sleep(0)

    async def break_down(self, name: str) -> None:
        self._tasks[name].cancel()
        await asyncio.wait({self._tasks[name]}, timeout=SOON_S)
        await asyncio.sleep(0)

    async def _drive(self, name: str, place: Place) -> None:
        async with place:
            self.log.append(f"{name} in")
            await self._gates[name].wait()
            self.log.append(f"{name} out")


async def test_first_drives_at_once_and_others_in_order_of_arrival() -> None:
    traffic = Traffic()
    for name in "abc":
        await traffic.arrive(name)
    assert traffic.log == ["a in"]
    for name in "abc":
        await traffic.leave(name)
    assert traffic.log == ["a in", "a out", "b in", "b out", "c in", "c out"]
    assert not traffic.lane.busy


async def test_place_is_taken_when_reserved_and_not_when_entered() -> None:
    lane = Lane(max_queued=10, interrupt=lambda: None)
    late, early = lane.reserve(), lane.reserve()
    entered: list[str] = []

    async def enter(name: str, place: Place) -> None:
        async with place:
            entered.append(name)

    async with asyncio.timeout(SOON_S), asyncio.TaskGroup() as tasks:
        tasks.create_task(enter("second", early))
        await asyncio.sleep(0)
        tasks.create_task(enter("first", late))
    assert entered == ["first", "second"]


async def test_rejecting_reservation_is_refused_while_the_lane_is_held() -> None:
    traffic = Traffic()
    await traffic.arrive("a", "reject")
    with pytest.raises(SessionBusyError):
        traffic.lane.reserve("reject")
    await traffic.leave("a")
    await traffic.arrive("b", "reject")
    assert traffic.log == ["a in", "a out", "b in"]
    await traffic.leave("b")


async def test_interrupting_reservation_stops_who_drives_and_goes_before_who_waits() -> None:
    traffic = Traffic()
    await traffic.arrive("a")
    await traffic.arrive("b")
    await traffic.arrive("c", "interrupt")
    assert traffic.interrupted == 1
    for name in "acb":
        await traffic.leave(name)
    assert [line for line in traffic.log if line.endswith("in")] == ["a in", "c in", "b in"]


async def test_several_interrupting_turns_keep_their_order_before_who_waits() -> None:
    traffic = Traffic()
    await traffic.arrive("a")
    await traffic.arrive("b")
    for name in "cde":
        await traffic.arrive(name, "interrupt")
    await traffic.arrive("f")
    for name in "acdebf":
        await traffic.leave(name)
    assert [line[0] for line in traffic.log if line.endswith("in")] == list("acdebf")


async def test_who_was_accepted_before_is_never_refused_and_stands_at_the_end() -> None:
    traffic = Traffic(max_queued=2)
    for name in "ab":
        await traffic.arrive(name)
    for name in "cd":
        await traffic.arrive_again(name)
    with pytest.raises(OverloadedError):
        traffic.lane.reserve()
    await traffic.leave("a")
    await traffic.leave("b")
    await traffic.arrive("e", "interrupt")
    assert traffic.interrupted == 1
    for name in "ced":
        await traffic.leave(name)
    assert [line[0] for line in traffic.log if line.endswith("in")] == list("abced")
    assert not traffic.lane.busy


async def test_place_knows_whether_somebody_stands_before_it() -> None:
    lane = Lane(max_queued=10, interrupt=lambda: None)
    first, second = lane.reserve(), lane.reserve_again()
    assert (first.first, second.first) == (True, False)
    first.give_up()
    assert (first.first, second.first) == (False, True)
    second.give_up()


async def test_interrupting_an_empty_lane_interrupts_nobody() -> None:
    traffic = Traffic()
    await traffic.arrive("a", "interrupt")
    assert traffic.interrupted == 0
    assert traffic.log == ["a in"]
    await traffic.leave("a")


async def test_lane_takes_no_more_than_its_bound() -> None:
    traffic = Traffic(max_queued=2)
    for name in "abc":
        await traffic.arrive(name)
    with pytest.raises(OverloadedError) as refused:
        traffic.lane.reserve()
    assert refused.value.retry_after_s > 0
    await traffic.leave("a")
    await traffic.arrive("d")
    for name in "bcd":
        await traffic.leave(name)


async def test_who_gives_up_waiting_does_not_hold_up_the_others() -> None:
    traffic = Traffic()
    for name in "abc":
        await traffic.arrive(name)
    await traffic.break_down("b")
    await traffic.leave("a")
    assert traffic.log[-1] == "c in"
    await traffic.leave("c")
    assert not traffic.lane.busy


async def test_who_breaks_down_driving_makes_way() -> None:
    traffic = Traffic()
    await traffic.arrive("a")
    await traffic.arrive("b")
    await traffic.break_down("a")
    assert traffic.log == ["a in", "b in"]
    await traffic.leave("b")


async def test_who_breaks_down_just_when_its_turn_has_come_makes_way() -> None:
    lane = Lane(max_queued=10, interrupt=lambda: None)
    first, second, third = lane.reserve(), lane.reserve(), lane.reserve()
    entered: list[str] = []

    async def enter(name: str, place: Place) -> None:
        async with place:
            entered.append(name)

    waiting = asyncio.create_task(enter("second", second))
    last = asyncio.create_task(enter("third", third))
    await asyncio.sleep(0)
    first.give_up()
    waiting.cancel()
    await asyncio.wait_for(last, SOON_S)
    assert entered == ["third"]
    assert not lane.busy


async def test_reserved_place_can_be_given_up() -> None:
    lane = Lane(max_queued=10, interrupt=lambda: None)
    place = lane.reserve()
    assert lane.busy
    place.give_up()
    place.give_up()
    assert not lane.busy


async def test_a_turn_that_has_not_begun_learns_that_it_was_interrupted() -> None:
    stopped: list[str] = []
    lane = Lane(max_queued=10, interrupt=lambda: stopped.append("running"))
    first = lane.reserve()
    second = lane.reserve("interrupt")
    assert first.interrupted
    assert stopped == []
    async with first:
        third = lane.reserve("interrupt")
        assert stopped == ["running"]
    assert not second.interrupted
    third.give_up()
