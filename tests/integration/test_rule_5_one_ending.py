"""Rule 5: a turn ends with an answer or one escalating error event, raises nothing, and the
session stays usable."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

import pytest
from google.adk.agents.callback_context import CallbackContext
from google.adk.events import Event
from google.adk.plugins.base_plugin import BasePlugin

from oda.agent.limits import TurnLimits
from oda.agent.notices import is_final_notice
from oda.agent.outcome import outcome_of
from oda.testing.script import Call, Empty, Error, Text, ToolCalls
from tests.support.flaky_store import FlakyStore
from tests.support.roots import ANSWER, LLM, Kind, agents_of, every_kind
from tests.support.stage import STREAMED, Stage, stage
from tests.support.transcript import transcript

DOWN = Error(status=503)
WORK = ToolCalls(calls=(Call(name="work", args={"step": "a"}, id="c-a"),))
SPOKEN = Text(text=ANSWER)


def ending(events: Sequence[Event]) -> str:
    """How a turn has ended; it must have ended in one way, with its last event."""
    final = [event for event in events if is_final_notice(event)]
    assert final in ([], [events[-1]])
    assert [event.actions.escalate for event in final] == [True] * len(final)
    outcome = outcome_of(events)
    if outcome.error:
        return str(outcome.error["code"])
    assert outcome.reply
    return outcome.status


async def assert_usable(play: Stage) -> None:
    play.model.add(Text(text=ANSWER, times=None))
    assert ending(await play.ask("again")) == "succeeded"


@every_kind
@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([WORK, DOWN, SPOKEN], "succeeded"),
        ([WORK, DOWN, DOWN, DOWN, DOWN], "overloaded"),
        ([Error(status=403)], "permission_denied"),
        ([Empty()] * 4, "no_content"),
    ],
    ids=["answer", "exhausted", "refused", "silent"],
)
async def test_rule_5_turn_ends_once_with_its_last_event(
    kind: Kind, steps: Sequence[Any], expected: str
) -> None:
    play = await stage(kind, steps)
    assert ending(await play.ask()) == expected
    await assert_usable(play)


@every_kind
@pytest.mark.parametrize("where", ["before", "after"])
async def test_rule_5_callback_that_raises_fails_the_turn_and_nothing_else(
    kind: Kind, where: str
) -> None:
    failing = [True]

    def broken(callback_context: CallbackContext) -> None:
        if failing:
            raise KeyError("a typo")

    def change(app: Any) -> None:
        for agent in agents_of(app.root_agent):
            if agent.name == "worker":
                setattr(agent, f"{where}_agent_callback", broken)

    play = await stage(kind, [SPOKEN], change=change)
    assert ending(await play.ask()) == "programming_error"
    failing.clear()
    await assert_usable(play)


@every_kind
async def test_rule_5_plugin_that_raises_at_the_end_of_a_run_does_not_leak(kind: Kind) -> None:
    class Broken(BasePlugin):
        async def after_run_callback(self, **_: object) -> None:
            raise ValueError("cannot report")

    play = await stage(kind, [SPOKEN], change=lambda app: app.plugins.append(Broken(name="broken")))
    events = await play.ask()
    assert "worker: answer" in transcript(events)
    assert ending(events) == "programming_error"


@every_kind
@pytest.mark.parametrize("point", range(1, 7))
async def test_rule_5_store_that_fails_once_at_any_event_costs_a_retry_only(
    kind: Kind, point: int
) -> None:
    store = FlakyStore()
    play = await stage(kind, [WORK, SPOKEN, SPOKEN, SPOKEN], service=store)
    seen: list[Event] = []

    def nth(event: Event) -> bool:
        seen.append(event)
        return len(seen) == point

    store.matching, store.failing_appends = nth, 1
    assert ending(await play.ask()) == "succeeded"
    assert play.cast.effects.count("a") <= 1
    assert play.clock.sleeps in ((), (1.0,))


@every_kind
async def test_rule_5_store_that_is_down_ends_the_turn_as_any_failure_does(kind: Kind) -> None:
    store = FlakyStore()
    play = await stage(kind, [SPOKEN], service=store)
    store.failing_loads = store.failing_appends = 1000
    assert ending(await play.ask()) == "store_unavailable"
    store.failing_loads = store.failing_appends = 0
    await assert_usable(play)


@every_kind
async def test_rule_5_store_that_goes_down_within_the_turn_ends_it_as_well(kind: Kind) -> None:
    store = FlakyStore()

    async def unplug() -> str:
        """Pull the plug of the database."""
        store.failing_loads = store.failing_appends = 1000
        return "unplugged"

    unplugging = ToolCalls(calls=(Call(name="unplug", id="c-u"),))
    play = await stage(kind, [unplugging, SPOKEN], service=store, tools=[unplug])
    assert ending(await play.ask()) == "store_unavailable"
    store.failing_loads = store.failing_appends = 0
    await assert_usable(play)


@every_kind
async def test_rule_5_session_that_does_not_exist_is_told_and_not_raised(kind: Kind) -> None:
    play = await stage(kind, [SPOKEN])
    await play.agent.runner.session_service.delete_session(
        app_name=play.agent.app_name, user_id=play.agent.user_id, session_id=play.agent.session_id
    )
    assert ending(await play.ask()) == "session_not_found"


@every_kind
async def test_rule_5_stream_that_says_nothing_is_no_answer(kind: Kind) -> None:
    play = await stage(kind, [Empty(), SPOKEN])
    events = await play.ask(run_config=STREAMED)
    assert ending(events) == "succeeded"
    assert "worker: answer" in transcript(events)


@every_kind
async def test_rule_5_slow_reader_gets_the_end_of_a_turn_that_ran_out_of_time(kind: Kind) -> None:
    play = await stage(kind, [WORK, SPOKEN], limits=TurnLimits(timeout_s=0.2))
    seen = []
    async with asyncio.timeout(10), aclosing(play.agent.run_async("hello")) as events:
        async for event in events:
            seen.append(event)
            if len(seen) == 1:
                await asyncio.sleep(0.4)
    assert ending(seen) == "limit_exceeded"
    assert play.agent.is_ready()


async def test_rule_5_failed_turn_leaves_no_call_without_a_result() -> None:
    async def linger() -> str:
        """Take for ever."""
        await asyncio.Event().wait()
        return "never"

    lingering = ToolCalls(calls=(Call(name="linger", id="c-l"),))
    play = await stage(LLM, [lingering, SPOKEN], tools=[linger], limits=TurnLimits(timeout_s=1))
    assert ending(await play.ask()) == "limit_exceeded"
    [result] = [line for line in await play.history() if line.startswith("worker: linger -> ")]
    assert "The turn failed before the call finished" in result
    assert "'status': 'failed'" in result
