"""`McpConnections` with real MCP servers, over stdio and HTTP."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from oda.config import AnyMcpServerRecord, RemoteMcpServerRecord
from oda.errors import ConfigurationError
from oda.tools.mcp import McpConnections, McpStatus
from tests.support.mcp_processes import (
    appears,
    call,
    demo,
    demo_on_port,
    demo_processes,
    free_port,
    only_demo_processes,
    value,
)


def connections(
    records: Mapping[str, AnyMcpServerRecord], *, max_live: int = 8, **environ: str
) -> McpConnections:
    return McpConnections(records, environ=environ, max_live=max_live)


async def test_tools_are_listed_by_name_and_say_whether_they_may_be_repeated() -> None:
    async with connections({"demo": demo(idempotent=frozenset({"process_id"}))}) as mcp:
        tools = await mcp.toolset("demo").get_tools_with_prefix()
    names = [tool.name for tool in tools]
    assert names == sorted(names)
    repeatable = {tool.name for tool in tools if (tool.custom_metadata or {}).get("idempotent")}
    assert repeatable == {"add", "environment", "process_id"}


async def test_a_call_returns_the_servers_result() -> None:
    async with connections({"demo": demo()}) as mcp:
        result = await call(mcp.toolset("demo"), "add", a=1, b=2)
    assert result["structuredContent"] == {"result": 3}
    assert result["isError"] is False


async def test_an_error_of_the_tool_reaches_the_model_in_the_servers_words() -> None:
    async with connections({"demo": demo()}) as mcp:
        result = await call(mcp.toolset("demo"), "fail")
    assert result["isError"] is True
    assert "out of paper" in result["content"][0]["text"]


async def test_filter_and_prefix_shape_the_names_but_not_the_calls() -> None:
    record = demo(tool_filter=("add", "fail"), prefix="calc")
    async with connections({"demo": record}) as mcp:
        toolset = mcp.toolset("demo")
        tools = await toolset.get_tools_with_prefix()
        assert [tool.name for tool in tools] == ["calc_add", "calc_fail"]
        assert await value(toolset, "calc_add", a=2, b=2) == 4


async def test_a_tool_with_the_name_of_one_of_adks_own_is_refused() -> None:
    async with connections({"demo": demo("--impostor")}) as mcp:
        names = {tool.name for tool in await mcp.toolset("demo").get_tools_with_prefix()}
    assert "transfer_to_agent" not in names
    assert "add" in names


async def test_a_server_that_is_switched_off_offers_nothing_and_is_not_started() -> None:
    async with connections({"demo": demo(enabled=False)}) as mcp:
        assert await mcp.toolset("demo").get_tools_with_prefix() == []
        assert demo_processes() == set()
        assert await mcp.check("demo") == McpStatus("demo", "disabled")


async def test_all_sessions_share_one_process_and_twenty_calls_at_a_time() -> None:
    async with connections({"demo": demo()}) as mcp:
        toolsets = [mcp.toolset("demo", session_key=("app", "user", str(n))) for n in range(20)]
        results = await asyncio.gather(
            *(value(toolset, "add", a=n, b=n) for n, toolset in enumerate(toolsets))
        )
        assert results == [2 * n for n in range(20)]
        assert len(demo_processes()) == 1


async def test_a_server_with_session_scope_ends_with_its_session_only() -> None:
    one, two = ("app", "user", "1"), ("app", "user", "2")
    async with connections({"demo": demo(scope="session")}) as mcp:
        first = await value(mcp.toolset("demo", session_key=one), "process_id")
        second = await value(mcp.toolset("demo", session_key=two), "process_id")
        assert demo_processes() == {first, second}
        await mcp.release(one)
        assert demo_processes() == {second}
        assert await value(mcp.toolset("demo", session_key=two), "process_id") == second
    assert demo_processes() == set()


async def test_when_there_is_no_room_the_connection_that_is_idle_longest_rests() -> None:
    async with connections({"demo": demo(scope="session")}, max_live=2) as mcp:
        toolsets = [mcp.toolset("demo", session_key=("app", "user", str(n))) for n in range(3)]
        first, second, third = [await value(toolset, "process_id") for toolset in toolsets]
        await only_demo_processes(second, third)
        assert await value(toolsets[0], "process_id") not in {first, second, third}


async def test_a_server_gets_its_variables_and_none_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ODA_TEST_OURS", "private")
    record = demo(env={"DEMO_TOKEN": "${DEMO_TOKEN}"})
    async with connections({"demo": record}, DEMO_TOKEN="t0ken") as mcp:
        toolset = mcp.toolset("demo")
        assert await value(toolset, "environment", name="DEMO_TOKEN") == "t0ken"
        assert await value(toolset, "environment", name="ODA_TEST_OURS") == ""


async def test_a_tool_that_the_server_adds_is_offered_from_then_on() -> None:
    async with connections({"demo": demo()}) as mcp:
        toolset = mcp.toolset("demo")
        assert await value(toolset, "grow") == "grown"
        assert await value(toolset, "grown") == "here"


async def test_a_changed_record_takes_effect_and_the_old_process_ends() -> None:
    async with connections({"demo": demo()}) as mcp:
        toolset = mcp.toolset("demo")
        before = await value(toolset, "process_id")
        mcp.reconfigure({"demo": demo(prefix="new")})
        after = await value(toolset, "new_process_id")
        await only_demo_processes(after)
    assert before != after


async def test_a_call_that_runs_while_the_record_changes_is_finished(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    async with connections({"demo": demo()}) as mcp:
        toolset = mcp.toolset("demo")
        running = asyncio.create_task(value(toolset, "wait", seconds=0.5, mark=str(begun)))
        await appears(begun)
        mcp.reconfigure({"demo": demo(prefix="new")})
        assert await running == "waited"


async def test_check_lists_the_tools_and_names_what_the_filter_misses() -> None:
    async with connections({"demo": demo(tool_filter=("add", "gone"))}) as mcp:
        status = await mcp.check("demo")
    assert status == McpStatus(
        "demo", "ready", tools=("add",), detail="tool_filter: it has no gone"
    )


async def test_check_of_a_server_with_session_scope_leaves_no_process() -> None:
    async with connections({"demo": demo(scope="session")}) as mcp:
        assert (await mcp.check("demo")).state == "ready"
        assert demo_processes() == set()


async def test_check_of_an_unknown_server_names_the_known_ones() -> None:
    async with connections({"demo": demo()}) as mcp:
        with pytest.raises(ConfigurationError, match=r"no MCP server 'demmo'.*demo"):
            await mcp.check("demmo")


@pytest.mark.parametrize(
    ("transport", "served_as", "path"),
    [("http", "streamable-http", "/mcp"), ("sse", "sse", "/sse")],
)
async def test_a_remote_server_is_called_with_the_headers_of_its_record(
    transport: str, served_as: str, path: str
) -> None:
    port = free_port()
    record = RemoteMcpServerRecord.model_validate(
        {
            "transport": transport,
            "url": f"http://127.0.0.1:{port}{path}",
            "headers": {"Authorization": "Bearer ${DEMO_TOKEN}"},
        }
    )
    async with (
        demo_on_port(port, served_as),
        connections({"demo": record}, DEMO_TOKEN="t0ken") as mcp,
    ):
        toolset = mcp.toolset("demo")
        assert await value(toolset, "header", name="authorization") == "Bearer t0ken"
        results = await asyncio.gather(*(value(toolset, "add", a=n, b=1) for n in range(20)))
        assert results == [n + 1 for n in range(20)]


async def test_closing_twice_and_using_afterwards_do_no_harm() -> None:
    mcp = connections({"demo": demo()})
    toolset = mcp.toolset("demo")
    assert await value(toolset, "process_id") in demo_processes()
    await mcp.aclose()
    await mcp.aclose()
    assert demo_processes() == set()
    (tool,) = await toolset.get_tools_with_prefix()
    assert tool.name == "demo_unavailable"
