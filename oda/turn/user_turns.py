"""The turns of a user with an app, in all sessions, the latest changed first."""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, func, or_, select

from oda.database.schema import turns
from oda.errors import InvalidRequestError
from oda.turn.record import Turn, TurnStatus
from oda.turn.rows import turn_of

_CHANGED = func.coalesce(turns.c.finished_at, turns.c.started_at, turns.c.created_at)
"""When a turn ended, else when it began, else when it was accepted."""


@dataclass(frozen=True)
class TurnFilter:
    """Which turns are wanted."""

    app: str
    user_id: str
    session_id: str | None = None
    status: TurnStatus | None = None
    changed_since: datetime | None = None


@dataclass(frozen=True)
class TurnPage:
    turns: Sequence[Turn]
    next_cursor: str | None
    total: int
    """How many turns are wanted on all pages."""


def page_query(wanted: TurnFilter, limit: int, cursor: str | None) -> Select[Any]:
    """Return the query for a page and one turn more, without the turns' messages.

    Raises:
        InvalidRequestError: the cursor is malformed.
    """
    columns = [column for column in turns.c if column.name != "input"]
    query = select(*columns, _CHANGED.label("changed")).where(*_conditions(wanted))
    if cursor is not None:
        at, turn_id = _decoded(cursor)
        changed = _CHANGED
        behind = or_(changed < at, and_(changed == at, turns.c.turn_id < turn_id))
        query = query.where(behind)
    return query.order_by(_CHANGED.desc(), turns.c.turn_id.desc()).limit(limit + 1)


def page_of(connection: Connection, query: Select[Any], wanted: TurnFilter, limit: int) -> TurnPage:
    rows = connection.execute(query).all()
    count = select(func.count()).select_from(turns).where(*_conditions(wanted))
    last = rows[limit - 1] if len(rows) > limit else None
    return TurnPage(
        turns=[turn_of(row) for row in rows[:limit]],
        next_cursor=None if last is None else _encoded(last.changed, last.turn_id),
        total=connection.scalar(count) or 0,
    )


def _conditions(wanted: TurnFilter) -> list[ColumnElement[bool]]:
    conditions = [turns.c.app == wanted.app, turns.c.user_id == wanted.user_id]
    if wanted.session_id is not None:
        conditions.append(turns.c.session_id == wanted.session_id)
    if wanted.status is not None:
        conditions.append(turns.c.status == wanted.status)
    if wanted.changed_since is not None:
        conditions.append(wanted.changed_since <= _CHANGED)
    return conditions


def _encoded(changed: datetime, turn_id: str) -> str:
    position = json.dumps([changed.isoformat(), turn_id])
    return base64.urlsafe_b64encode(position.encode()).decode().rstrip("=")


def _decoded(cursor: str) -> tuple[datetime, str]:
    try:
        written = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        changed, turn_id = written
        at = datetime.fromisoformat(changed)
        if at.tzinfo is None or not isinstance(turn_id, str) or not turn_id.isprintable():
            raise ValueError("not a position")
    except (ValueError, TypeError) as error:
        raise InvalidRequestError(
            "The cursor is not valid.", remedy="use the one of the page before"
        ) from error
    return at, turn_id
