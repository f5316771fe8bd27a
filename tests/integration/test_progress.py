"""What steps and tools tell while they are at work reaches who reads the turn before they end."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps import App
from google.adk.events import Event
from google.adk.sessions import InMemorySessionService
from google.adk.tools.tool_context import ToolContext
from google.genai.types import Content, Part

from oda import Runner
from oda.adapter import AgentInput, AgentMessage, AgentTeam, PlainAgent, WorkflowState
from oda.message.progress import progress_of
from oda.message.protocol.builder import messages_of
from oda.orchestration import (
    Orchestrator,
    Reply,
    SceneTurn,
    StepContext,
    TeamRequest,
    Workflow,
    team_step,
)
from oda.testing import ScriptedModel
from oda.testing.script import Call, Text, ToolCalls
from oda.tools.progress import tell_output

PATIENCE_S = 20.0


class Heard:
    """Set when who reads the turn has heard something."""

    def __init__(self) -> None:
        self.event = asyncio.Event()

    async def wait(self) -> None:
        await asyncio.wait_for(self.event.wait(), PATIENCE_S)


async def read(root: BaseAgent | Orchestrator, heard: Heard) -> tuple[list[Event], list[Event]]:
    """All events of one turn, and those that its session has stored."""
    sessions = InMemorySessionService()
    runner = Runner(app=App(name="told", root_agent=root), session_service=sessions)
    session = await sessions.create_session(app_name="told", user_id="ann")
    events: list[Event] = []
    message = Content(role="user", parts=[Part(text="go")])
    run = runner.run_async(user_id="ann", session_id=session.id, new_message=message)
    async with aclosing(run) as stream:
        async for event in stream:
            events.append(event)
            if progress_of(event) is not None:
                heard.event.set()
    stored = await sessions.get_session(app_name="told", user_id="ann", session_id=session.id)
    assert stored is not None
    return events, stored.events


def scene(work: Callable[[AgentInput], AsyncIterator[AgentMessage | str]]) -> Workflow:
    def team(_: StepContext) -> AgentTeam:
        return AgentTeam([PlainAgent(work, name="clerk")])

    at_work = team_step("at-work", team, WorkflowState)

    class Office(Workflow):
        name = "office"
        purpose = "work"
        phases = ("start",)
        steps = (at_work,)

        async def run(self, turn: SceneTurn) -> Reply:
            request = TeamRequest[WorkflowState](
                state=WorkflowState(), input=AgentInput(content="go")
            )
            done = await turn.step(at_work, request)
            return Reply(text=str(len(done.output.messages)))

    return Office()


async def test_what_an_agent_of_a_team_says_is_told_while_its_step_is_at_work() -> None:
    heard = Heard()

    async def work(_: AgentInput) -> AsyncIterator[str]:
        yield "the first"
        await heard.wait()
        yield "the second"

    root = Orchestrator("office", scenes=(scene(work),))
    events, stored = await read(root, heard)
    told = [said for event in events if (said := progress_of(event)) is not None]
    assert [(said["step"], said["message"]["content"]) for said in told] == [
        ("at-work", "the first"),
        ("at-work", "the second"),
    ]
    assert events[-1].content and events[-1].content.parts
    assert events[-1].content.parts[0].text == "2"
    assert not any(event.partial for event in stored)
    data = [message.data or {} for message in messages_of(events) if message.type == "content"]
    assert [said["progress"]["message"]["content"] for said in data if "progress" in said] == [
        "the first",
        "the second",
    ]


async def test_what_a_tool_prints_is_told_inside_of_its_call() -> None:
    heard = Heard()

    async def calculate(tool_context: ToolContext) -> dict[str, Any]:
        """Calculate."""
        tell_output(tool_context, "line 1\n")
        await heard.wait()
        tell_output(tool_context, "line 2\n", stream="stderr")
        return {"exit_code": 0}

    model = ScriptedModel(steps=(ToolCalls(calls=(Call(name="calculate"),)), Text(text="done")))
    events, stored = await read(LlmAgent(name="a", model=model, tools=[calculate]), heard)
    told = [(said["stream"], said["text"]) for event in events if (said := progress_of(event))]
    assert told == [("stdout", "line 1\n"), ("stderr", "line 2\n")]
    assert not any(event.partial for event in stored)
    messages = messages_of(events)
    call = next(m for m in messages if m.type == "span.start" and m.name == "TOOL_CALLING")
    told_there = [m for m in messages if m.type == "content" and m.span_id == call.span_id]
    assert [sorted(m.data or {})[-2:] for m in told_there] == [
        ["call_id", "tool"],
        ["progress", "tool"],
        ["progress", "tool"],
        ["result", "tool"],
    ]
