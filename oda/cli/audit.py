"""`oda audit`: the audit log."""

import asyncio
import json
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from oda.cli.exit_code import ExitCode
from oda.cli.terminal import load_settings
from oda.clock import SystemClock
from oda.database.database import open_database
from oda.database.migrate import upgrade
from oda.identity.audit import AuditEntry, AuditLog


def print_audit(*, after: int, limit: int, as_json: bool) -> ExitCode:
    """Print entries, oldest first.

    Raises:
        UnavailableError: the database cannot be reached.
    """
    entries = asyncio.run(_read(after, limit))
    if as_json:
        print(json.dumps({"entries": [e.model_dump(mode="json") for e in entries]}, indent=2))
        return ExitCode.OK
    console = Console(highlight=False, soft_wrap=True)
    if not entries:
        console.print("no entries")
    for entry in entries:
        console.print(Text(_line(entry), style="" if entry.status < 400 else "dim"))
    return ExitCode.OK


async def _read(after: int, limit: int) -> Sequence[AuditEntry]:
    settings = load_settings(agents_dir=None)
    async with open_database(settings.resolved_database_url) as database:
        with database.reaching():
            await upgrade(database.engine)
            return await AuditLog(database, SystemClock()).read(after, limit)


def _line(entry: AuditEntry) -> str:
    who = entry.actor if entry.actor == entry.user_id else f"{entry.actor} for {entry.user_id}"
    key = f" ({entry.key_id})" if entry.key_id else ""
    method = entry.action.split(" ", 1)[0]
    detail = f"  {json.dumps(entry.detail, ensure_ascii=False)}" if entry.detail else ""
    at = f"{entry.at:%Y-%m-%d %H:%M:%S}"
    return f"{entry.id}  {at}  {who}{key}  {method} {entry.target}  {entry.status}{detail}"
