"""The one process that runs the turns of an SQLite database."""

import os
from pathlib import Path

from sqlalchemy.engine import make_url

from oda.database.engine import is_in_memory, shown
from oda.errors import ConfigurationError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


_LONGEST_PID = 20


class DatabaseOwner:
    """A lock that at most one process holds, beside the file of an SQLite database.

    The system releases it when the process ends, however that happens. Commands that only read or
    write rows do not need it.
    """

    def __init__(self, url: str) -> None:
        self._shown = shown(url)
        self._path = None if is_in_memory(url) else Path(f"{make_url(url).database}.lock")
        self._file: int | None = None

    def acquire(self) -> None:
        """Take the lock; does nothing for a database in memory.

        Raises:
            ConfigurationError: another process has it.
        """
        if self._path is None or self._file is not None or fcntl is None:
            return
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            process = os.read(file, _LONGEST_PID).decode(errors="replace")
            os.close(file)
            raise ConfigurationError(
                f"another process ({process}) runs the turns of {self._shown}",
                remedy="use that one, over HTTP for example, or stop it; processes that share the "
                "work need PostgreSQL: set ODA_DATABASE_URL to postgresql://USER@HOST/NAME",
            ) from error
        os.ftruncate(file, 0)
        os.write(file, str(os.getpid()).encode())
        self._file = file

    def release(self) -> None:
        """Give the lock back."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
