"""A stream run in a task of its own, in step with whoever reads it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager, suppress

import pytest
from google.adk.events import Event

from oda.agent.pump import Pump

SOON_S = 5.0


@asynccontextmanager
async def without_limit() -> AsyncGenerator[None, None]:
    yield


class Source:
    """A stream of numbered events that notes what is done to it."""

    def __init__(self, count: int, *, then: Exception | None = None) -> None:
        self.count = count
        self.then = then
        self.log: list[str] = []

    async def __call__(self) -> AsyncGenerator[Event, None]:
        try:
            for number in range(self.count):
                self.log.append(f"make {number}")
                yield Event(author=str(number))
            if self.then is not None:
                raise self.then
        finally:
            self.log.append("closed")


async def read(pump: Pump, source: Source) -> list[str]:
    async with (
        asyncio.timeout(SOON_S),
        aclosing(pump.events(source, within=without_limit())) as all_,
    ):
        return [event.author async for event in all_]


async def test_all_events_are_read_in_order() -> None:
    source = Source(3)
    assert await read(Pump(), source) == ["0", "1", "2"]
    assert source.log == ["make 0", "make 1", "make 2", "closed"]


async def test_next_event_is_made_when_the_one_before_was_taken() -> None:
    source = Source(3)
    async with aclosing(Pump().events(source, within=without_limit())) as events:
        async for event in events:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert source.log[-1] == f"make {event.author}"


async def test_error_of_the_source_reaches_the_reader_after_its_events() -> None:
    source = Source(2, then=KeyError("x"))
    seen = []
    with pytest.raises(KeyError):
        async with aclosing(Pump().events(source, within=without_limit())) as events:
            async for event in events:
                seen.append(event.author)
    assert seen == ["0", "1"]


async def test_stopped_stream_just_ends() -> None:
    pump, source = Pump(), Source(3)
    seen = []
    async with aclosing(pump.events(source, within=without_limit())) as events:
        async for event in events:
            seen.append(event.author)
            pump.stop()
    assert seen == ["0"]
    assert source.log == ["make 0", "closed"]


async def test_reader_that_leaves_closes_the_source_and_leaves_no_task() -> None:
    source = Source(3)
    before = asyncio.all_tasks()
    async with aclosing(Pump().events(source, within=without_limit())) as events:
        async for _ in events:
            break
    assert source.log == ["make 0", "closed"]
    assert asyncio.all_tasks() == before


async def test_source_that_fails_while_it_is_closed_is_not_reported_as_forgotten() -> None:
    forgotten: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: forgotten.append(context))

    async def stubborn() -> AsyncGenerator[Event, None]:
        try:
            yield Event(author="0")
        finally:
            raise RuntimeError("cannot clean up")

    async with aclosing(Pump().events(stubborn, within=without_limit())) as events:
        async for _ in events:
            break
    await asyncio.sleep(0)
    assert forgotten == []


async def test_time_limit_holds_while_the_reader_is_slow() -> None:
    source = Source(2)
    limit = asyncio.timeout(0.02)
    with pytest.raises(TimeoutError):
        async with aclosing(Pump().events(source, within=limit)) as events:  # type: ignore[arg-type]
            async for _ in events:
                await asyncio.sleep(0.1)
    assert source.log == ["make 0", "closed"]


async def test_work_is_awaited() -> None:
    done: list[str] = []

    async def work() -> None:
        await asyncio.sleep(0)
        done.append("work")

    await asyncio.wait_for(Pump().run(work), SOON_S)
    assert done == ["work"]


async def test_stopped_work_returns_early() -> None:
    pump = Pump()
    begun = asyncio.Event()

    async def work() -> None:
        begun.set()
        await asyncio.Event().wait()

    running = asyncio.create_task(pump.run(work))
    await asyncio.wait_for(begun.wait(), SOON_S)
    pump.stop()
    await asyncio.wait_for(running, SOON_S)


async def test_cancelled_reader_stops_the_work_and_is_cancelled() -> None:
    stopped = asyncio.Event()
    begun = asyncio.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    running = asyncio.create_task(Pump().run(work))
    await asyncio.wait_for(begun.wait(), SOON_S)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert stopped.is_set()


async def test_stopping_an_idle_pump_is_harmless() -> None:
    pump = Pump()
    pump.stop()
    assert await read(pump, Source(1)) == ["0"]
    pump.stop()


async def test_a_source_that_swallows_its_cancellation_ends_all_the_same() -> None:
    begun = asyncio.Event()

    async def stubborn() -> AsyncGenerator[Event, None]:
        with suppress(asyncio.CancelledError):
            begun.set()
            await asyncio.Event().wait()
        yield Event(author="too late")

    pump = Pump()
    seen: list[Event] = []

    async def read() -> None:
        async for event in pump.events(stubborn, within=without_limit()):
            seen.append(event)

    stopped = asyncio.create_task(read())
    await begun.wait()
    pump.stop()
    await asyncio.wait_for(stopped, 5)
    begun.clear()
    left = asyncio.create_task(read())
    await begun.wait()
    left.cancel()
    await asyncio.wait({left}, timeout=5)
    assert left.cancelled()
    assert seen == []
