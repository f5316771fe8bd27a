"""PostgreSQL connections with a time limit for each answer, and the outcome of lost commits."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from psycopg import AsyncConnection, Connection, OperationalError
from psycopg.abc import PQGen
from psycopg.errors import ConnectionTimeout, _WaitTimeout
from sqlalchemy import Connection as SqlConnection
from sqlalchemy import Engine, event, text
from sqlalchemy.exc import DataError

ANSWER_WITHIN_S = 3.0
"""Time limit for the answer to one statement."""
PING_WITHIN_S = 1.0
_CONNECT_WITHIN_S = 2
_IDLE_IN_TRANSACTION_S = 10
"""Time after which the server ends an open transaction that it hears nothing of.

Without it, a transaction of a client that vanished keeps its locks until TCP notices."""
_LEFT_ALONE_S = 1.0
"""Pause before reconnecting to a server whose connection attempt timed out."""
_LOOK_EVERY_S = 0.1

TRANSPORT: dict[str, Any] = {
    "connect_timeout": _CONNECT_WITHIN_S,
    "keepalives_idle": 30,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
"""libpq parameters; those in the URL take precedence."""

T = TypeVar("T")


class SilentServerError(OperationalError):
    """Raised when the server has not answered in time; the outcome of the statement is unknown."""


class ImpatientConnection(Connection[Any]):
    """A connection that closes itself when the server does not answer in time.

    A server-side limit such as `statement_timeout` does not help against a hanging server.
    """

    answers_within_s: float | None = ANSWER_WITHIN_S

    def wait(
        self, gen: PQGen[T], interval: float = _LOOK_EVERY_S, timeout: float | None = None
    ) -> T:
        limit = self.answers_within_s
        if timeout is not None or limit is None:
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(gen, interval, limit)
        except _WaitTimeout:
            self.pgconn.finish()
            raise _silent(limit) from None


class ImpatientAsyncConnection(AsyncConnection[Any]):
    """Like `ImpatientConnection`, for code on the event loop."""

    async def wait(
        self,
        gen: PQGen[T],
        interval: float = _LOOK_EVERY_S,
        timeout: float | None = None,  # noqa: ASYNC109 - psycopg's signature
    ) -> T:
        if timeout is not None:
            return await super().wait(gen, interval, timeout)
        try:
            return await super().wait(gen, interval, ANSWER_WITHIN_S)
        except _WaitTimeout:
            self.pgconn.finish()
            raise _silent(ANSWER_WITHIN_S) from None


def _silent(limit_s: float) -> SilentServerError:
    return SilentServerError(f"the server has not answered for {limit_s:g} s")


class Door:
    """Opens connections; for a second after an attempt timed out, further ones fail at once."""

    def __init__(self) -> None:
        self._closed_until = self._opened_at = float("-inf")

    def open(self, *arguments: Any, **options: Any) -> ImpatientConnection:
        now = time.monotonic
        began = now()
        if began < self._closed_until:
            raise OperationalError("the server did not answer a moment ago")
        try:
            opened = ImpatientConnection.connect(*arguments, **{**TRANSPORT, **_typed(options)})
        except ConnectionTimeout:
            if self._opened_at < began:
                self._closed_until = now() + _LEFT_ALONE_S
            raise
        self._opened_at, self._closed_until = now(), float("-inf")
        try:
            _limit_idle_transactions(opened, _IDLE_IN_TRANSACTION_S)
        except BaseException:
            opened.close()
            raise
        return opened


def _limit_idle_transactions(connection: ImpatientConnection, limit_s: int) -> None:
    """Set the server's time limit for a transaction that waits for its client; 0 is none."""
    # A startup parameter would save the request, but PgBouncer refuses it.
    connection.autocommit = True
    connection.execute(f"SET idle_in_transaction_session_timeout = {1000 * limit_s}")
    connection.autocommit = False


def _typed(options: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a URL, among them one of psycopg's that is no text."""
    if (threshold := options.get("prepare_threshold")) is None:
        return options
    return {**options, "prepare_threshold": None if threshold == "none" else int(threshold)}


def connect_impatiently(engine: Engine) -> None:
    """Make the engine's pool open `ImpatientConnection`s."""
    door = Door()

    def connect(_dialect: Any, _record: Any, arguments: Any, options: dict[str, Any]) -> Any:
        return door.open(*arguments, **options)

    event.listen(engine, "do_connect", connect)


@contextmanager
def pinged_briefly(connection: Any) -> Iterator[None]:
    """Shorten a connection's time limit during a ping."""
    if not isinstance(connection, ImpatientConnection):
        yield
        return
    connection.answers_within_s = PING_WITHIN_S
    try:
        yield
    finally:
        connection.answers_within_s = ANSWER_WITHIN_S


@contextmanager
def unhurried(engine: Engine) -> Iterator[SqlConnection]:
    """Open a connection without time limits, for migrations, counts and other long work."""
    with engine.connect() as connection:
        own = connection.connection.driver_connection
        if isinstance(own, ImpatientConnection):
            connection.detach()  # so that nobody else gets it without its limits
            own.answers_within_s = None
            _limit_idle_transactions(own, 0)
        yield connection


# --- the outcome of a commit


def own_transaction_id(connection: SqlConnection) -> str | None:
    """Return the id of the current transaction, or None if it has written nothing.

    Always None for SQLite, where the outcome of a commit is never in doubt.
    """
    if connection.dialect.name != "postgresql":
        return None
    asked = connection.exec_driver_sql("SELECT pg_current_xact_id_if_assigned()::text")
    found: str | None = asked.scalar()
    return found


def has_committed(connection: SqlConnection, transaction_id: str) -> bool | None:
    """Return whether a transaction was committed, or None while it is still open.

    An open transaction's backend is terminated.
    """
    given = {"id": transaction_id}
    # The client of an open transaction is gone: it would hold its locks and might still commit.
    try:
        connection.execute(_END, given)
        status = connection.scalar(_STATUS, given)
    except DataError:  # a replacement server, which has not assigned this id yet
        return False
    return None if status == "in progress" else status == "committed"


def is_silence(error: BaseException) -> bool:
    """Return whether an error means that the server did not answer in time."""
    return isinstance(getattr(error, "orig", None), SilentServerError)


_STATUS = text("SELECT pg_xact_status(CAST(:id AS xid8))")
_END = text(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE backend_xid = CAST(CAST(:id AS xid8) AS xid)"
)
