"""MCP tools in an agent that ADK runs: what the model is offered and what it gets back."""

import asyncio
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.events import Event
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.base_toolset import BaseToolset
from google.genai.types import Content, FunctionResponse, Part

from oda.config import StdioMcpServerRecord
from oda.testing import ScriptedModel
from oda.testing.script import Call, Text, ToolCalls
from oda.tools.mcp import McpConnections, default_connections, mcp_toolset
from tests.support.mcp_processes import appears, demo, demo_processes


def tool_call(tool: str, **args: Any) -> ToolCalls:
    return ToolCalls(calls=(Call(name=tool, args=args),))


class Chat:
    """An agent with the tools of one toolset, and a script for its model."""

    def __init__(self, toolset: BaseToolset, *steps: ToolCalls | Text) -> None:
        self.model = ScriptedModel(steps=steps)
        agent = LlmAgent(name="agent", model=self.model, tools=[toolset])
        self.runner = Runner(
            app=App(name="app", root_agent=agent),
            session_service=InMemorySessionService(),
            auto_create_session=True,
        )

    async def say(self, *parts: Part, session: str = "1") -> list[Event]:
        message = Content(role="user", parts=list(parts))
        run = self.runner.run_async(user_id="user", session_id=session, new_message=message)
        return [event async for event in run]

    def offered(self) -> set[str]:
        """Names of the tools in the last request to the model."""
        return set(self.model.requests[-1].tools_dict)


def results(events: list[Event]) -> list[Mapping[str, Any]]:
    return [
        response.response or {} for event in events for response in event.get_function_responses()
    ]


def answer(events: list[Event]) -> str | None:
    last = events[-1].content
    return last.parts[0].text if last and last.parts else None


HELLO = Part(text="hello")


async def test_the_model_is_offered_the_tools_and_gets_their_results() -> None:
    async with McpConnections({"demo": demo(prefix="demo")}, environ={}) as mcp:
        chat = Chat(mcp.toolset("demo"), tool_call("demo_add", a=1, b=2), Text(text="three"))
        events = await chat.say(HELLO)
    assert "demo_add" in chat.offered()
    assert results(events)[0]["structuredContent"] == {"result": 3}
    assert answer(events) == "three"


async def test_the_model_is_told_that_a_server_is_missing_and_the_turn_goes_on() -> None:
    records = {"demo": StdioMcpServerRecord(command="no-such-program")}
    async with McpConnections(records, environ={}) as mcp:
        chat = Chat(mcp.toolset("demo"), tool_call("demo_unavailable"), Text(text="a pity"))
        events = await chat.say(HELLO)
    assert chat.offered() == {"demo_unavailable"}
    assert "No such file" in results(events)[0]["error"]
    assert answer(events) == "a pity"


async def test_the_model_sees_that_a_server_died_and_can_use_it_again_in_the_same_turn(
    tmp_path: Path,
) -> None:
    begun = tmp_path / "begun"
    async with McpConnections({"demo": demo()}, environ={}) as mcp:
        chat = Chat(
            mcp.toolset("demo"),
            tool_call("wait", seconds=60, mark=str(begun)),
            tool_call("process_id"),
            Text(text="recovered"),
        )
        turn = asyncio.create_task(chat.say(HELLO))
        await appears(begun)
        (killed,) = demo_processes()
        os.kill(killed, signal.SIGKILL)
        events = await turn
    first, second = results(events)
    assert "lost during the call" in first["error"]
    assert second["structuredContent"]["result"] != killed
    assert answer(events) == "recovered"


async def test_a_server_that_comes_back_in_the_turn_is_offered_in_the_turn(tmp_path: Path) -> None:
    (tmp_path / "mcp.yaml").write_text("servers:")
    toolset = mcp_toolset("demo", config_dir=tmp_path)
    chat = Chat(toolset, tool_call("demo_unavailable"), Text(text="ok"))
    events = await chat.say(HELLO)
    assert "no MCP server 'demo'" in results(events)[0]["error"]
    async with McpConnections({"demo": demo()}, environ={}) as mcp:
        with default_connections.set(mcp):
            chat.model.add(tool_call("add", a=1, b=1), Text(text="two"))
            assert results(await chat.say(HELLO))[0]["structuredContent"] == {"result": 2}
            assert "add" in chat.offered()


async def test_a_tool_that_needs_approval_runs_only_when_it_has_been_given() -> None:
    async with McpConnections({"demo": demo(require_confirmation=True)}, environ={}) as mcp:
        chat = Chat(mcp.toolset("demo"), tool_call("add", a=1, b=2), Text(text="three"))
        events = await chat.say(HELLO)
        (request,) = [
            call
            for event in events
            for call in event.get_function_calls()
            if call.name == "adk_request_confirmation"
        ]
        approval = FunctionResponse(id=request.id, name=request.name, response={"confirmed": True})
        events = await chat.say(Part(function_response=approval))
    assert results(events)[0]["structuredContent"] == {"result": 3}
    assert answer(events) == "three"


async def test_closing_a_runner_leaves_the_connection_to_the_others() -> None:
    async with McpConnections({"demo": demo()}, environ={}) as mcp:
        chat = Chat(mcp.toolset("demo"))
        await chat.say(HELLO)
        before = demo_processes()
        await chat.runner.close()
        assert demo_processes() == before != set()


async def test_each_adk_session_has_its_own_server_when_the_record_says_so() -> None:
    async with McpConnections({"demo": demo(scope="session")}, environ={}) as mcp:
        steps = (tool_call("process_id"), Text(text="ok"))
        chat = Chat(mcp.toolset("demo"), *steps, *steps, *steps)
        first, second, again = [
            results(await chat.say(HELLO, session=session))[0]["structuredContent"]["result"]
            for session in ("1", "2", "1")
        ]
        assert first == again != second
        await mcp.release(("app", "user", "1"))
        assert demo_processes() == {second}


async def test_an_edit_of_mcp_yaml_is_taken_up_without_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODA_MCP_PINS", str(tmp_path / "pins.json"))
    file = tmp_path / "mcp.yaml"
    script = str(demo().args[0])
    server = f"transport: stdio, command: python, args: [{script}]"
    file.write_text(f"servers: {{demo: {{{server}, tool_filter: [add]}}}}")
    toolset = mcp_toolset("demo", config_dir=tmp_path)
    assert [tool.name for tool in await toolset.get_tools()] == ["add"]
    file.write_text(f"servers: {{demo: {{{server}, tool_filter: [add, fail]}}}}")
    assert [tool.name for tool in await toolset.get_tools()] == ["add", "fail"]
    file.write_text("servers: {demo: {transport: stdio}}")
    assert [tool.name for tool in await toolset.get_tools()] == ["add", "fail"]
