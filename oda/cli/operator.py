"""Records changes that an operator makes from the terminal in the audit log."""

import getpass
from collections.abc import Mapping
from typing import Any

from oda.clock import SystemClock
from oda.database.database import Database
from oda.identity.audit import AuditLog

_DONE = 200


async def record_command(
    database: Database,
    command: str,
    target: str,
    *,
    user_id: str,
    detail: Mapping[str, Any] | None = None,
) -> None:
    """Write down a command that has been carried out, with the machine's user as its actor.

    Args:
        command: Such as `oda keys revoke`.
        target: What it was about.
        user_id: Whose it was.
    """
    await AuditLog(database, SystemClock()).record(
        actor=f"{_operator()} (terminal)",
        user_id=user_id,
        key_id=None,
        action=command,
        target=target,
        status=_DONE,
        trace_id=None,
        detail=detail,
    )


def _operator() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name
        return "operator"
