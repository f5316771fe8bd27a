"""One pooled engine for a database."""

import time
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DisconnectionError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

from oda.errors import ConfigurationError

_DRIVERS = {
    "sqlite": "sqlite+aiosqlite",
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "mysql": "mysql+aiomysql",
}
IN_MEMORY = "sqlite:///:memory:"
"""A database that ends with its engine."""

_IN_MEMORY = (None, "", ":memory:")
_LOCK_TIMEOUT_S = 30
_USED_AT = "oda_used_at"


def is_sql(url: str) -> bool:
    """Whether the URL names an SQL database."""
    try:
        return make_url(url).get_backend_name() in _DRIVERS
    except ArgumentError:
        return False


def database_engine(url: str, *, trusted_s: float = 2.0) -> AsyncEngine:
    """An engine with a pool; SQLite with a write-ahead log.

    A connection to a server that was used less than `trusted_s` ago is taken for alive.

    Raises:
        ConfigurationError: the URL is malformed or its driver is not installed.
    """
    try:
        parsed = make_url(url)
        driver = _DRIVERS.get(parsed.drivername)
        if driver:
            parsed = parsed.set(drivername=driver)
        options: dict[str, Any] = {"pool_size": 16, "max_overflow": 16}
        if parsed.get_backend_name() == "sqlite" and parsed.database in _IN_MEMORY:
            options = {}
        elif parsed.get_backend_name() == "sqlite":
            make_directory(Path(parsed.database or ".").parent)
            options = {
                "pool_size": 8,
                "max_overflow": 8,
                "connect_args": {"timeout": _LOCK_TIMEOUT_S},
            }
        engine = create_async_engine(parsed, **options)
    except (ArgumentError, SQLAlchemyError, ImportError) as error:
        raise ConfigurationError(
            f"the database URL {shown(url)} cannot be used: {first_line(error)}",
            remedy="set ODA_DATABASE_URL to sqlite:///FILE or postgresql+psycopg://USER@HOST/NAME",
        ) from error
    if engine.dialect.name == "sqlite":
        event.listen(engine.sync_engine, "connect", _tune_sqlite)
    else:
        _ping_after_a_pause(engine.sync_engine, trusted_s)
    return engine


def make_directory(path: Path) -> None:
    """Make a directory for data.

    Raises:
        ConfigurationError: it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"the directory {str(path)!r} cannot be made: {error.strerror}",
            remedy="set ODA_DATA_DIR to one that may be written to",
        ) from error


def shown(url: str) -> str:
    """A URL for messages: without its password."""
    try:
        return make_url(url).render_as_string(hide_password=True)
    except ArgumentError:
        return repr(url.split("@")[-1])


def first_line(error: BaseException) -> str:
    """The first line of an error, of the driver's own where there is one."""
    return (str(getattr(error, "orig", None) or error).strip().splitlines() or [""])[0]


def _ping_after_a_pause(engine: Engine, trusted_s: float) -> None:
    """Ask a pooled connection whether it still lives, unless it was used a moment ago.

    SQLAlchemy's `pool_pre_ping` asks each time, which costs as much as a small query.
    """

    def used(_: Any, record: ConnectionPoolEntry) -> None:
        record.info[_USED_AT] = time.monotonic()

    def check(connection: Any, record: ConnectionPoolEntry, _: PoolProxiedConnection) -> None:
        used_at = record.info.get(_USED_AT)
        if used_at is None or time.monotonic() - used_at < trusted_s:
            return
        try:
            engine.dialect.do_ping(connection)
        except Exception as error:
            raise DisconnectionError("the connection is gone") from error

    event.listen(engine, "checkin", used)
    event.listen(engine, "checkout", check)


def _tune_sqlite(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()
