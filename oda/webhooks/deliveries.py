"""Deliveries that wait in the database: each is stored with the change that it tells of."""

import asyncio
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from sqlalchemy import Connection, Row, Select, func, insert, select, update

from oda.clock import Clock, utc
from oda.database.database import Database
from oda.database.journal import REQUEST_S
from oda.database.schema import deliveries, turns
from oda.errors import NotFoundError
from oda.webhooks.notify import Notify, NotifyEvent

DeliveryStatus = Literal["waiting", "delivered", "failed"]

LEASE = timedelta(seconds=30)
"""An attempt takes less; one whose process has died is made again after that."""
_LONGEST_PROBLEM = 500


@dataclass(frozen=True)
class Delivery:
    """A message to one address, without its body."""

    delivery_id: str
    """The `webhook-id` of all attempts."""
    turn_id: str
    app: str
    user_id: str
    type: str
    """Such as `turn.done`."""
    url: str
    status: DeliveryStatus
    attempts: int
    """With one that is being made."""
    problem: str
    """Why the last attempt has failed."""
    created_at: datetime
    next_at: datetime | None
    """When it is tried again."""
    delivered_at: datetime | None


@dataclass(frozen=True)
class TakenDelivery:
    """A delivery that this process is to attempt."""

    delivery_id: str
    turn_id: str
    url: str
    body: str
    attempts: int
    """With this one."""


def add_deliveries(
    connection: Connection,
    turn_id: str,
    event: NotifyEvent,
    notified: Iterable[Notify],
    turn_json: str,
    now: datetime,
) -> None:
    """Store what is to be told of a turn; called in the transaction that changes it.

    Args:
        turn_json: The turn as clients get it.
    """
    told = [one for one in notified if event in one.events]
    if not told:
        return
    kind = f"turn.{event}"
    timestamp = now.isoformat().replace("+00:00", "Z")
    body = f'{{"type":"{kind}","timestamp":"{timestamp}","data":{turn_json}}}'
    connection.execute(
        insert(deliveries),
        [
            {
                "delivery_id": f"msg_{uuid.uuid4().hex}",
                "turn_id": turn_id,
                "type": kind,
                "url": one.url,
                "body": body,
                "attempts": 0,
                "problem": "",
                "created_at": now,
                "next_at": now,
            }
            for one in told
        ],
    )


