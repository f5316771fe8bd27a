"""MCP servers that are missing, silent, stuck or killed: an answer for the model, then recovery."""

import asyncio
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from oda.config import AnyMcpServerRecord, RemoteMcpServerRecord, StdioMcpServerRecord
from oda.testing import FakeClock
from oda.tools.mcp import McpConnections
from tests.support.mcp_processes import (
    DEMO,
    appears,
    call,
    demo,
    demo_on_port,
    demo_processes,
    free_port,
    only_demo_processes,
    value,
)

NONSENSE = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        result = {"tools": 5}
        if request["method"] == "initialize":
            result = {
                "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "nonsense", "version": "1"},
            }
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""
"""A server that connects and then answers what nobody understands."""


def connections(record: AnyMcpServerRecord, **options: Any) -> McpConnections:
    return McpConnections({"demo": record}, environ={}, **options)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (StdioMcpServerRecord(command="no-such-program"), "No such file"),
        (StdioMcpServerRecord(command="python", args=("-c", "exit(3)")), "ended while starting"),
        (demo("--start-after", "60", connect_timeout_s=0.5), "no connection within 0.5 s"),
        (demo(env={"KEY": "${DEMO_KEY}"}), "'DEMO_KEY' is not set"),
        (
            StdioMcpServerRecord(command="python", args=("-c", NONSENSE)),
            "does not list its tools: 1 validation error",
        ),
        (
            RemoteMcpServerRecord(transport="http", url=f"http://127.0.0.1:{free_port()}/mcp"),
            "connection attempts failed",
        ),
    ],
    ids=["missing", "ends at once", "silent", "secret not set", "nonsense", "nobody listens"],
)
async def test_instead_of_tools_that_cannot_be_listed_there_is_one_that_says_why(
    record: AnyMcpServerRecord, reason: str
) -> None:
    async with connections(record) as mcp:
        toolset = mcp.toolset("demo")
        (tool,) = await toolset.get_tools_with_prefix()
        assert tool.name == "demo_unavailable"
        assert reason in tool.description
        result = await call(toolset, "demo_unavailable")
        assert reason in result["error"]
        status = await mcp.check("demo")
        assert (status.state, status.tools) == ("unavailable", ())
        assert reason in (status.detail or "")
    assert demo_processes() == set()


async def test_a_server_that_is_killed_during_a_call_is_an_answer_and_the_next_call_works(
    tmp_path: Path,
) -> None:
    begun = tmp_path / "begun"
    async with connections(demo()) as mcp:
        toolset = mcp.toolset("demo")
        before = await value(toolset, "process_id")
        running = asyncio.create_task(call(toolset, "wait", seconds=60, mark=str(begun)))
        await appears(begun)
        os.kill(before, signal.SIGKILL)
        result = await running
        assert "lost during the call" in result["error"]
        assert "not known whether the call had its effect" in result["error"]
        assert result["retryable"] is False
        after = await value(toolset, "process_id")
        assert demo_processes() == {after}
    assert before != after


