"""The recitation server as a real process, used by an agent's toolset."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from google.adk.tools.base_toolset import BaseToolset

from mcp_tools.recitation import compare, find, memory_tips
from oda.config import AnyMcpServerRecord, RemoteMcpServerRecord, StdioMcpServerRecord
from oda.tools.mcp import McpConnections
from tests.support.mcp_processes import call, free_port, listening

REPOSITORY = Path(__file__).parents[2]
POEM = "床前明月光，疑是地上霜。举头望明月，低头思故乡。"


@asynccontextmanager
async def served(transport: str) -> AsyncIterator[AnyMcpServerRecord]:
    arguments = ("-m", "mcp_tools.recitation")
    if transport == "stdio":
        yield StdioMcpServerRecord(command="python", args=arguments, cwd=REPOSITORY)
        return
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, "--transport", "http", "--port", str(port), cwd=REPOSITORY
    )
    try:
        await listening(port)
        yield RemoteMcpServerRecord(transport="http", url=f"http://127.0.0.1:{port}/mcp")
    finally:
        process.terminate()
        await process.wait()


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_an_agent_finds_a_text_compares_and_gives_tips_over(transport: str) -> None:
    async with (
        served(transport) as record,
        McpConnections({"recitation": record}, environ={}) as mcp,
    ):
        toolset = mcp.toolset("recitation")
        assert [tool.name for tool in await toolset.get_tools()] == [
            "check_recitation",
            "compare_recitation",
            "find_text",
            "memory_tips",
        ]
        known = find("静夜思")
        assert known
        assert await answer(toolset, "find_text", title="《景夜思》") == {
            **known.model_dump(),
            "confidence": 0.95,
        }
        said = "床前名月光举头望明月低头思故乡"
        evaluation = compare(POEM, said)
        found = await answer(toolset, "compare_recitation", expected_text=POEM, user_text=said)
        assert found == evaluation.model_dump(mode="json")
        assert [error["type"] for error in found["errors"]] == ["homophone", "missing"]
        tips = await answer(
            toolset, "memory_tips", errors=found["errors"], expected_text=POEM, language="en"
        )
        assert tips == {"tips": memory_tips(evaluation.errors, POEM, "en")}
        recites = {
            said: (await answer(toolset, "check_recitation", expected_text=POEM, user_text=said))
            for said in ("床前明月光", "这个字怎么读")
        }
        assert recites == {
            "床前明月光": {"is_recitation": True, "similarity": 1.0},
            "这个字怎么读": {"is_recitation": False, "similarity": 0.0},
        }


async def test_a_refused_call_says_what_to_do() -> None:
    async with (
        served("stdio") as record,
        McpConnections({"recitation": record}, environ={}) as mcp,
    ):
        toolset = mcp.toolset("recitation")
        empty = await error(toolset, "compare_recitation", expected_text="。", user_text="明月")
        assert "give the text that is to be recited" in empty
        long = await error(toolset, "check_recitation", expected_text="明" * 20_001, user_text="明")
        assert "recite it in parts" in long
        unknown = await error(toolset, "find_text", title="不存在的诗歌")
        assert "give its usual title or its first line" in unknown
        language = await error(
            toolset, "compare_recitation", expected_text=POEM, user_text="", language="fr"
        )
        assert "language" in language


async def answer(toolset: BaseToolset, tool: str, **args: Any) -> Any:
    result = await call(toolset, tool, **args)
    assert result["isError"] is False, result
    return json.loads(result["content"][0]["text"])


async def error(toolset: BaseToolset, tool: str, **args: Any) -> str:
    result = await call(toolset, tool, **args)
    assert result["isError"] is True
    return str(result["content"][0]["text"])
