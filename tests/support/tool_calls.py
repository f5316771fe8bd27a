"""Calling workspace tools as ADK does, in a turn of their own, with the sandbox of this machine."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from google.adk.agents import LlmAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.sessions import InMemorySessionService
from google.adk.tools.tool_context import ToolContext

from oda.clock import SystemClock
from oda.settings import Settings, WorkspaceSettings
from oda.workspace.sandbox.choice import Sandboxes, default_sandboxes
from oda.workspace.workspace import Workspace
from oda.workspace.workspaces import Workspaces, default_workspaces


@asynccontextmanager
async def tool_call(root: Path) -> AsyncIterator[tuple[ToolContext, Workspace]]:
    """A call of a tool, and the workspace that it works in."""
    workspaces = Workspaces(root, WorkspaceSettings(), SystemClock())
    sessions = InMemorySessionService()
    invocation = InvocationContext(
        session_service=sessions,
        session=await sessions.create_session(app_name="app", user_id="user"),
        agent=LlmAgent(name="agent"),
        invocation_id="turn",
    )
    async with AsyncExitStack() as stack:
        stack.enter_context(default_workspaces.set(workspaces))
        sandboxes = await stack.enter_async_context(Sandboxes(Settings()))
        stack.enter_context(default_sandboxes.set(sandboxes))
        workspace = await stack.enter_async_context(
            await workspaces.open(invocation.session.id, "turn")
        )
        yield ToolContext(invocation, function_call_id="call"), workspace
