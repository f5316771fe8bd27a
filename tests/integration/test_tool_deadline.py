"""A tool call that takes longer than its limit is cut off, and the turn goes on without it."""

import asyncio
import time
from typing import Any

from oda.agent.outcome import outcome_of
from oda.agent.resume import open_calls
from oda.testing.script import Call, Text, ToolCalls
from oda.tools.idempotency import idempotent
from oda.tools.limits import ToolLimits
from tests.support.roots import Kind, every_kind
from tests.support.stage import stage

SHORT = ToolLimits(timeout_s=0.05)
ANSWER = Text(text="I do not know whether it worked.")


def call(name: str) -> ToolCalls:
    return ToolCalls(calls=(Call(name=name, id=f"c-{name}"),))


def responses(events: list[Any]) -> list[Any]:
    return [r.response for event in events for r in event.get_function_responses()]


@every_kind
async def test_the_model_is_told_and_answers(kind: Kind) -> None:
    async def hang() -> None:
        """Hang."""
        await asyncio.Event().wait()

    scene = await stage(kind, [call("hang"), ANSWER], tools=[hang], tool_limits=SHORT)
    events = await scene.ask()
    assert outcome_of(events).status == "succeeded"
    assert [event.error_code for event in events if event.error_code] == ["RETRY_ATTEMPT"]
    stored = await scene.stored()
    assert [r["status"] for r in responses(stored) if "status" in r] == ["outcome_unknown"]
    assert not open_calls(stored)


@every_kind
async def test_an_idempotent_tool_is_called_again(kind: Kind) -> None:
    made: list[int] = []

    @idempotent
    async def book() -> str:
        """Book."""
        made.append(1)
        if len(made) == 1:
            await asyncio.Event().wait()
        return "booked"

    scene = await stage(kind, [call("book"), ANSWER], tools=[book], tool_limits=SHORT)
    assert outcome_of(await scene.ask()).status == "succeeded"
    assert len(made) == 2


@every_kind
async def test_a_tool_that_blocks_its_thread_holds_up_nobody(kind: Kind) -> None:
    def block() -> None:
        """Block."""
        time.sleep(0.3)

    scene = await stage(kind, [call("block"), ANSWER], tools=[block], tool_limits=SHORT)
    assert outcome_of(await scene.ask()).status == "succeeded"


@every_kind
async def test_quick_tools_are_left_alone(kind: Kind) -> None:
    async def quick() -> str:
        """Be quick."""
        return "done"

    patient = ToolLimits(timeout_s=60)
    scene = await stage(kind, [call("quick"), ANSWER], tools=[quick], tool_limits=patient)
    events = await scene.ask()
    assert outcome_of(events).status == "succeeded"
    assert not [event for event in events if event.error_code]
