"""Hooks around tool calls: on every kind of tool, however the call ends."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps import App
from google.adk.events import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai.types import Content, Part

from oda import InterruptCheck, LogToolCalls, ToolCallContext, ToolHook, ToolHooks
from oda.agent.outcome import outcome_of
from oda.errors import FatalToolError
from oda.testing import FakeClock, ScriptedModel
from oda.testing.script import Call, Text, ToolCalls
from oda.testing.scripted_model import InProcessStep
from oda.tools.limits import ToolLimits
from oda.tools.mcp import McpConnections
from tests.support.mcp_processes import demo
from tests.support.roots import LLM, Kind, every_kind
from tests.support.stage import Stage, stage
from tests.support.transcript import transcript

ANSWER = Text(text="answer")
TURN = "turn-1"


class Witness(ToolHook):
    """Remembers all that it is shown, and refuses what it is told to refuse."""

    def __init__(self, refuse: str | None = None, *, name: str = "", log: Any = None) -> None:
        self.before: list[ToolCallContext] = []
        self.after: list[ToolCallContext] = []
        self._refuse = refuse
        self._name = name
        self._log = [] if log is None else log

    async def pre_tool_call(self, call: ToolCallContext) -> str | None:
        self.before.append(call)
        self._log.append(f"{self._name} before")
        return self._refuse

    async def post_tool_call(self, call: ToolCallContext) -> None:
        self.after.append(call)
        self._log.append(f"{self._name} after")

    @property
    def ended(self) -> ToolCallContext:
        """The one call, which it has seen begin as well."""
        (begun,), (ended,) = self.before, self.after
        assert (begun.tool_call_id, begun.start_time) == (ended.tool_call_id, ended.start_time)
        assert (begun.success, begun.end_time, begun.duration) == (None, None, None)
        return ended


class Broken(ToolHook):
    """Fails before or after each call."""

    def __init__(self, where: str) -> None:
        self._where = where

    async def pre_tool_call(self, call: ToolCallContext) -> None:
        if self._where == "before":
            raise ValueError("the hook is broken")

    async def post_tool_call(self, call: ToolCallContext) -> None:
        if self._where == "after":
            raise ValueError("the hook is broken")


def calls(*names: str, **args: Any) -> ToolCalls:
    return ToolCalls(calls=tuple(Call(name=name, id=f"c-{name}", args=args) for name in names))


def hooked(*hooks: ToolHook, clock: FakeClock | None = None) -> Callable[[App], None]:
    return lambda app: app.plugins.append(ToolHooks(hooks, clock=clock))


async def played(
    tool: Any,
    *hooks: ToolHook,
    kind: Kind = LLM,
    args: dict[str, Any] | None = None,
    **options: Any,
) -> tuple[Stage, list[Event]]:
    """A turn in which the worker's model calls a tool once, with hooks around it."""
    name = tool.name if isinstance(tool, BaseTool) else tool.__name__
    script: list[InProcessStep] = [calls(name, **(args or {})), ANSWER]
    play = await stage(kind, script, tools=[tool], change=hooked(*hooks), **options)
    return play, await play.ask(invocation_id=TURN if kind is LLM else None)


def responses(events: list[Event]) -> list[Any]:
    return [r.response for event in events for r in event.get_function_responses()]


# --- what is seen


async def double(number: int) -> int:
    """Double a number."""
    return 2 * number


def double_in_a_thread(number: int) -> int:
    """Double a number."""
    return 2 * number


@pytest.mark.parametrize("tool", [double, double_in_a_thread])
async def test_a_call_is_seen_before_and_after(tool: Any) -> None:
    witness = Witness()
    await played(tool, witness, args={"number": 4})
    ended = witness.ended
    assert ended.tool_call_id == f"c-{tool.__name__}"
    assert (ended.tool_name, ended.description) == (tool.__name__, "Double a number.")
    assert dict(ended.func_args) == {"number": 4}
    assert (ended.agent, ended.turn_id) == ("worker", TURN)
    assert (ended.result, ended.success, ended.error) == (8, True, None)


@every_kind
async def test_hooks_see_the_calls_of_every_kind_of_root(kind: Kind) -> None:
    witness = Witness()
    _, events = await played(double, witness, kind=kind, args={"number": 4})
    assert outcome_of(events).status == "succeeded"
    (seen,) = [call for call in witness.after if call.tool_name == "double"]
    assert seen.result == 8
    assert len(witness.before) == len(witness.after)


