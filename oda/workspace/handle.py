"""A handle that several threads use: its number is not another file's while one of them does."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from oda.errors import WorkspaceError


class SharedHandle:
    """An open directory; the last one who uses it closes it, once `close` was called."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._users = 1
        self._closed = False
        self._lock = threading.Lock()

    def fileno(self) -> int:
        """Return the file descriptor; it is valid until `close` is called."""
        return self._handle

    @contextmanager
    def held(self) -> Iterator[int]:
        """The number, which holds in the block.

        Raises:
            WorkspaceError: it has been closed.
        """
        with self._lock:
            if self._closed:
                raise WorkspaceError("The workspace has been closed.")
            self._users += 1
        try:
            yield self._handle
        finally:
            self._let_go()

    def close(self) -> None:
        """Refuse further use; the descriptor is closed when its current users have finished."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._let_go()

    def _let_go(self) -> None:
        with self._lock:
            self._users -= 1
            unused = self._users == 0
        if unused:
            os.close(self._handle)
