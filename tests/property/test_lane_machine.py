"""Whatever comes and goes in a lane: one at a time, in order, and nobody is forgotten."""

import asyncio
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from oda.errors import OverloadedError, SessionBusyError
from oda.session.lane import Lane, OnBusy, Place

MAX_QUEUED = 4


@dataclass(eq=False)
class Turn:
    """One that came to the lane."""

    place: Place
    end: asyncio.Event = field(default_factory=asyncio.Event)
    interrupts: bool = False
    inside: bool = False
    task: asyncio.Task[None] | None = None
    """None until it tries to go in."""

    async def run(self) -> None:
        async with self.place:
            self.inside = True
            try:
                await self.end.wait()
            finally:
                self.inside = False


class LaneMachine(RuleBasedStateMachine):
    """The model is a plain list: who is first in it is inside, if it wants to be."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.line: list[Turn] = []
        self.interrupts = 0
        self.expected_interrupts = 0

    @initialize()
    def open(self) -> None:
        self.lane = Lane(max_queued=MAX_QUEUED, interrupt=self._interrupted)

    def _interrupted(self) -> None:
        self.interrupts += 1

    @rule(on_busy=st.sampled_from(["queue", "reject", "interrupt"]), enters=st.booleans())
    def come(self, on_busy: OnBusy, enters: bool) -> None:
        busy, full = bool(self.line), len(self.line) > MAX_QUEUED
        try:
            turn = Turn(self.lane.reserve(on_busy))
        except SessionBusyError:
            assert busy
            assert on_busy == "reject"
            return
        except OverloadedError:
            assert full
            return
        assert not full
        assert not (busy and on_busy == "reject")
        if busy and on_busy == "interrupt":
            first = self.line[0]
            waiting = enumerate(self.line[1:], start=1)
            calm = (n for n, other in waiting if not other.interrupts)
            turn.interrupts = True
            self.line.insert(next(calm, len(self.line)), turn)
            if first.inside:
                self.expected_interrupts += 1
            else:
                assert first.place.interrupted
        else:
            self.line.append(turn)
        if enters:
            self.runner.run(self._enter(turn))

    @rule(enters=st.booleans())
    def come_again(self, enters: bool) -> None:
        """One that was accepted before is never refused."""
        turn = Turn(self.lane.reserve_again())
        self.line.append(turn)
        if enters:
            self.runner.run(self._enter(turn))

    @precondition(lambda self: any(turn.task is None for turn in self.line))
    @rule(data=st.data())
    def enter(self, data: st.DataObject) -> None:
        turns = [turn for turn in self.line if turn.task is None]
        self.runner.run(self._enter(data.draw(st.sampled_from(turns))))

    @precondition(lambda self: any(turn.task is None for turn in self.line))
    @rule(data=st.data())
    def give_up(self, data: st.DataObject) -> None:
        turn = data.draw(st.sampled_from([turn for turn in self.line if turn.task is None]))
        turn.place.give_up()
        self.line.remove(turn)
        self.runner.run(_settled())

    @precondition(lambda self: any(turn.inside for turn in self.line))
    @rule()
    def end(self) -> None:
        turn = self.line.pop(0)
        turn.end.set()
        self.runner.run(_settled())

    @precondition(lambda self: any(turn.task for turn in self.line))
    @rule(data=st.data(), with_neighbour=st.booleans())
    def cancel(self, data: st.DataObject, with_neighbour: bool) -> None:
        """Waiting or inside; perhaps two at the very same time."""
        turns = [turn for turn in self.line if turn.task]
        index = data.draw(st.integers(0, len(turns) - 1))
        for turn in turns[index : index + 1 + with_neighbour]:
            assert turn.task is not None
            turn.task.cancel()
            self.line.remove(turn)
        self.runner.run(_settled())

    @precondition(lambda self: len(self.line) > 1 and self.line[0].inside and self.line[1].task)
    @rule()
    def cancel_the_next_one_in_the_moment_it_is_called(self) -> None:
        first, second = self.line[:2]
        assert second.task is not None
        first.end.set()
        self.runner.run(self._cancel_when_called(first, second.task))
        del self.line[:2]

    async def _cancel_when_called(self, first: Turn, second: asyncio.Task[None]) -> None:
        assert first.task is not None
        async with asyncio.timeout(5):
            await first.task
        second.cancel()
        await _settled()

    async def _enter(self, turn: Turn) -> None:
        turn.task = asyncio.create_task(turn.run())
        await _settled()

    @invariant()
    def just_the_first_in_line_is_inside(self) -> None:
        inside = [turn for turn in self.line if turn.inside]
        assert inside == [turn for turn in self.line[:1] if turn.task]

    @invariant()
    def the_lane_is_busy_as_long_as_somebody_is_in_line(self) -> None:
        assert self.lane.busy == bool(self.line)
        assert [turn.place.first for turn in self.line] == [n == 0 for n in range(len(self.line))]
        assert self.interrupts == self.expected_interrupts

    def teardown(self) -> None:
        """Everybody who wants to gets in, in order."""
        while self.line:
            first = self.line[0]
            if first.task is None:
                self.runner.run(self._enter(first))
            self.just_the_first_in_line_is_inside()
            self.end()
        assert not self.lane.busy
        self.runner.close()


async def _settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


TestLane = LaneMachine.TestCase
TestLane.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