async def test_times_are_the_clocks() -> None:
    clock = FakeClock()

    async def nap() -> None:
        """Nap."""
        await clock.sleep(1.5)

    witness = Witness()
    play = await stage(
        LLM, [calls("nap"), ANSWER], tools=[nap], change=hooked(witness, clock=clock)
    )
    await play.ask()
    assert witness.ended.end_time == witness.ended.start_time + 1.5
    assert witness.ended.duration == 1.5


async def test_arguments_cannot_be_changed() -> None:
    class Meddler(ToolHook):
        async def pre_tool_call(self, call: ToolCallContext) -> None:
            call.func_args["number"] = 5  # type: ignore[index]

    _, events = await played(double, Meddler(), args={"number": 4})
    assert responses(events) == [
        {"error": "The call was not made, because a check before it failed.", "status": "refused"}
    ]


async def test_parallel_calls_are_seen_each_with_its_own_end() -> None:
    gate = asyncio.Event()

    async def first() -> str:
        """Wait for the second."""
        await gate.wait()
        return "one"

    async def second() -> str:
        """Let the first go on."""
        gate.set()
        return "two"

    witness = Witness()
    script: list[InProcessStep] = [calls("first", "second"), ANSWER]
    play = await stage(LLM, script, tools=[first, second], change=hooked(witness))
    await play.ask()
    assert [call.tool_name for call in witness.before] == ["first", "second"]
    assert [(call.tool_name, call.result) for call in witness.after] == [
        ("second", "two"),
        ("first", "one"),
    ]


async def test_turns_of_the_same_name_in_two_sessions_are_told_apart() -> None:
    both = asyncio.Barrier(2)

    async def meet(number: int) -> int:
        """Wait until both sessions are here."""
        await both.wait()
        return number

    witness = Witness()
    shared = ToolHooks([witness])
    plays = [
        await stage(
            LLM,
            [calls("meet", number=number), ANSWER],
            tools=[meet],
            change=lambda app: app.plugins.append(shared),
        )
        for number in (1, 2)
    ]
    await asyncio.gather(*(play.ask(invocation_id=TURN) for play in plays))
    assert sorted((call.func_args["number"], call.result) for call in witness.after) == [
        (1, 1),
        (2, 2),
    ]


async def test_hooks_nest() -> None:
    log: list[str] = []
    await played(
        double, Witness(name="outer", log=log), Witness(name="inner", log=log), args={"number": 1}
    )
    assert log == ["outer before", "inner before", "inner after", "outer after"]


# --- refusals and broken hooks


@every_kind
async def test_a_refused_call_is_not_made_and_the_model_is_told_why(kind: Kind) -> None:
    made: list[int] = []

    async def pay() -> None:
        """Pay."""
        made.append(1)

    class Thrift(Witness):
        async def pre_tool_call(self, call: ToolCallContext) -> str | None:
            await super().pre_tool_call(call)
            return "payments are closed" if call.tool_name == "pay" else None

    log: list[str] = []
    thrift, unasked = Thrift(name="thrift", log=log), Witness(name="unasked", log=log)
    play, events = await played(pay, thrift, unasked, kind=kind)
    assert outcome_of(events).status == "succeeded"
    assert made == []
    refused = {"error": "payments are closed", "status": "refused"}
    assert refused in responses(await play.stored())
    (seen,) = [call for call in thrift.after if call.tool_name == "pay"]
    assert (seen.success, seen.error, seen.result) == (False, "payments are closed", None)
    assert "pay" not in {call.tool_name for call in unasked.before + unasked.after}


async def test_a_hook_that_fails_before_a_call_refuses_it() -> None:
    made: list[int] = []

    async def pay() -> None:
        """Pay."""
        made.append(1)

    witness = Witness()
    _, events = await played(pay, witness, Broken("before"))
    assert made == []
    assert outcome_of(events).status == "succeeded"
    assert witness.ended.error == "The call was not made, because a check before it failed."


async def test_a_hook_that_fails_after_a_call_changes_nothing_and_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    witness = Witness()
    _, events = await played(double, witness, Broken("after"), args={"number": 4})
    assert responses(events) == [{"result": 8}]
    assert witness.ended.success
    (record,) = [record for record in caplog.records if record.msg == "tool_hook_failed"]
    assert vars(record)["hook"] == "Broken"
    assert record.exc_info and str(record.exc_info[1]) == "the hook is broken"


# --- ends


