"""Notices of concerns that wait to be sent to parents, over restarts and from any process."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, func, select, update

from oda import ApplicationDatabase

from .records import Channel
from .schema import concerns, learning_database, notices

_AT_ONCE = 10
_LEASE = timedelta(minutes=2)
"""An attempt takes less; one whose process died is made again after that."""


@dataclass(frozen=True)
class Notice:
    """What a parent is to be told."""

    id: str
    child_id: str
    parent_id: str
    channel: Channel
    category: str
    severity: str
    saved_at: datetime
    attempts: int
    """With the one that begins."""


def new_notice(
    concern_id: str, child_id: str, parent_id: str, channel: Channel, now: datetime
) -> dict[str, Any]:
    """Return the row of a notice that waits."""
    name = f"{concern_id}\n{parent_id}\n{channel}"
    return {
        "id": hashlib.sha256(name.encode()).hexdigest(),
        "concern_id": concern_id,
        "user_id": child_id,
        "parent_id": parent_id,
        "channel": channel,
        "status": "waiting",
        "attempts": 0,
        "next_at": now,
        "problem": "",
        "created_at": now,
    }


class NoticeStore:
    """Gives each notice to one sender at a time.

    Raises (all methods):
        UnavailableError: the database cannot be reached.
    """

    def __init__(self, database: ApplicationDatabase) -> None:
        self._database = database

    async def take(self, now: datetime) -> Sequence[Notice]:
        """Return notices whose time has come; nobody else gets them for a while."""
        waiting = (
            select(notices, concerns.c.category, concerns.c.severity, concerns.c.saved_at)
            .join(concerns, concerns.c.id == notices.c.concern_id)
            .where(notices.c.status == "waiting", notices.c.next_at <= now)
            .order_by(notices.c.next_at, notices.c.id)
            .limit(_AT_ONCE)
        )

        def take(connection: Connection) -> list[Notice]:
            taken = []
            for row in connection.execute(waiting).all():
                this = (notices.c.id == row.id) & (notices.c.next_at == row.next_at)
                values = {"next_at": now + _LEASE, "attempts": row.attempts + 1}
                if connection.execute(update(notices).where(this).values(values)).rowcount:
                    taken.append(
                        Notice(
                            id=row.id,
                            child_id=row.user_id,
                            parent_id=row.parent_id,
                            channel=row.channel,
                            category=row.category,
                            severity=row.severity,
                            saved_at=row.saved_at,
                            attempts=row.attempts + 1,
                        )
                    )
            return taken

        return await self._database.write(take)

    async def sent(self, notice: Notice) -> None:
        """Note that the parent has been told."""
        await self._change(notice, status="sent", problem="")

    async def not_sent(self, notice: Notice, problem: str, next_at: datetime | None) -> None:
        """Note why it has failed, and when it is tried again; None is never."""
        if next_at is None:
            await self._change(notice, status="failed", problem=problem)
        else:
            await self._change(notice, next_at=next_at, problem=problem)

    async def next_at(self) -> datetime | None:
        """Return when the next attempt is to be made; None when nothing waits."""
        query = select(func.min(notices.c.next_at)).where(notices.c.status == "waiting")
        return await self._database.read(lambda connection: connection.scalar(query))

    async def _change(self, notice: Notice, **values: Any) -> None:
        change = update(notices).where(notices.c.id == notice.id).values(**values)

        def write(connection: Connection) -> None:
            connection.execute(change)

        await self._database.write(write)


waiting_notices = NoticeStore(learning_database)
