"""The drop-in Runner: what `adk web` and others call goes through the same retry and resume."""

import asyncio
from typing import Any

import pytest
from google.adk.events import Event
from google.adk.runners import Runner as AdkRunner
from google.genai.types import Content, Part

from oda.agent.retry import RetryPolicy
from oda.agent.runner import Runner
from oda.testing.script import Call, Error, Text, ToolCalls
from tests.support.roots import LLM, Kind, every_kind
from tests.support.stage import Stage, stage
from tests.support.transcript import transcript, unpaired_calls

DOWN = Error(status=503)
WORK = ToolCalls(calls=(Call(name="work", args={"step": "a"}, id="c-a"),))
RETRY_1 = "system! RETRY_ATTEMPT: Retry attempt 1/3 for agent execution"


def message(text: str) -> Content:
    return Content(role="user", parts=[Part(text=text)])


def is_work(event: Event) -> bool:
    return "work" in [call.name for call in event.get_function_calls()]


def drop_in(play: Stage) -> Runner:
    adk = play.agent.runner
    runner = Runner(app=adk.app, session_service=adk.session_service)
    runner.clock = play.clock
    return runner


async def run(play: Stage, runner: AdkRunner, **arguments: Any) -> list[Event]:
    events = runner.run_async(
        user_id=play.agent.user_id, session_id=play.agent.session_id, **arguments
    )
    async with asyncio.timeout(20):
        return [event async for event in events]


@every_kind
async def test_runner_retries_and_goes_on_as_an_agent_does(kind: Kind) -> None:
    play = await stage(kind, [WORK, DOWN, Text(text="answer")])
    events = await run(play, drop_in(play), new_message=message("hello"))
    assert transcript(events) == [
        *kind.before,
        "worker: work(step='a')",
        "worker: work -> {'done': 'a'}",
        RETRY_1,
        "worker: answer",
        *kind.after,
    ]
    assert play.clock.sleeps == (1.0,)
    assert play.cast.effects == [*kind.effects_before, "a"]


@every_kind
async def test_runner_goes_on_with_a_turn_by_its_id(kind: Kind) -> None:
    calm = await stage(kind, [WORK, Text(text="answer")])
    await calm.ask()
    whole = await calm.stored()
    called = next(i for i, event in enumerate(whole, 1) if is_work(event))
    played = sum(event.author == "worker" and bool(event.content) for event in whole[:called])
    play = await stage(kind, [WORK, Text(text="answer")], history=whole[:called], played=played)
    events = await run(play, drop_in(play), invocation_id=whole[0].invocation_id)
    sealed, *after = transcript(events)
    assert "Outcome unknown" in sealed
    assert after == ["worker: answer", *kind.after]


async def test_runner_follows_the_policy_that_is_set_on_it() -> None:
    play = await stage(LLM, [DOWN, DOWN])
    runner = drop_in(play)
    runner.retry_policy = RetryPolicy(max_retries=1, initial_delay_s=5.0)
    events = await run(play, runner, new_message=message("hello"))
    assert transcript(events)[-1] == "system! MAX_RETRIES_EXCEEDED"
    assert play.clock.sleeps == (5.0,)


async def test_runner_closes_calls_that_another_process_has_left_open() -> None:
    calm = await stage(LLM, [WORK, Text(text="answer")])
    await calm.ask()
    play = await stage(LLM, [Text(text="answer")], history=(await calm.stored())[:2])
    await run(play, drop_in(play), new_message=message("again"))
    assert unpaired_calls(play.model.requests[0]) == []
    assert "Outcome unknown" in str(play.model.requests[0].contents)


async def test_runner_needs_a_message_or_the_id_of_a_turn() -> None:
    play = await stage(LLM)
    with pytest.raises(ValueError, match="new_message or an invocation_id"):
        await run(play, drop_in(play))
