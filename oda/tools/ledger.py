"""The record of tool calls: written before a call starts, and when it ends.

It tells after a crash which calls have run, which have not, and which may have.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, Protocol, TypeAlias

from sqlalchemy import Connection, Row, and_, delete, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.elements import ColumnElement

from oda.clock import Clock
from oda.database.database import Database
from oda.database.schema import tool_calls
from oda.database.write_queue import writes_of_turn
from oda.message.storable import storable_text
from oda.tools.idempotency import CallKey

MAX_STORED_CHARS = 256 * 1024
"""A longer result is not kept; that the call has succeeded is."""

_WRITTEN_WITHIN_S = 0.005
"""How soon a result is stored: calls that run beside it may have the process killed."""

_LONGEST_TURN = 64

CallStatus: TypeAlias = Literal["started", "waiting", "succeeded", "failed", "unknown"]
"""`waiting`: for a person, or for a result that is delivered later."""


@dataclass(frozen=True)
class ToolCall:
    """A call that is about to run."""

    key: CallKey
    session: tuple[str, str, str]
    """App, user, session."""
    agent: str
    tool: str
    idempotent: bool
    inside_another: bool = False
    """Whether the call is made by an agent that runs as a tool; repeating that agent repeats it."""


@dataclass(frozen=True)
class CallRecord:
    """The recorded state of a call."""

    tool: str
    status: CallStatus
    idempotent: bool
    runs: int
    """How often it was started."""
    result: str | None = None
    """The answer to the model as JSON; None if there is none yet, or it is not kept."""

    @property
    def ended(self) -> bool:
        """Whether the call has an answer, including an error."""
        return self.status in ("succeeded", "failed")


class ToolLedger(Protocol):
    """Records tool calls.

    Methods that return nothing write in the background, in order, and log failures.
    """

    async def begin(self, call: ToolCall) -> CallRecord:
        """Record that a call starts; only a result of status `started` lets it run.

        It does when the call has not run yet, waits, or is unfinished and may run twice. Else the
        result says what became of it. Returns when that is stored.

        Raises:
            UnavailableError: the database cannot be reached; the call must not run.
            OwnershipLostError: there is a later run of the turn.
        """
        ...

    def finish(self, key: CallKey, result: str | None) -> None:
        """The call has succeeded; `result` is JSON, or None when it must not be kept."""
        ...

    def fail(self, key: CallKey, answer: str) -> None:
        """Record a failed call; `answer` is the message for the model as JSON."""
        ...

    def waiting(self, key: CallKey) -> None:
        """The call has asked a person, or its result is delivered later."""
        ...

    def withdraw(self, key: CallKey) -> None:
        """The call did not run after all."""
        ...

    def lose(self, key: CallKey) -> None:
        """Record that the outcome of the call will stay unknown, unless it has ended."""
        ...

    async def of_turn(self, turn: str) -> Mapping[str, CallRecord]:
        """All calls of a turn, by call id.

        Raises:
            UnavailableError: the database cannot be reached.
        """
        ...

    async def close_turn(self, turn: str) -> None:
        """The turn is over: calls that are still `started` have an unknown outcome.

        Raises:
            UnavailableError: the database cannot be reached.
        """
        ...


class SqlToolLedger:
    """The ledger in the table `oda_tool_calls`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def begin(self, call: ToolCall) -> CallRecord:
        def begin(connection: Connection) -> CallRecord:
            return _begin(connection, call, self._now())

        journal = self._database.journal
        with self._database.reaching():
            if (writes := writes_of_turn(journal)) is not None:
                return await writes.run(begin)  # behind the event of the call, if the run may write
            return await journal.run(begin)

    def finish(self, key: CallKey, result: str | None) -> None:
        self._end(key, "succeeded", result)

    def fail(self, key: CallKey, answer: str) -> None:
        self._end(key, "failed", answer)

    def waiting(self, key: CallKey) -> None:
        self._update(_is(key), status="waiting")

    def lose(self, key: CallKey) -> None:
        started = and_(_is(key), tool_calls.c.status == "started")
        self._update(started, status="unknown", finished_at=self._now())

    def withdraw(self, key: CallKey) -> None:
        def undo(connection: Connection) -> None:
            once = and_(_is(key), tool_calls.c.runs == 1)
            if connection.execute(delete(tool_calls).where(once)).rowcount == 0:
                less = update(tool_calls).where(_is(key), tool_calls.c.status == "started")
                connection.execute(less.values(runs=tool_calls.c.runs - 1))

        self._database.journal.defer(undo)

    async def of_turn(self, turn: str) -> Mapping[str, CallRecord]:
        of_turn = tool_calls.c.invocation_id == _stored_turn(turn)
        query = select(tool_calls).where(of_turn).order_by(tool_calls.c.started_at)

        def read(connection: Connection) -> Mapping[str, CallRecord]:
            return {row.call_id: _record(row) for row in connection.execute(query)}

        with self._database.reaching():  # in the journal's order: after what has been deferred
            return await self._database.journal.run(read)

    async def close_turn(self, turn: str) -> None:
        started = and_(
            tool_calls.c.invocation_id == _stored_turn(turn), tool_calls.c.status == "started"
        )
        statement = (
            update(tool_calls).where(started).values(status="unknown", finished_at=self._now())
        )

        def close(connection: Connection) -> None:
            connection.execute(statement)

        with self._database.reaching():
            await self._database.journal.run(close)

    def _end(self, key: CallKey, status: CallStatus, result: str | None) -> None:
        kept = result if result is not None and len(result) <= MAX_STORED_CHARS else None
        self._update(_is(key), status=status, result=kept, finished_at=self._now())

    def _update(self, which: ColumnElement[bool], **values: Any) -> None:
        statement = update(tool_calls).where(which).values(**values)

        def write(connection: Connection) -> None:
            connection.execute(statement)

        self._database.journal.defer(write, within_s=_WRITTEN_WITHIN_S)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now(), UTC)