class Deliveries:
    """The deliveries of a database; each is given to one sender at a time.

    Args:
        sender: Name of this process.

    Raises (all methods): SQLAlchemyError: the database cannot be reached.
    """

    def __init__(self, database: Database, clock: Clock, sender: str = "") -> None:
        self._database = database
        self._clock = clock
        self._sender = sender
        self.added = asyncio.Event()
        """Set when this process has stored a delivery."""

    async def take(self, most: int) -> Sequence[TakenDelivery]:
        """Return deliveries that are due; no other process gets them for the time of a lease."""
        now = utc(self._clock)
        due = (
            select(deliveries)
            .where(deliveries.c.next_at <= now)
            .order_by(deliveries.c.next_at)
            .limit(most)
            .with_for_update(skip_locked=True)
        )

        def operation(connection: Connection) -> list[TakenDelivery]:
            rows = connection.execute(due).all()
            for row in rows:
                connection.execute(
                    update(deliveries)
                    .where(deliveries.c.delivery_id == row.delivery_id)
                    .values(next_at=now + LEASE, attempts=row.attempts + 1, sender=self._sender)
                )
            return [
                TakenDelivery(row.delivery_id, row.turn_id, row.url, row.body, row.attempts + 1)
                for row in rows
            ]

        return await self._database.journal.run(operation)

    async def next_at(self) -> datetime | None:
        """Return when the next one is due; None when none waits."""
        query = select(func.min(deliveries.c.next_at)).where(deliveries.c.next_at.is_not(None))
        found: datetime | None = await self._database.scalar(query)
        return found

    async def delivered(self, taken: TakenDelivery) -> None:
        """Note that it has arrived."""
        await self._settle(taken, next_at=None, problem="", delivered_at=utc(self._clock))

    async def not_delivered(
        self, taken: TakenDelivery, problem: str, delay: timedelta | None
    ) -> None:
        """Note why it has not arrived, and when it is tried again; None is never."""
        next_at = None if delay is None else utc(self._clock) + delay
        await self._settle(taken, next_at=next_at, problem=problem[:_LONGEST_PROBLEM])

    async def give_back(self, taken: TakenDelivery) -> None:
        """Leave one that was not attempted to the end to any process, at once."""
        await self._settle(taken, next_at=utc(self._clock), attempts=taken.attempts - 1)

    async def _settle(self, taken: TakenDelivery, **values: Any) -> None:
        mine = (
            deliveries.c.delivery_id == taken.delivery_id,
            deliveries.c.attempts == taken.attempts,
            deliveries.c.sender == self._sender,
        )
        change = update(deliveries).where(*mine).values(sender=None, **values)
        await self._database.journal.run(
            lambda connection: connection.execute(change), within_s=REQUEST_S
        )

    async def reclaim(self) -> None:
        """Make due what a dead process was sending, where no other process can be."""
        left = update(deliveries).where(
            deliveries.c.next_at.is_not(None), deliveries.c.sender.is_not(None)
        )
        change = left.values(next_at=utc(self._clock), sender=None)
        await self._database.journal.run(lambda connection: connection.execute(change))

    # --- for operators

    async def find(
        self, *, status: DeliveryStatus | None = None, turn_id: str | None = None, limit: int
    ) -> Sequence[Delivery]:
        """Return the newest deliveries that match all given values, newest first."""
        query = _shown().order_by(deliveries.c.created_at.desc(), deliveries.c.delivery_id)
        if turn_id is not None:
            query = query.where(deliveries.c.turn_id == turn_id)
        if status == "delivered":
            query = query.where(
                deliveries.c.delivered_at.is_not(None), deliveries.c.next_at.is_(None)
            )
        elif status == "waiting":
            query = query.where(deliveries.c.next_at.is_not(None))
        elif status == "failed":
            query = query.where(deliveries.c.next_at.is_(None), deliveries.c.delivered_at.is_(None))
        return [_delivery_of(row) for row in await self._database.rows(query.limit(limit))]

    async def retry(self, delivery_id: str) -> Delivery:
        """Have a delivery sent again, with all its attempts, also one that has arrived.

        Raises:
            NotFoundError: there is none of that id, or it is no longer kept.
        """
        this = deliveries.c.delivery_id == delivery_id
        again = update(deliveries).where(this)
        again = again.values(
            next_at=utc(self._clock), attempts=0, sender=None, problem="", delivered_at=None
        )

        def operation(connection: Connection) -> Row[Any] | None:
            connection.execute(again)
            return connection.execute(_shown().where(this)).one_or_none()

        row = await self._database.journal.run(operation, within_s=REQUEST_S)
        if row is None:
            raise NotFoundError(
                f"There is no delivery {delivery_id!r}.",
                remedy="`oda webhooks list` shows the ids",
            )
        return _delivery_of(row)


def _shown() -> Select[Any]:
    columns = [column for column in deliveries.c if column.name not in ("body", "sender")]
    return select(*columns, turns.c.app, turns.c.user_id).join(
        turns, turns.c.turn_id == deliveries.c.turn_id
    )


def _delivery_of(row: Row[Any]) -> Delivery:
    status: DeliveryStatus = "failed"
    if row.next_at is not None:
        status = "waiting"
    elif row.delivered_at is not None:
        status = "delivered"
    return Delivery(
        delivery_id=row.delivery_id,
        turn_id=row.turn_id,
        app=row.app,
        user_id=row.user_id,
        type=row.type,
        url=row.url,
        status=status,
        attempts=row.attempts,
        problem=row.problem,
        created_at=row.created_at,
        next_at=row.next_at,
        delivered_at=row.delivered_at,
    )
