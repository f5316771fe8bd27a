"""Errors of a database, and what they mean to whoever wanted something of it."""

import sqlite3

from sqlalchemy.exc import SQLAlchemyError

from oda.errors import StorageFullError, UnavailableError

_DISK_FULL = "53100"
"""PostgreSQL's."""


def is_full(error: BaseException) -> bool:
    """Whether the database has no room for what was to be written."""
    cause = getattr(error, "orig", error)
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
    return getattr(cause, "sqlstate", None) == _DISK_FULL


def first_line(error: BaseException) -> str:
    """The first line of an error, of the driver's own where there is one."""
    return (str(getattr(error, "orig", None) or error).strip().splitlines() or [""])[0]


def unavailable(
    error: SQLAlchemyError | OSError | TimeoutError, where: str, setting: str = "ODA_DATABASE_URL"
) -> UnavailableError:
    """The error for a client or an operator; it says what to do."""
    if is_full(error):
        return StorageFullError(
            f"{where} has no room left; nothing of this was stored",
            remedy="free disk space where it is kept; it goes on by itself then",
        )
    return UnavailableError(
        f"{where} cannot be reached: {first_line(error)}",
        remedy=f"check {setting} and that the server is running",
    )
