"""`oda mcp`: approval of changed tool descriptions of MCP servers."""

import asyncio
import json
from collections.abc import Sequence
from difflib import unified_diff

import typer

from oda.cli.exit_code import ExitCode
from oda.cli.operator import record_command
from oda.cli.terminal import load_settings
from oda.context import context_without_database
from oda.database.database import open_database
from oda.database.migrate import upgrade
from oda.settings import Settings
from oda.tools.mcp_pins import Description, ToolChange


def approve_tools(server: str, *, yes: bool) -> ExitCode:
    """Print the changed tools of a server, and approve them.

    Raises:
        ConfigurationError: there is no such server.
        UnavailableError: the server does not answer.
    """
    return asyncio.run(_approve(load_settings(agents_dir=None), server, yes))


async def _approve(settings: Settings, server: str, yes: bool) -> ExitCode:
    async with context_without_database(settings) as oda:
        changes = await oda.mcp.changes(server)
        if not changes:
            print(f"{server}: nothing has changed since it was approved")
            return ExitCode.OK
        for change in changes:
            print("\n".join(_difference(change)))
        if not yes and not await asyncio.to_thread(typer.confirm, "Approve all of this?"):
            return ExitCode.FAILED
        await oda.mcp.approve(server, changes)
    await _record(settings, server, changes)
    print(f"{server}: approved {', '.join(change.name for change in changes)}")
    return ExitCode.OK


async def _record(settings: Settings, server: str, changes: Sequence[ToolChange]) -> None:
    async with open_database(settings.resolved_database_url) as database:
        with database.reaching():
            await upgrade(database.engine)
        detail = {"tools": [change.name for change in changes]}
        await record_command(database, "oda mcp approve", server, user_id="", detail=detail)


def _difference(change: ToolChange) -> list[str]:
    before, after = (_lines(one) for one in (change.before, change.after))
    names = (f"{change.name} (approved)", f"{change.name} (now)")
    return list(unified_diff(before, after, *names, lineterm=""))


def _lines(description: Description) -> list[str]:
    return json.dumps(description, ensure_ascii=True, indent=2, sort_keys=True).splitlines()
