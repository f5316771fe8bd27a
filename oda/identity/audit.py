"""The audit log: an append-only record of changes and who made them."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict
from sqlalchemy import Connection, insert, select

from oda.clock import Clock, utc
from oda.database.database import Database
from oda.database.schema import audit
from oda.message.storable import storable, storable_text

_NAME, _ACTION, _TARGET = 128, 256, 512
"""Most characters of the columns."""


class AuditEntry(BaseModel):
    """One thing that somebody did, or tried to do."""

    model_config = ConfigDict(frozen=True, from_attributes=True)

    id: int
    """Grows."""
    at: datetime
    actor: str
    """The acting principal."""
    user_id: str
    """The user on whose behalf it acted."""
    key_id: str | None
    """With which API key."""
    action: str
    """Method and route, such as `POST /v1/turns/{tid}/cancel`, or a command."""
    target: str
    """The path, or what the command names."""
    status: int
    """How it was answered, as of HTTP."""
    trace_id: str | None
    detail: dict[str, Any]
    """The decision, for approvals."""


class AuditLog:
    """The audit of a database. The database itself refuses to change or delete what is in it."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def record(
        self,
        *,
        actor: str,
        user_id: str,
        key_id: str | None,
        action: str,
        target: str,
        status: int,
        trace_id: str | None,
        detail: Mapping[str, Any] | None = None,
    ) -> "asyncio.Future[Any]":
        """Write an entry in the background, batched with others; overlong texts are truncated.

        Returns:
            A future that is done when the entry is stored. It need not be awaited.
        """
        row = {
            "at": utc(self._clock),
            "actor": _fitting(actor, _NAME),
            "user_id": _fitting(user_id, _NAME),
            "key_id": key_id,
            "action": _fitting(action, _ACTION),
            "target": _fitting(target, _TARGET),
            "status": status,
            "trace_id": trace_id or None,
            "detail": storable(detail or {}),
        }

        def write(connection: Connection) -> None:
            connection.execute(insert(audit), row)

        return self._database.journal.defer(write)

    async def read(self, after: int = 0, limit: int = 100) -> Sequence[AuditEntry]:
        """Entries behind the one with the id `after`, oldest first."""
        wanted = select(audit).where(audit.c.id > after).order_by(audit.c.id).limit(limit)
        return [AuditEntry.model_validate(row) for row in await self._database.rows(wanted)]


def _fitting(text: str, length: int) -> str:
    return storable_text(text)[:length]
