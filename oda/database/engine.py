"""Pooled SQLAlchemy engines for SQLite and PostgreSQL."""

import os
import stat
import time
from pathlib import Path
from sqlite3 import SQLITE_BUSY, Cursor, OperationalError
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DisconnectionError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection
from tenacity import retry, retry_if_exception, stop_after_delay, wait_random

from oda.database.failures import first_line
from oda.database.postgres import connect_impatiently, pinged_briefly
from oda.errors import ConfigurationError

_DRIVERS = {
    "sqlite": "sqlite",
    "sqlite+aiosqlite": "sqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}
"""SQLAlchemy drivers by URL scheme."""
IN_MEMORY = "sqlite:///:memory:"
"""URL of an in-memory database, which lives as long as its engine."""

DATABASE_FILE = "oda.db"
"""Name of the database file in a data directory."""

_IN_MEMORY = (None, "", ":memory:")
_LOCK_TIMEOUT_S = 30
_POOL_TIMEOUT_S = 4.0
_USED_AT = "oda_used_at"


def is_sql(url: str) -> bool:
    """Return whether a URL names a supported SQL database."""
    try:
        return make_url(url).get_backend_name() in _DRIVERS
    except ArgumentError:
        return False


def is_postgres(url: str) -> bool:
    """Return whether a URL names a PostgreSQL database."""
    try:
        return make_url(url).get_backend_name() in ("postgresql", "postgres")
    except ArgumentError:
        return False


def is_in_memory(url: str) -> bool:
    """Return whether a URL names an SQLite database without a file."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        return False
    return parsed.get_backend_name() == "sqlite" and parsed.database in _IN_MEMORY


def database_engine(url: str, *, trusted_s: float = 2.0) -> Engine:
    """Return a pooled engine; SQLite uses write-ahead logging.

    Args:
        url: An SQLite or PostgreSQL URL.
        trusted_s: A PostgreSQL connection used less than this many seconds ago is not pinged.

    Raises:
        ConfigurationError: the URL is malformed or its driver is not installed.
    """
    try:
        parsed = make_url(url)
        if parsed.drivername not in _DRIVERS:
            raise ArgumentError(f"{parsed.drivername} is not supported")
        parsed = parsed.set(drivername=_DRIVERS[parsed.drivername])
        options: dict[str, Any] = {
            "pool_size": 8,
            "max_overflow": 4,
            "pool_timeout": _POOL_TIMEOUT_S,
        }
        if is_in_memory(url):
            options = {}
        elif parsed.get_backend_name() == "sqlite":
            if not (parsed.database or "").startswith("file:"):
                _keep_private(Path(parsed.database or "."))
            options = {
                "pool_size": 8,
                "max_overflow": 8,
                "connect_args": {"timeout": _LOCK_TIMEOUT_S},
            }
        # Parameters contain users' messages, which must not appear in errors or logs.
        engine = create_engine(parsed, hide_parameters=True, **options)
    except (ArgumentError, SQLAlchemyError, ImportError) as error:
        raise ConfigurationError(
            f"the database URL {shown(url)} cannot be used: {first_line(error)}",
            remedy="SQLite and PostgreSQL are supported: set ODA_DATABASE_URL to sqlite:///FILE or "
            "postgresql+psycopg://USER@HOST/NAME",
        ) from error
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _tune_sqlite)
    else:
        connect_impatiently(engine)
        _ping_after_a_pause(engine, trusted_s)
    return engine


def make_directory(path: Path) -> None:
    """Create a data directory that only its owner can access.

    The permissions of an existing directory are restricted only if it contains an ODA database;
    any other, such as `/tmp`, is left unchanged.

    Raises:
        ConfigurationError: the directory cannot be created.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if (path / DATABASE_FILE).exists():
            _narrow(path, 0o700)
    except OSError as error:
        raise ConfigurationError(
            f"the directory {str(path)!r} cannot be made: {error.strerror}",
            remedy="set ODA_DATA_DIR to one that may be written to",
        ) from error


def _keep_private(file: Path) -> None:
    """Create a database file that only its owner can read.

    SQLite gives its `-wal` and `-shm` files the same mode.

    Raises:
        ConfigurationError: the file cannot be created.
    """
    make_directory(file.parent)
    try:
        file.touch(mode=0o600)
        make_directory(file.parent)
        for part in (file, *(file.with_name(file.name + end) for end in ("-wal", "-shm"))):
            if part.exists():
                _narrow(part, 0o600)
    except OSError as error:
        raise ConfigurationError(
            f"the database {str(file)!r} cannot be opened: {error.strerror}",
            remedy="set ODA_DATABASE_URL or ODA_DATA_DIR to a place that may be written to",
        ) from error


def _narrow(path: Path, mode: int) -> None:
    """Remove permissions beyond `mode` from a path, if this process's user owns it."""
    status = path.stat()
    is_shared = status.st_mode & stat.S_ISVTX  # like /tmp, which this user may own
    if not is_shared and status.st_uid == os.geteuid() and status.st_mode & 0o777 & ~mode:
        path.chmod(status.st_mode & mode)


def shown(url: str) -> str:
    """Return a URL without its password, for error messages and logs."""
    try:
        return make_url(url).render_as_string(hide_password=True)
    except ArgumentError:
        return repr(url.split("@")[-1])


def _ping_after_a_pause(engine: Engine, trusted_s: float) -> None:
    """Ping a pooled connection before use, unless it was used in the last `trusted_s` seconds.

    SQLAlchemy's `pool_pre_ping` pings every time, which costs as much as a small query.
    """

    def mark_used(_: Any, record: ConnectionPoolEntry) -> None:
        record.info[_USED_AT] = time.monotonic()

    def check(connection: Any, record: ConnectionPoolEntry, _: PoolProxiedConnection) -> None:
        used_at = record.info.get(_USED_AT)
        if used_at is None or time.monotonic() - used_at < trusted_s:
            return
        try:
            with pinged_briefly(record.driver_connection):
                engine.dialect.do_ping(connection)
        except Exception as error:
            raise DisconnectionError("the connection is gone") from error

    event.listen(engine, "checkin", mark_used)
    event.listen(engine, "checkout", check)


def _is_locked(error: BaseException) -> bool:
    return isinstance(error, OperationalError) and error.sqlite_errorcode == SQLITE_BUSY


@retry(
    retry=retry_if_exception(_is_locked),
    wait=wait_random(max=0.05),
    stop=stop_after_delay(_LOCK_TIMEOUT_S),
    reraise=True,
)
def _write_ahead(cursor: Cursor) -> None:
    # Of connections that open a new file together, SQLite lets some fail here without a wait.
    cursor.execute("PRAGMA journal_mode=WAL")


def _tune_sqlite(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    _write_ahead(cursor)
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.execute("PRAGMA cache_size=-256")  # KiB; each connection has a cache of its own
    cursor.close()