def _stored_turn(turn: str) -> str:
    """A turn's id as its column takes it; callers may choose ids of any kind."""
    if len(turn) <= _LONGEST_TURN:
        return storable_text(turn)
    return hashlib.sha256(turn.encode(errors="replace")).hexdigest()


def _is(key: CallKey) -> ColumnElement[bool]:
    return and_(
        tool_calls.c.invocation_id == _stored_turn(key.turn),
        tool_calls.c.call_id == storable_text(key.call_id),
    )


def _begin(connection: Connection, call: ToolCall, now: datetime) -> CallRecord:
    """One statement: insert, or count one more run where that is allowed."""
    app, user_id, session_id = call.session
    insert = _insert(connection)(tool_calls).values(
        invocation_id=_stored_turn(call.key.turn),
        call_id=storable_text(call.key.call_id),
        app=app,
        user_id=user_id,
        session_id=session_id,
        agent=call.agent[:256],
        tool=storable_text(call.tool[:256]),
        status="started",
        idempotent=call.idempotent,
        runs=1,
        started_at=now,
    )
    statement = insert.on_conflict_do_update(
        index_elements=["invocation_id", "call_id"],
        set_={
            "status": "started",
            "runs": tool_calls.c.runs + 1,
            "result": None,
            "started_at": now,
            "finished_at": None,
        },
        where=_may_run_again(call),
    ).returning(tool_calls)
    row = connection.execute(statement).one_or_none()
    if row is None:
        row = (connection.execute(select(tool_calls).where(_is(call.key)))).one()
        if row.status == "started":
            lost = update(tool_calls).where(_is(call.key))
            connection.execute(lost.values(status="unknown", finished_at=now))
            return CallRecord(row.tool, "unknown", row.idempotent, row.runs)
    return _record(row)


def _may_run_again(call: ToolCall) -> ColumnElement[bool]:
    if call.inside_another:
        return tool_calls.c.runs > 0
    unfinished = tool_calls.c.status.in_(("started", "unknown"))
    return or_(
        tool_calls.c.status == "waiting",
        and_(tool_calls.c.idempotent, unfinished),
    )


def _insert(connection: Connection) -> Any:
    """`INSERT` with `ON CONFLICT`, which each dialect has for itself."""
    dialects: dict[str, Any] = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}
    return dialects[connection.dialect.name]


def _record(row: Row[Any]) -> CallRecord:
    return CallRecord(row.tool, row.status, row.idempotent, row.runs, row.result)
