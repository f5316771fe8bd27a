"""Rule 8: the state of an agent, cancelling in each of them, and calls that it does not allow."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

import pytest
from google.adk.events import Event
from google.genai.types import Content, Part

from oda.agent.outcome import outcome_of
from oda.agent.runner import Runner
from oda.errors import AgentStateError, InvalidRequestError, SessionBusyError
from oda.testing import FakeClock
from oda.testing.script import Call, Error, Hang, Text, ToolCalls
from tests.support.roots import LLM, Kind, every_kind
from tests.support.stage import Stage, stage
from tests.support.transcript import transcript, unpaired_calls

DOWN = Error(status=503)
ANSWER = Text(text="answer")
CANCELLED = "system! CANCELLED"
SOON_S = 20.0


class StandingClock(FakeClock):
    """Time stands still: whoever sleeps on it sleeps until cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.somebody_sleeps = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.somebody_sleeps.set()
        await asyncio.Event().wait()


class Slow:
    """A tool that tells when it has begun and never ends, but when it is stopped."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.stopped = asyncio.Event()
        self.may_stop = asyncio.Event()
        self.may_stop.set()

    async def linger(self) -> str:
        """Take for ever."""
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped.set()
            await self.may_stop.wait()
        return "never"


LINGER = ToolCalls(calls=(Call(name="linger", id="c-linger"),))


async def until(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(SOON_S):
        while not happened():  # noqa: ASYNC110 - what is waited for is in code under test
            await asyncio.sleep(0.001)


async def assert_usable(play: Stage) -> None:
    assert play.agent.is_ready()
    play.model.add(Text(text="answer", times=None))
    assert outcome_of(await play.ask("again")).status == "succeeded"
    for model in play.cast.models.values():
        assert [call for request in model.requests for call in unpaired_calls(request)] == []


# --- states


async def test_rule_8_agent_goes_through_its_states_in_order() -> None:
    play = await stage(LLM, [DOWN, ANSWER, Error(status=401)])
    agent = play.agent
    seen: list[tuple[str, str]] = []

    async def watch(message: str) -> None:
        async for event in agent.run_async(message):
            seen.append((transcript([event])[0].split(":")[0], agent.status))

    assert agent.status == "ready"
    await watch("hello")
    await watch("again")
    assert seen == [
        ("system! RETRY_ATTEMPT", "retrying"),
        ("worker", "running"),
        ("system! NON_RETRYABLE_ERROR", "failed"),
    ]
    assert agent.status == "ready"
    await agent.cleanup()
    assert agent.get_agent_info()["status"] == "closed"


async def test_rule_8_agent_that_closes_is_closing_until_its_turn_has_ended() -> None:
    slow = Slow()
    slow.may_stop.clear()
    play = await stage(LLM, [LINGER], tools=[slow.linger])
    turn = asyncio.create_task(play.ask())
    await asyncio.wait_for(slow.begun.wait(), SOON_S)
    closing = asyncio.create_task(play.agent.cleanup())
    await asyncio.wait_for(slow.stopped.wait(), SOON_S)
    assert play.agent.status == "closing"
    with pytest.raises(AgentStateError):
        await play.ask("again")
    slow.may_stop.set()
    assert transcript(await turn)[-1] == CANCELLED
    await asyncio.wait_for(closing, SOON_S)
    assert play.agent.get_agent_info()["status"] == "closed"


async def test_rule_8_info_says_what_the_agent_is_and_does() -> None:
    play = await stage(LLM, [DOWN, ANSWER, Error(status=401)], max_retries=5)
    info = play.agent.get_agent_info()
    assert info == {
        "app_name": "stage",
        "user_id": "user",
        "session_id": play.agent.session_id,
        "agent_name": "worker",
        "status": "ready",
        "max_retries": 5,
        "retry_count": 0,
        "invocation_id": None,
        "last_error": None,
    }
    await play.ask(invocation_id="turn-1")
    info = play.agent.get_agent_info()
    assert (info["retry_count"], info["invocation_id"], info["last_error"]) == (1, "turn-1", None)
    await play.ask(invocation_id="turn-2")
    info = play.agent.get_agent_info()
    assert (info["retry_count"], info["invocation_id"]) == (0, "turn-2")
    assert info["last_error"]
    play.agent.reset()
    info = play.agent.get_agent_info()
    assert (info["retry_count"], info["invocation_id"], info["last_error"]) == (0, None, None)


# --- cancel


@every_kind
async def test_rule_8_cancel_while_a_model_hangs(kind: Kind) -> None:
    play = await stage(kind, [Hang()])
    turn = asyncio.create_task(play.ask())
    await until(lambda: not play.model.remaining and play.model.requests != ())
    assert await asyncio.wait_for(play.agent.cancel(), SOON_S) is True
    events = await turn
    assert transcript(events)[-1] == CANCELLED
    assert outcome_of(events).status == "cancelled"
    await assert_usable(play)


@every_kind
async def test_rule_8_cancel_while_a_tool_runs_tells_the_model_later(kind: Kind) -> None:
    slow = Slow()
    play = await stage(kind, [LINGER], tools=[slow.linger])
    turn = asyncio.create_task(play.ask())
    await asyncio.wait_for(slow.begun.wait(), SOON_S)
    assert await asyncio.wait_for(play.agent.cancel(), SOON_S) is True
    assert slow.stopped.is_set()
    assert transcript(await turn)[-2:] == ["worker: linger()", CANCELLED]
    told = (await play.history())[-1]
    assert told.startswith("worker: linger -> {'error': 'The call was cancelled")
    assert "'status': 'cancelled'" in told
    await assert_usable(play)


@every_kind
async def test_rule_8_cancel_while_waiting_to_retry(kind: Kind) -> None:
    clock = StandingClock()
    play = await stage(kind, [DOWN], clock=clock)
    turn = asyncio.create_task(play.ask())
    await asyncio.wait_for(clock.somebody_sleeps.wait(), SOON_S)
    assert play.agent.status == "retrying"
    assert await asyncio.wait_for(play.agent.cancel(), SOON_S) is True
    assert [line.split(":")[0] for line in transcript(await turn)][-2:] == [
        "system! RETRY_ATTEMPT",
        CANCELLED,
    ]
    await assert_usable(play)


async def test_rule_8_cancel_while_the_client_reads_the_retry_notice() -> None:
    play = await stage(LLM, [DOWN], clock=StandingClock())
    seen: list[str] = []
    async with asyncio.timeout(SOON_S), aclosing(play.agent.run_async("hello")) as events:
        async for event in events:
            seen += transcript([event])
            if event.error_code == "RETRY_ATTEMPT":
                play.agent.cancel()
    assert seen[-1] == CANCELLED


@every_kind
async def test_rule_8_cancel_at_any_event_ends_the_turn_with_the_next(kind: Kind) -> None:
    whole = len(await (await stage(kind, [ANSWER])).ask())
    for point in range(1, whole):
        play = await stage(kind, [ANSWER])
        events: list[Event] = []
        async with asyncio.timeout(SOON_S), aclosing(play.agent.run_async("hello")) as turn:
            async for event in turn:
                events.append(event)
                if len(events) == point:
                    play.agent.cancel()
        assert [event.error_code for event in events[point:]] == ["CANCELLED"]
        await assert_usable(play)


async def test_rule_8_cancel_before_the_turn_has_begun() -> None:
    play = await stage(LLM, [ANSWER])
    events = play.agent.run_async("hello")
    assert not play.agent.cancel()
    turn = asyncio.create_task(anext(events))
    await asyncio.sleep(0)
    assert await asyncio.wait_for(_drain(play, turn, events), SOON_S) == [CANCELLED]


async def _drain(play: Stage, first: "asyncio.Task[Event]", events: Any) -> list[str]:
    play.agent.cancel()
    return transcript([await first, *[event async for event in events]])


async def test_rule_8_cancel_when_idle_is_harmless() -> None:
    play = await stage(LLM, [ANSWER])
    receipt = play.agent.cancel()
    assert not receipt
    assert await receipt is False
    assert transcript(await play.ask()) == ["worker: answer"]
    assert not play.agent.cancel()


async def test_rule_8_cancel_twice_is_as_good_as_once() -> None:
    play = await stage(LLM, [Hang()])
    turn = asyncio.create_task(play.ask())
    await until(lambda: play.model.requests != ())
    first, second = play.agent.cancel(), play.agent.cancel()
    assert await asyncio.wait_for(first, SOON_S) is True
    assert await asyncio.wait_for(second, SOON_S) is True
    assert transcript(await turn) == [CANCELLED]


async def test_rule_8_cancel_through_the_drop_in_runners_abort_signal() -> None:
    play = await stage(LLM, [Hang()])
    adk = play.agent.runner
    runner = Runner(app=adk.app, session_service=adk.session_service)
    signal = asyncio.Event()
    message = Content(role="user", parts=[Part(text="hello")])

    async def run() -> list[Event]:
        return [
            event
            async for event in runner.run_async(
                user_id=play.agent.user_id,
                session_id=play.agent.session_id,
                new_message=message,
                abort_signal=signal,
            )
        ]

    turn = asyncio.create_task(run())
    await until(lambda: play.model.requests != ())
    signal.set()
    assert transcript(await asyncio.wait_for(turn, SOON_S)) == [CANCELLED]


# --- readers that leave


@every_kind
async def test_rule_8_reader_that_leaves_stops_the_turn_and_the_session_is_usable(
    kind: Kind,
) -> None:
    slow = Slow()
    play = await stage(kind, [LINGER], tools=[slow.linger])
    async with asyncio.timeout(SOON_S), aclosing(play.agent.run_async("hello")) as events:
        async for event in events:
            if event.get_function_calls() and event.author == "worker":
                break
    await assert_usable(play)


async def test_rule_8_reader_that_leaves_without_closing_can_wait_for_the_end() -> None:
    play = await stage(LLM, [LINGER], tools=[Slow().linger])
    async for _ in play.agent.run_async("hello"):
        break
    await asyncio.wait_for(play.agent.cancel(), SOON_S)
    await assert_usable(play)


@every_kind
async def test_rule_8_cancelled_reader_gets_its_cancellation_and_nothing_keeps_running(
    kind: Kind,
) -> None:
    slow = Slow()
    play = await stage(kind, [LINGER], tools=[slow.linger])
    before = asyncio.all_tasks()
    turn = asyncio.create_task(play.ask())
    await asyncio.wait_for(slow.begun.wait(), SOON_S)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(turn, SOON_S)
    assert slow.stopped.is_set()
    assert asyncio.all_tasks() == before
    await assert_usable(play)


# --- misuse


async def test_rule_8_second_message_while_busy_is_refused() -> None:
    play = await stage(LLM, [Hang()])
    turn = asyncio.create_task(play.ask())
    await until(lambda: play.model.requests != ())
    for misuse in (play.ask("again"), play.resume("turn-1")):
        with pytest.raises(SessionBusyError):
            await misuse
    with pytest.raises(SessionBusyError):
        play.agent.reset()
    await play.agent.cancel()
    await turn
    await assert_usable(play)


@pytest.mark.parametrize("message", ["", "   ", "\n"])
async def test_rule_8_empty_message_is_refused(message: str) -> None:
    play = await stage(LLM)
    with pytest.raises(InvalidRequestError):
        await play.ask(message)
    assert play.agent.is_ready()
    assert await play.stored() == []


async def test_rule_8_closed_agent_refuses_everything_but_closing() -> None:
    closed: list[str] = []

    async def note() -> None:
        closed.append("once")

    play = await stage(LLM, on_cleanup=note)
    await play.agent.cleanup()
    await play.agent.cleanup()
    assert closed == ["once"]
    for misuse in (play.ask(), play.resume("turn-1")):
        with pytest.raises(AgentStateError):
            await misuse
    with pytest.raises(AgentStateError):
        play.agent.reset()
    assert not play.agent.cancel()
    assert not play.agent.is_ready()


# --- the face for callers without an event loop


async def in_thread(work: Callable[[], Any]) -> Any:
    return await asyncio.wait_for(asyncio.to_thread(work), SOON_S)


def test_rule_8_run_works_in_a_plain_thread() -> None:
    play = asyncio.run(stage(LLM, [DOWN, ANSWER]))
    assert [line.split(":")[0] for line in transcript(play.agent.run("hello"))] == [
        "system! RETRY_ATTEMPT",
        "worker",
    ]
    assert transcript(play.agent.run("again")) == ["worker: answer"]


async def test_rule_8_run_in_a_thread_works_on_the_loop_that_the_agent_was_made_on() -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    async def look() -> str:
        """Look around."""
        loops.append(asyncio.get_running_loop())
        return "seen"

    looking = ToolCalls(calls=(Call(name="look", id="c-look"),))
    play = await stage(LLM, [looking, ANSWER], tools=[look])
    events = await in_thread(lambda: list(play.agent.run("hello")))
    assert transcript(events)[-1] == "worker: answer"
    assert loops == [asyncio.get_running_loop()]
    assert play.agent.is_ready()


async def test_rule_8_run_raises_misuse_in_the_callers_thread() -> None:
    play = await stage(LLM)
    with pytest.raises(InvalidRequestError):
        await in_thread(lambda: list(play.agent.run("")))


async def test_rule_8_run_that_is_left_early_stops_the_turn() -> None:
    slow = Slow()
    play = await stage(LLM, [LINGER], tools=[slow.linger])

    def take_one() -> str:
        events = play.agent.run("hello")
        first = transcript([next(iter(events))])[0]
        with contextlib.suppress(AttributeError):
            events.close()  # type: ignore[attr-defined]
        return first

    assert await in_thread(take_one) == "worker: linger()"
    await until(play.agent.is_ready)
    await assert_usable(play)


async def test_rule_8_run_can_be_cancelled_from_the_loop() -> None:
    slow = Slow()
    play = await stage(LLM, [LINGER], tools=[slow.linger])
    reading: Awaitable[Any] = asyncio.create_task(
        asyncio.to_thread(lambda: transcript(play.agent.run("hello")))
    )
    await asyncio.wait_for(slow.begun.wait(), SOON_S)
    play.agent.cancel()
    assert (await asyncio.wait_for(reading, SOON_S))[-1] == CANCELLED