async def test_a_tool_that_raises() -> None:
    async def stumble() -> str:
        """Fail."""
        raise ValueError("the file /home/someone/notes/secret.txt is locked")

    witness = Witness()
    _, events = await played(stumble, witness)
    assert outcome_of(events).status == "succeeded"
    assert (witness.ended.success, witness.ended.error) == (False, "the file <path> is locked")


async def test_a_tool_that_ends_the_turn() -> None:
    async def halt() -> str:
        """Halt."""
        raise FatalToolError("the disk is full")

    witness = Witness()
    _, events = await played(halt, witness)
    assert outcome_of(events).status == "failed"
    assert (witness.ended.success, witness.ended.error) == (False, "the disk is full")


async def test_a_tool_that_reports_an_error() -> None:
    async def reject() -> dict[str, Any]:
        """Reject."""
        return {"success": False, "error": "there is no such entry"}

    witness = Witness()
    await played(reject, witness)
    assert (witness.ended.success, witness.ended.error) == (False, "there is no such entry")
    assert witness.ended.result["success"] is False


async def test_a_tool_that_does_not_exist() -> None:
    witness = Witness()
    play = await stage(LLM, [calls("unheard_of"), ANSWER], change=hooked(witness))
    assert outcome_of(await play.ask()).status == "succeeded"
    assert witness.ended.success is False
    assert "unheard_of" in (witness.ended.error or "")


async def test_a_tool_that_takes_too_long() -> None:
    async def hang() -> None:
        """Hang."""
        await asyncio.Event().wait()

    witness = Witness()
    _, events = await played(hang, witness, tool_limits=ToolLimits(timeout_s=0.05))
    assert outcome_of(events).status == "succeeded"
    assert witness.ended.success is False
    assert (witness.ended.error or "").startswith("The tool 'hang' took longer than its limit")


async def test_a_call_that_is_cancelled() -> None:
    begun = asyncio.Event()

    async def linger() -> None:
        """Take for ever."""
        begun.set()
        await asyncio.Event().wait()

    witness = Witness()
    play = await stage(LLM, [calls("linger")], tools=[linger], change=hooked(witness))
    turn = asyncio.create_task(play.ask())
    await begun.wait()
    await play.agent.cancel()
    assert outcome_of(await turn).status == "cancelled"
    assert (witness.ended.success, witness.ended.error) == (False, "cancelled")


async def test_a_call_that_is_cancelled_while_a_hook_is_asked() -> None:
    asked = asyncio.Event()

    class Ponder(ToolHook):
        async def pre_tool_call(self, call: ToolCallContext) -> None:
            asked.set()
            await asyncio.Event().wait()

    witness = Witness()
    play = await stage(
        LLM, [calls("double", number=1)], tools=[double], change=hooked(witness, Ponder())
    )
    turn = asyncio.create_task(play.ask())
    await asked.wait()
    await play.agent.cancel()
    assert outcome_of(await turn).status == "cancelled"
    assert (witness.ended.success, witness.ended.error) == (False, "cancelled")


async def test_a_call_that_a_person_must_approve_is_seen_when_it_is_approved() -> None:
    async def pay() -> str:
        """Pay."""
        return "paid"

    witness = Witness()
    play, events = await played(FunctionTool(pay, require_confirmation=True), witness)
    question = outcome_of(events).pending_input[0]
    assert (witness.before, witness.after) == ([], [])
    yes = Part.from_function_response(name=question["name"], response={"confirmed": True})
    assert yes.function_response is not None
    yes.function_response.id = question["id"]
    await play.ask(Content(role="user", parts=[yes]))
    assert (witness.ended.tool_call_id, witness.ended.result) == ("c-pay", "paid")


async def test_a_call_whose_result_another_plugin_replaces() -> None:
    class Replacing(BasePlugin):
        async def after_tool_callback(
            self,
            *,
            tool: BaseTool,
            tool_args: dict[str, Any],
            tool_context: ToolContext,
            result: Any,
        ) -> dict[str, Any]:
            return {"replaced": True}

    def change(app: App) -> None:
        app.plugins.append(Replacing(name="replacing"))
        app.plugins.append(ToolHooks([witness]))

    witness = Witness()
    play = await stage(LLM, [calls("double", number=1), ANSWER], tools=[double], change=change)
    await play.ask()
    assert (witness.ended.success, witness.ended.result) == (True, {"replaced": True})