async def test_a_lost_call_of_an_idempotent_tool_may_be_repeated(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    async with connections(demo(idempotent=frozenset({"wait"}))) as mcp:
        toolset = mcp.toolset("demo")
        running = asyncio.create_task(call(toolset, "wait", seconds=60, mark=str(begun)))
        await appears(begun)
        os.kill(demo_processes().pop(), signal.SIGKILL)
        result = await running
    assert result["retryable"] is True
    assert "not known" not in result["error"]


async def test_a_call_beyond_its_time_is_an_answer_and_a_healthy_server_is_kept() -> None:
    async with connections(demo(call_timeout_s=0.5)) as mcp:
        toolset = mcp.toolset("demo")
        before = await value(toolset, "process_id")
        result = await call(toolset, "wait", seconds=60)
        assert "did not answer within 0.5 s" in result["error"]
        assert await value(toolset, "process_id") == before


async def test_a_server_that_is_stuck_is_replaced() -> None:
    async with connections(demo(call_timeout_s=0.5)) as mcp:
        toolset = mcp.toolset("demo")
        before = await value(toolset, "process_id")
        result = await call(toolset, "get_stuck", seconds=60)
        assert "did not answer within 0.5 s" in result["error"]
        after = await value(toolset, "process_id")
        assert after != before
        await only_demo_processes(after)


async def test_a_caller_that_is_cancelled_leaves_a_call_behind_but_not_a_broken_server(
    tmp_path: Path,
) -> None:
    begun = tmp_path / "begun"
    async with connections(demo()) as mcp:
        toolset = mcp.toolset("demo")
        before = await value(toolset, "process_id")
        running = asyncio.create_task(call(toolset, "wait", seconds=60, mark=str(begun)))
        other = asyncio.create_task(value(toolset, "wait", seconds=1))
        await appears(begun)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert await other == "waited"
        assert await value(toolset, "process_id") == before


async def test_a_caller_that_is_cancelled_while_the_server_starts_leaves_no_stray_process() -> None:
    async with connections(demo("--start-after", "1")) as mcp:
        toolset = mcp.toolset("demo")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await toolset.get_tools()
        assert await value(toolset, "process_id") in demo_processes()
        assert len(demo_processes()) == 1
    assert demo_processes() == set()


async def test_closing_while_the_server_starts_leaves_no_process() -> None:
    mcp = connections(demo("--start-after", "60"))
    listing = asyncio.create_task(mcp.toolset("demo").get_tools())
    async with asyncio.timeout(10):
        while not demo_processes():  # noqa: ASYNC110 - the system tells nobody
            await asyncio.sleep(0.02)
    await mcp.aclose()
    assert demo_processes() == set()
    (tool,) = await listing
    assert tool.name == "demo_unavailable"


async def test_a_process_that_refuses_to_end_is_killed() -> None:
    async with connections(demo("--stubborn")) as mcp:
        assert await value(mcp.toolset("demo"), "process_id") in demo_processes()
    assert demo_processes() == set()


async def test_between_attempts_to_start_a_server_there_are_growing_pauses(tmp_path: Path) -> None:
    attempts = tmp_path / "attempts"
    code = f"open({str(attempts)!r}, 'a').write('x'); exit(1)"
    record = StdioMcpServerRecord(command="python", args=("-c", code))
    clock = FakeClock()
    async with connections(record, clock=clock.now) as mcp:
        for pause_s, expected in ((0, 1), (0.9, 1), (0.1, 2), (1.9, 2), (0.1, 3), (4, 4), (4, 4)):
            clock.advance(pause_s)
            await mcp.toolset("demo").get_tools()
            assert len(attempts.read_text()) == expected


async def test_tools_that_were_listed_once_stay_and_say_that_the_server_is_gone(
    tmp_path: Path,
) -> None:
    script = Path(shutil.copy(DEMO, tmp_path))
    record = StdioMcpServerRecord(command="python", args=(str(script),))
    async with connections(record) as mcp:
        toolset = mcp.toolset("demo")
        before = [tool.name for tool in await toolset.get_tools_with_prefix()]
        server = await value(toolset, "process_id")
        script.unlink()  # noqa: ASYNC240
        os.kill(server, signal.SIGKILL)
        assert (await mcp.check("demo")).state == "unavailable"
        assert [tool.name for tool in await toolset.get_tools_with_prefix()] == before
        result = await call(toolset, "add", a=1, b=1)
        assert "'demo' is not available" in result["error"]
        assert result["retryable"] is True


async def test_a_call_that_finds_every_connection_busy_is_an_answer(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    async with connections(demo(scope="session"), max_live=1) as mcp:
        first = mcp.toolset("demo", session_key=("app", "user", "1"))
        second = mcp.toolset("demo", session_key=("app", "user", "2"))
        running = asyncio.create_task(value(first, "wait", seconds=1, mark=str(begun)))
        await appears(begun)
        (tool,) = await second.get_tools_with_prefix()
        assert "all 1 MCP connections are busy" in tool.description
        assert await running == "waited"
        assert await value(second, "add", a=1, b=1) == 2


async def test_a_remote_server_that_is_killed_during_a_call_is_an_answer_and_comes_back(
    tmp_path: Path,
) -> None:
    begun, port = tmp_path / "begun", free_port()
    record = RemoteMcpServerRecord(transport="http", url=f"http://127.0.0.1:{port}/mcp")
    clock = FakeClock()
    async with connections(record, clock=clock.now) as mcp:
        toolset = mcp.toolset("demo")
        async with demo_on_port(port) as process:
            running = asyncio.create_task(call(toolset, "wait", seconds=60, mark=str(begun)))
            await appears(begun)
            process.kill()
            assert "lost during the call" in (await running)["error"]
        assert "not available" in (await call(toolset, "add", a=1, b=1))["error"]
        async with demo_on_port(port):
            clock.advance(60)
            assert await value(toolset, "add", a=1, b=1) == 2


async def test_a_remote_server_that_was_restarted_between_calls_is_not_even_noticed() -> None:
    port = free_port()
    record = RemoteMcpServerRecord(transport="http", url=f"http://127.0.0.1:{port}/mcp")
    async with connections(record) as mcp:
        toolset = mcp.toolset("demo")
        async with demo_on_port(port):
            first = await value(toolset, "process_id")
        async with demo_on_port(port):
            assert await value(toolset, "process_id") != first


async def test_secrets_do_not_appear_in_what_is_printed_of_a_connection(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("DEBUG")
    port = free_port()
    record = RemoteMcpServerRecord(
        transport="http",
        url=f"http://127.0.0.1:{port}/mcp?key=${{DEMO_KEY}}",
        headers={"Authorization": "Bearer ${DEMO_KEY}"},
    )
    async with McpConnections({"demo": record}, environ={"DEMO_KEY": "s3cr3t-value"}) as mcp:
        async with demo_on_port(port):
            assert await value(mcp.toolset("demo"), "add", a=1, b=1) == 2
        print(mcp, mcp.connection("demo", None), await mcp.check("demo"))
    out, err = capfd.readouterr()
    assert "s3cr3t" not in out + err
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("oda")]
    assert "s3cr3t" not in "".join(ours)


async def test_without_anybody_closing_it_a_server_ends_with_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODA_MCP_PINS", str(tmp_path / "pins.json"))
    (tmp_path / "mcp.yaml").write_text(
        f"servers: {{demo: {{transport: stdio, command: python, args: [{DEMO}, --stubborn]}}}}"
    )
    program = f"""
import asyncio, pathlib, psutil
from oda.tools.mcp import mcp_toolset
tools = asyncio.run(mcp_toolset("demo", config_dir=pathlib.Path({str(tmp_path)!r})).get_tools())
print(len(tools), psutil.Process().children())
"""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await asyncio.wait_for(process.communicate(), 60)
    assert output.decode().split() == ["8", "[]"]
