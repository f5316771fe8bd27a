"""`mcp_tools.web` over MCP, as a process of its own."""

import json
import sys
from pathlib import Path
from typing import Any

from google.adk.tools.base_toolset import BaseToolset

from oda.config import StdioMcpServerRecord
from oda.tools.mcp import McpConnections
from tests.support.local_web import LocalWeb
from tests.support.mcp_processes import call

REPOSITORY = Path(__file__).parents[2]


async def test_an_agent_searches_the_web_and_reads_a_page() -> None:
    async with LocalWeb() as local:
        record = StdioMcpServerRecord(
            command=sys.executable,
            args=("-m", "mcp_tools.web"),
            cwd=REPOSITORY,
            env=local.environment,
        )
        async with McpConnections({"web": record}, environ={}) as mcp:
            toolset = mcp.toolset("web")
            tools = await toolset.get_tools()
            assert [(tool.name, tool.custom_metadata) for tool in tools] == [
                ("fetch_page", {"idempotent": True}),
                ("web_search", {"idempotent": True}),
            ]
            found = json.loads(await said(toolset, "web_search", False, query="龙井茶"))
            (result,) = found["results"]
            assert result["url"] == local.page_url("tea")
            page = json.loads(await said(toolset, "fetch_page", False, url=result["url"]))
            assert "明前龙井" in page["text"]
            refused = await said(toolset, "fetch_page", True, url="http://169.254.169.254/")
            assert "not on the public web" in refused
            assert "query is empty" in await said(toolset, "web_search", True, query=" ")


async def said(toolset: BaseToolset, tool: str, failed: bool, **args: Any) -> str:
    result = await call(toolset, tool, **args)
    assert result["isError"] is failed, result
    return str(result["content"][0]["text"])
