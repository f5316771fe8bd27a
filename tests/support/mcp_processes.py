"""MCP servers as real processes, and what is needed to use their tools without a model."""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
from google.adk.agents import LlmAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.sessions import InMemorySessionService
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.tool_context import ToolContext

from oda.config import StdioMcpServerRecord

DEMO = Path(__file__).with_name("mcp_demo_server.py")


def demo(*options: str, **fields: Any) -> StdioMcpServerRecord:
    """The record of a demo server on stdio."""
    return StdioMcpServerRecord(command="python", args=(str(DEMO), *options), **fields)


def demo_processes() -> set[int]:
    """The demo servers that this process has started on stdio and that still run."""
    children = psutil.Process().children(recursive=True)
    return {child.pid for child in children if _is_demo(child)}


def _is_demo(process: psutil.Process) -> bool:
    try:
        command = process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return False
    return str(DEMO) in command and "--port" not in command


async def only_demo_processes(*expected: int) -> None:
    """Wait until just these are left."""
    async with asyncio.timeout(10):
        while demo_processes() != set(expected):  # noqa: ASYNC110 - the system tells nobody
            await asyncio.sleep(0.05)


async def appears(path: Path) -> None:
    """Wait until a server has made the file."""
    async with asyncio.timeout(10):
        while not path.exists():  # noqa: ASYNC110, ASYNC240 - the system tells nobody
            await asyncio.sleep(0.02)


async def call(toolset: BaseToolset, tool: str, **args: Any) -> Any:
    """List the tools as ADK does, and run one."""
    tools = {listed.name: listed for listed in await toolset.get_tools_with_prefix()}
    return await tools[tool].run_async(args=args, tool_context=await _tool_context())


async def value(toolset: BaseToolset, tool: str, **args: Any) -> Any:
    """What a tool of the demo server returns."""
    return (await call(toolset, tool, **args))["structuredContent"]["result"]


async def _tool_context() -> ToolContext:
    sessions = InMemorySessionService()
    session = await sessions.create_session(app_name="app", user_id="user")
    return ToolContext(
        InvocationContext(
            session_service=sessions,
            session=session,
            agent=LlmAgent(name="agent"),
            invocation_id="turn",
        ),
        function_call_id="call",
    )


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@asynccontextmanager
async def demo_on_port(
    port: int, transport: str = "streamable-http"
) -> AsyncIterator[asyncio.subprocess.Process]:
    """The demo server over HTTP, ready."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(DEMO), "--port", str(port), "--transport", transport
    )
    try:
        await listening(port)
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def listening(port: int) -> None:
    """Wait until a server accepts connections."""
    async with asyncio.timeout(20):
        while not await _accepts(port):  # noqa: ASYNC110 - the system tells nobody
            await asyncio.sleep(0.05)


async def _accepts(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True
