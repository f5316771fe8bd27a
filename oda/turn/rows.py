"""Turns and log entries as rows, and conditions of queries."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Row,
    ScalarSelect,
    Select,
    and_,
    exists,
    func,
    or_,
    select,
)

from oda.agent.turn_plugin import SessionKey
from oda.database.database_time import DatabaseTime
from oda.database.schema import idempotency_keys, nodes, turn_entries, turns
from oda.errors import InvalidRequestError
from oda.turn.log import Entry
from oda.turn.record import Turn, TurnError, TurnUsage
from oda.turn.submission import IdempotencyKey, TurnInput

UNFINISHED = ("queued", "running")
"""Statuses of turns that a node must run."""
_MAX_POSITION = 2**63 - 1

_other = turns.alias("other")


@dataclass(frozen=True)
class StoredTurn:
    """A turn with the data needed to run it."""

    turn: Turn
    input: TurnInput
    begun: bool
    """Whether `input` may be in the session already."""
    recoveries: int
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
    """Return the condition that a node must run a turn; `finished_at` selects partial indices."""
    return and_(table.c.finished_at.is_(None), table.c.status.in_(UNFINISHED))


def waits_for_input() -> ColumnElement[bool]:
    """Return the condition that a turn waits for a person."""
    return and_(turns.c.finished_at.is_(None), turns.c.status == "waiting_input")


def unfinished_in(session: SessionKey) -> Select[tuple[str]]:
    return select(turns.c.turn_id).where(in_session(session), unfinished())


def lives(node_id: ColumnElement[str | None] | str) -> ColumnElement[bool]:
    """Return the condition that a node's lease is valid."""
    return exists().where(nodes.c.node_id == node_id, nodes.c.expires_at > DatabaseTime())


def next_position(session: SessionKey) -> ScalarSelect[int]:
    """Return one more than the highest position of the session."""
    app, user_id, session_id = session
    highest = select(func.coalesce(func.max(_other.c.position), 0) + 1).where(
        _other.c.app == app, _other.c.user_id == user_id, _other.c.session_id == session_id
    )
    return highest.scalar_subquery()


def someone_goes_before() -> ColumnElement[bool]:
    """Return the condition that another turn of the session runs or precedes the updated one."""
    earlier = _other.c.position < turns.c.position
    return exists().where(
        _other.c.app == turns.c.app,
        _other.c.user_id == turns.c.user_id,
        _other.c.session_id == turns.c.session_id,
        _other.c.turn_id != turns.c.turn_id,
        unfinished(_other),
        or_(
            _other.c.status == "running",
            and_(_other.c.interrupts, or_(~turns.c.interrupts, earlier)),
            and_(~turns.c.interrupts, earlier),
        ),
    )


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
        "agent": turn.agent,
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
            "data": entry.json.decode() if entry.event_id is None else None,
        }
        for entry in entries
    ]


def turn_of(row: Row[Any]) -> Turn:
    return Turn(
        turn_id=row.turn_id,
        app=row.app,
        user_id=row.user_id,
        session_id=row.session_id,
        agent=row.agent,
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


def stored_of(row: Row[Any]) -> StoredTurn:
    return StoredTurn(
        turn=turn_of(row),
        input=TurnInput.model_validate(row.input),
        begun=row.begun,
        recoveries=row.recoveries,
        cancel_requested=row.cancel_requested,
        last=row.last,
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
