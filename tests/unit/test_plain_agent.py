"""Every form of plain Python as an agent."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from functools import partial
from typing import Any

import pytest

from oda.adapter import AgentAction, AgentInput, AgentMessage, AgentOutput, PlainAgent

STATE = object()
HI = AgentInput(content="hi")


def plain(input: AgentInput) -> str:
    """Greets."""
    return f"plain {input.content}"


async def in_the_loop(input: AgentInput, state: object) -> str:
    await asyncio.sleep(0)
    return f"async {input.content} {state is STATE}"


def with_a_default(input: AgentInput, times: int = 2) -> str:
    return input.content * times


def generator(input: AgentInput) -> Generator[object, None, str]:
    yield "first"
    yield AgentMessage(content="second", kind="progress")
    return input.content.upper()


async def async_generator(input: AgentInput) -> AsyncIterator[object]:
    yield "first"
    yield AgentOutput(action=AgentAction.HANDOFF, next_agent="other", content="done")


class Called:
    def __call__(self, input: AgentInput, state: object) -> str:
        return f"called {state is STATE}"


class Editor:
    """With a method that yields what it does and returns what it made."""

    def execute(self, input: AgentInput) -> Generator[str, None, list[str]]:
        yield "edited"
        return [input.content]


async def run(agent: PlainAgent, input: AgentInput = HI) -> tuple[list[str], AgentOutput]:
    items = [item async for item in agent.stream(input, STATE)]
    assert isinstance(items[-1], AgentOutput)
    return [item.content for item in items[:-1] if isinstance(item, AgentMessage)], items[-1]


@pytest.mark.parametrize(
    ("form", "streams", "said", "content"),
    [
        (plain, False, [], "plain hi"),
        (in_the_loop, False, [], "async hi True"),
        (with_a_default, False, [], "hihi"),
        (partial(with_a_default, times=3), False, [], "hihihi"),
        (lambda input: in_the_loop(input, STATE), False, [], "async hi True"),
        (generator, True, ["first", "second"], "HI"),
        (partial(generator), True, ["first", "second"], "HI"),
        (lambda input: generator(input), False, ["first", "second"], "HI"),
        (async_generator, True, ["first"], "done"),
        (Called(), False, [], "called True"),
        (Called, False, [], "called True"),
        (Editor().execute, True, ["edited"], ["hi"]),
    ],
)
async def test_a_form_of_agent(
    form: Callable[..., Any], streams: bool, said: list[str], content: object
) -> None:
    agent = PlainAgent(form)
    assert agent.streams == streams
    messages, output = await run(agent)
    assert (messages, output.content) == (said, content)
    assert [message.content for message in output.messages] == said
    assert (await agent.invoke(HI, STATE)).content == content


async def test_an_output_is_passed_on_and_other_values_finish() -> None:
    _, output = await run(PlainAgent(async_generator))
    assert (output.action, output.next_agent) == (AgentAction.HANDOFF, "other")
    assert (await run(PlainAgent(plain)))[1].action is AgentAction.FINISH
    waits = PlainAgent(plain, then=AgentAction.WAIT_INPUT)
    assert (await run(waits))[1].action is AgentAction.WAIT_INPUT


async def test_names_come_from_the_code() -> None:
    assert (PlainAgent(plain).name, PlainAgent(plain).description) == ("plain", "Greets.")
    named = PlainAgent(plain, name="greeter", description="")
    assert (named.name, named.description) == ("greeter", "")


async def test_messages_of_a_generator_come_as_it_yields_them() -> None:
    may_go_on = threading.Event()

    def works(input: AgentInput) -> Iterator[str]:
        yield "begun"
        may_go_on.wait(10)
        yield "ended"

    stream = PlainAgent(works).stream(HI, STATE)
    first = await anext(stream)
    assert isinstance(first, AgentMessage)
    assert first.content == "begun"
    may_go_on.set()
    assert len([item async for item in stream]) == 2


async def test_sync_code_does_not_stop_the_loop() -> None:
    may_go_on = threading.Event()
    agent = PlainAgent(lambda input: may_go_on.wait(10))
    working = asyncio.create_task(agent.invoke(HI, STATE))
    await asyncio.sleep(0)
    may_go_on.set()
    assert (await working).content is True


@pytest.mark.parametrize("form", ["function", "generator"])
async def test_cancelling_waits_for_the_thread(form: str) -> None:
    begun, may_go_on, ended = asyncio.Event(), threading.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def work(input: AgentInput) -> None:
        loop.call_soon_threadsafe(begun.set)
        may_go_on.wait(10)
        ended.set()

    def step(input: AgentInput) -> Iterator[str]:
        work(input)
        yield "too late"

    agent = PlainAgent(work if form == "function" else step)
    working = asyncio.create_task(agent.invoke(HI, STATE))
    await begun.wait()
    working.cancel()
    await asyncio.sleep(0)
    assert not working.done()
    may_go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert ended.is_set()


async def test_closing_a_stream_closes_the_generator() -> None:
    closed = threading.Event()

    def works(input: AgentInput) -> Iterator[str]:
        try:
            yield "begun"
            yield "more"
        finally:
            closed.set()

    stream = PlainAgent(works).stream(HI, STATE)
    await anext(stream)
    await stream.aclose()
    assert closed.is_set()


def ends_too_early(input: AgentInput) -> Any:
    return next(iter([]))


def breaks(input: AgentInput) -> Iterator[str]:
    yield "first"
    raise ConnectionError("broken")


async def breaks_in_the_loop(input: AgentInput) -> str:
    raise ConnectionError("broken")


@pytest.mark.parametrize(
    ("form", "error"),
    [
        (ends_too_early, RuntimeError),
        (breaks, ConnectionError),
        (breaks_in_the_loop, ConnectionError),
    ],
)
async def test_a_failure_is_raised(form: Callable[..., Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        await PlainAgent(form).invoke(HI, STATE)


class Counter:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self, input: AgentInput) -> int:
        self.count += 1
        return self.count


class Stored(Counter):
    def export_state(self) -> dict[str, Any]:
        return {"count": self.count}

    def load_state(self, state: Any) -> None:
        self.count = state["count"]


async def test_an_object_of_a_class_is_made_anew_by_a_reset() -> None:
    agent = PlainAgent(Stored)
    await agent.invoke(HI, STATE)
    state = agent.export_state()
    agent.load_state({})
    assert (await agent.invoke(HI, STATE)).content == 1
    agent.load_state({"count": 7})
    assert (await agent.invoke(HI, STATE)).content == 8
    assert state == {"count": 1}


async def test_a_given_object_forgets_by_its_own_reset() -> None:
    class Resets(Stored):
        def reset(self) -> None:
            self.count = 100

    agent = PlainAgent(Resets())
    agent.reset()
    assert (await agent.invoke(HI, STATE)).content == 101


async def test_what_remembers_nothing_has_no_state() -> None:
    agent = PlainAgent(Counter())
    await agent.invoke(HI, STATE)
    assert agent.export_state() == {}
    agent.load_state({})
    assert (await agent.invoke(HI, STATE)).content == 2


async def test_the_state_may_be_that_of_another_object() -> None:
    memory = Stored()
    agent = PlainAgent(plain, memory=memory)
    agent.load_state({"count": 3})
    assert (memory.count, agent.export_state()) == (3, {"count": 3})
