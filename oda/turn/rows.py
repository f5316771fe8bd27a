"""Turns and log entries as rows, and conditions of queries."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.adk.events import Event
from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Row,
    ScalarSelect,
    Select,
    and_,
    func,
    insert,
    select,
)

from oda.agent.turn_plugin import SessionKey
from oda.database.schema import idempotency_keys, turn_entries, turns
from oda.errors import InvalidRequestError
from oda.turn.log import Entry, EntryKind
from oda.turn.record import Turn, TurnError, TurnUsage
from oda.turn.submission import IdempotencyKey, TurnInput

UNFINISHED = ("queued", "running")
"""Statuses of turns that must run."""
_MAX_POSITION = 2**63 - 1

_CONSTANT = {
    "turn_id",
    "app",
    "user_id",
    "session_id",
    "agent",
    "agent_version",
    "pinned",
    "metadata",
    "trace_id",
    "created_at",
}
"""Fields of a turn that never change."""

_other = turns.alias("other")


@dataclass(frozen=True)
class StoredTurn:
    """A turn with the data needed to run it."""

    turn: Turn
    input: TurnInput
    message_may_be_stored: bool
    """Whether the session may hold the message of `input` already."""
    run: int
    """Number of the latest run, which alone may write."""
    recoveries: int
    """How often a process died while it ran the turn."""
    cancel_requested: bool
    last: int
    """Number of the last log entry."""


def key_of(turn: Turn) -> SessionKey:
    return turn.app, turn.user_id, turn.session_id


def in_session(session: SessionKey) -> ColumnElement[bool]:
    app, user_id, session_id = session
    return and_(turns.c.app == app, turns.c.user_id == user_id, turns.c.session_id == session_id)


def is_key(user_id: str, key: IdempotencyKey) -> ColumnElement[bool]:
    return and_(
        idempotency_keys.c.user_id == user_id,
        idempotency_keys.c.route == key.route,
        idempotency_keys.c.key == key.key,
    )


def unfinished(table: FromClause = turns) -> ColumnElement[bool]:
    """Return the condition that a turn must run; `finished_at` selects partial indices."""
    return and_(table.c.finished_at.is_(None), table.c.status.in_(UNFINISHED))


def waits_for_input() -> ColumnElement[bool]:
    """Return the condition that a turn waits for a person."""
    return and_(turns.c.finished_at.is_(None), turns.c.status == "waiting_input")


def unfinished_in(session: SessionKey) -> Select[int]:
    """Return a query for the number of a session's turns that must run."""
    return select(func.count()).select_from(turns).where(in_session(session), unfinished())


def next_position(session: SessionKey) -> ScalarSelect[int]:
    """Return one more than the highest position of the session."""
    app, user_id, session_id = session
    highest = select(func.coalesce(func.max(_other.c.position), 0) + 1).where(
        _other.c.app == app, _other.c.user_id == user_id, _other.c.session_id == session_id
    )
    return highest.scalar_subquery()


def with_last() -> Select[Any]:
    last = (
        select(func.coalesce(func.max(turn_entries.c.number), 0))
        .where(turn_entries.c.turn_id == turns.c.turn_id)
        .scalar_subquery()
    )
    return select(turns, last.label("last"))


def columns_of(turn: Turn) -> dict[str, Any]:
    """Return the columns that change during a turn."""
    return {
        "status": turn.status,
        "attempts": turn.attempts,
        "reply": turn.reply,
        "error": turn.error.model_dump() if turn.error else None,
        "model_calls": turn.usage.model_calls,
        "input_tokens": turn.usage.input_tokens,
        "output_tokens": turn.usage.output_tokens,
        "cost_usd": turn.usage.cost_usd,
        "pending_input": turn.pending_input,
        "started_at": turn.started_at,
        "finished_at": turn.finished_at,
    }


def rows_of(turn_id: str, entries: Sequence[Entry]) -> list[Mapping[str, Any]]:
    return [
        {
            "turn_id": turn_id,
            "number": entry.number,
            "kind": entry.kind,
            "event_id": entry.event_id,
            "data": _data_of(entry),
        }
        for entry in entries
    ]


def _data_of(entry: Entry) -> str | None:
    """Return what an entry adds to the row of its turn, or to its session's event, as JSON."""
    if entry.event_id is not None:
        return None
    if isinstance(entry.data, Event):
        return entry.json.decode()
    if entry.kind == "done":  # the row of a final turn never changes
        return "{}"
    return entry.data.model_dump_json(exclude=_CONSTANT, exclude_defaults=True)


def entry_of(row: Row[Any], turn: Turn) -> Entry:
    """Return an entry of a turn from its row, which must have data, and the turn as it is now."""
    if row.kind == "event":
        return Entry(row.number, row.kind, row.data.encode())
    changing = set(Turn.model_fields) - _CONSTANT
    past = turn.model_dump(exclude=changing if row.kind == "turn" else None)
    return Entry.of(row.number, row.kind, Turn.model_validate({**past, **json.loads(row.data)}))


def turn_of(row: Row[Any]) -> Turn:
    return Turn(
        turn_id=row.turn_id,
        app=row.app,
        user_id=row.user_id,
        session_id=row.session_id,
        agent=row.agent,
        agent_version=row.agent_version,
        pinned=row.pinned,
        status=row.status,
        attempts=row.attempts,
        reply=row.reply,
        error=TurnError.model_validate(row.error) if row.error else None,
        usage=TurnUsage(
            model_calls=row.model_calls,
            input_tokens=row.input_tokens,
            output_tokens=row.output_tokens,
            cost_usd=row.cost_usd,
        ),
        pending_input=row.pending_input,
        metadata=row.metadata,
        trace_id=row.trace_id,
        created_at=row.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
    )


def stored_of(row: Row[Any], *, last: int) -> StoredTurn:
    return StoredTurn(
        turn=turn_of(row),
        input=TurnInput.model_validate(row.input),
        message_may_be_stored=row.message_may_be_stored,
        run=row.run,
        recoveries=row.recoveries,
        cancel_requested=row.cancel_requested,
        last=last,
    )


def encode_cursor(position: int) -> str:
    return base64.urlsafe_b64encode(str(position).encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> int:
    try:
        position = int(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if not 0 <= position <= _MAX_POSITION:
            raise ValueError("out of range")
        return position
    except ValueError as error:
        raise InvalidRequestError(
            "The cursor is not valid.", remedy="use next_cursor of the page before"
        ) from error


def append_entry(connection: Connection, turn: Turn, kind: EntryKind) -> int:
    """Store an entry of a turn that does not run, and return its number."""
    entry = Entry.of(last_of(connection, turn.turn_id) + 1, kind, turn)
    connection.execute(insert(turn_entries), rows_of(turn.turn_id, [entry]))
    return entry.number


def last_of(connection: Connection, turn_id: str) -> int:
    """Return the number of the last entry of a turn."""
    highest = select(func.max(turn_entries.c.number)).where(turn_entries.c.turn_id == turn_id)
    return connection.scalar(highest) or 0