async def test_a_call_in_which_the_agents_own_callback_fails() -> None:
    def fail(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext) -> None:
        raise ValueError("the callback is broken")

    def change(app: App) -> None:
        assert isinstance(app.root_agent, LlmAgent)
        app.root_agent.before_tool_callback = fail
        app.plugins.append(ToolHooks([witness]))

    witness = Witness()
    play = await stage(LLM, [calls("double", number=1), ANSWER], tools=[double], change=change)
    assert outcome_of(await play.ask()).status == "failed"
    assert (witness.ended.success, witness.ended.error) == (False, "the callback is broken")


# --- other tools, and without oda's runner


async def test_tools_of_an_mcp_server() -> None:
    async with McpConnections({"demo": demo()}, environ={}) as mcp:
        witness = Witness()
        script: list[InProcessStep] = [calls("add", a=2, b=3), calls("fail"), ANSWER]
        toolset = mcp.toolset("demo")
        play = await stage(LLM, script, tools=[toolset], change=hooked(witness))
        assert outcome_of(await play.ask()).status == "succeeded"
    added, failed = witness.after
    assert (added.tool_name, added.success, added.error) == ("add", True, None)
    assert added.result["structuredContent"] == {"result": 5}
    assert (failed.tool_name, failed.success) == ("fail", False)
    assert "the printer is out of paper" in (failed.error or "")


async def test_calls_of_an_agent_that_runs_as_a_tool() -> None:
    script = [calls("double", number=4), Text(text="eight")]
    inner = LlmAgent(name="inner", model=ScriptedModel(steps=script), tools=[double])
    witness = Witness()
    await played(AgentTool(inner), witness, args={"request": "double it"})
    assert [(call.agent, call.tool_name, call.turn_id) for call in witness.after] == [
        ("inner", "double", TURN),
        ("worker", "inner", TURN),
    ]


async def test_hooks_work_in_adks_own_runner() -> None:
    witness = Witness()
    script = [calls("double", number=4), ANSWER]
    agent = LlmAgent(name="plain", model=ScriptedModel(steps=script), tools=[double])
    runner = InMemoryRunner(app=App(name="plain", root_agent=agent, plugins=[ToolHooks([witness])]))
    events = await runner.run_debug("hello", quiet=True)
    assert transcript(events)[-1] == "plain: answer"
    assert (witness.ended.result, witness.ended.success) == (8, True)


# --- the hooks that oda ships


async def test_calls_are_logged_without_their_arguments(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def greet(name: str) -> dict[str, str]:
        """Greet."""
        return {"error": f"nobody of that name at /home/{name}/notes.txt"}

    await played(greet, LogToolCalls(), args={"name": "Anna-Maria"})
    lines = [record for record in caplog.records if str(record.msg).startswith("tool_call_")]
    assert [record.msg for record in lines] == ["tool_call_started", "tool_call_ended"]
    begun, ended = (vars(record) for record in lines)
    assert (begun["tool"], begun["call_id"], begun["arguments"]) == ("greet", "c-greet", ["name"])
    assert (ended["success"], ended["agent"], ended["turn_id"]) == (False, "worker", TURN)
    assert ended["duration_ms"] >= 0
    assert "Anna-Maria" not in f"{begun}{ended}"


class Stubborn:
    """A tool that goes on when it is cancelled, and has another agent call tools for it."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.paid = 0
        script = [calls("pay"), Text(text="paid")]
        self._helper = LlmAgent(name="helper", model=ScriptedModel(steps=script), tools=[self.pay])

    async def pay(self) -> None:
        """Pay."""
        self.paid += 1

    async def insist(self, tool_context: ToolContext) -> str:
        """Pay in any case."""
        self.begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await AgentTool(self._helper).run_async(
                args={"request": "pay"}, tool_context=tool_context
            )
        return "done"


@pytest.mark.parametrize(("hooks", "payments"), [([InterruptCheck()], 0), ([], 1)])
async def test_a_cancelled_turn_stops_before_its_next_tool(
    hooks: list[ToolHook], payments: int
) -> None:
    stubborn = Stubborn()
    play = await stage(LLM, [calls("insist")], tools=[stubborn.insist], change=hooked(*hooks))
    turn = asyncio.create_task(play.ask())
    await stubborn.begun.wait()
    await play.agent.cancel()
    assert outcome_of(await turn).status == "cancelled"
    assert stubborn.paid == payments


async def test_a_turn_that_is_not_cancelled_is_not_interrupted() -> None:
    _, events = await played(double, InterruptCheck(), args={"number": 4})
    assert responses(events) == [{"result": 8}]
