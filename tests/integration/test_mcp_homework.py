"""`mcp_tools.homework`: a real server process on stdio, and an agent's connection to it."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.tools.base_toolset import BaseToolset

from oda.config import StdioMcpServerRecord
from oda.tools.mcp import McpConnections
from tests.support.mcp_processes import call

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
async def toolset() -> AsyncIterator[BaseToolset]:
    record = StdioMcpServerRecord(
        command="python", args=("-m", "mcp_tools.homework"), cwd=REPOSITORY
    )
    async with McpConnections({"homework": record}, environ={}) as mcp:
        yield mcp.toolset("homework")


async def answered(toolset: BaseToolset, tool: str, **arguments: Any) -> Any:
    result = await call(toolset, tool, **arguments)
    assert result["isError"] is False, result
    return json.loads(result["content"][0]["text"])


async def refused(toolset: BaseToolset, tool: str, **arguments: Any) -> str:
    result = await call(toolset, tool, **arguments)
    assert result["isError"] is True, result
    return str(result["content"][0]["text"])


async def test_an_agent_checks_hints_and_sums_up(toolset: BaseToolset) -> None:
    tools = await toolset.get_tools()
    assert [(tool.name, tool.custom_metadata) for tool in tools] == [
        ("check_homework", {"idempotent": True}),
        ("give_hint", {"idempotent": True}),
        ("summarise_homework", {"idempotent": True}),
    ]
    page = "1. 3×4=12 2. 5x6=35\n解方程 2x+1=7 答：x=3\n小明有几个苹果？"
    checked = await answered(toolset, "check_homework", text=page)
    assert [(each["correct"], each["checked_by"]) for each in checked["items"]] == [
        (True, "code"),
        (False, "code"),
        (True, "code"),
        (None, "none"),
    ]
    assert checked["items"][1]["expected"] == "30"
    assert checked["score"] == 67

    hints = [
        await answered(toolset, "give_hint", question="5x6", hint_level=level, language="en")
        for level in (1, 2, 3)
    ]
    assert [each["reveals_answer"] for each in hints] == [False, False, True]
    assert "30" in hints[2]["hint"]

    summary = await answered(toolset, "summarise_homework", text=page, language="en")
    assert summary["strengths"] == ["equations"]
    assert summary["to_practise"] == ["times tables"]


async def test_items_can_be_given_apart_and_bad_calls_say_what_to_do(toolset: BaseToolset) -> None:
    items = [{"question": "1/2+1/4", "answer": "6/8"}, {"question": "7+□=12", "answer": ""}]
    checked = await answered(toolset, "check_homework", items=items, language="en")
    assert checked["items"][0]["comment"] == "Correct, but the fraction can be reduced."
    assert checked["items"][1]["answer"] is None
    assert "send text or items" in await refused(toolset, "check_homework", text="你好")
    assert "分几次发送" in await refused(toolset, "check_homework", text="1+1=2;" * 300)
    assert "hint_level" in await refused(toolset, "give_hint", question="3+4", hint_level=4)
