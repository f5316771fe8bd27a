"""Translation of database errors to ODA errors."""

import sqlite3

from sqlalchemy.exc import SQLAlchemyError

from oda.errors import StorageFullError, UnavailableError

_DISK_FULL = "53100"
"""PostgreSQL's SQLSTATE code."""


def is_full(error: BaseException) -> bool:
    """Return whether a write failed because the disk is full."""
    cause = getattr(error, "orig", error)
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
    return getattr(cause, "sqlstate", None) == _DISK_FULL


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, preferring the driver's own error."""
    return (str(getattr(error, "orig", None) or error).strip().splitlines() or [""])[0]


def unavailable(
    error: SQLAlchemyError | OSError | TimeoutError, where: str, setting: str = "ODA_DATABASE_URL"
) -> UnavailableError:
    """Return the error for clients and operators, with a remedy.

    Args:
        error: The original error.
        where: Name of the store, to begin the message with.
        setting: The setting that the remedy mentions.
    """
    if is_full(error):
        return StorageFullError(
            f"{where} has no room left; nothing of this was stored",
            remedy="free disk space where it is kept; it goes on by itself then",
        )
    return UnavailableError(
        f"{where} cannot be reached: {first_line(error)}",
        remedy=f"check {setting} and that the server is running",
    )
