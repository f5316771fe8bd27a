"""Usage of a workspace: counted once, then updated, so that writes need not scan all files."""

import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from oda.errors import QuotaExceededError
from oda.workspace.path_guard import Root


@dataclass
class Usage:
    """Bytes and entries of one workspace, for all that have it open; used in threads."""

    quota_bytes: int
    quota_files: int
    _bytes: int = 0
    _entries: int = 0
    """Files and folders."""
    _growing: int = 0
    """Bytes of files that are being written."""
    _known: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count_once(self, root: Root) -> None:
        """Count the usage unless it is known.

        Incomplete writes of dead processes are deleted first.
        """
        with self._lock:
            if not self._known:
                root.delete_drafts()
                self._count(root)

    def recount(self, root: Root) -> None:
        """Count what there is."""
        with self._lock:
            self._count(root)

    def add_folder(self) -> None:
        """Make room for a folder.

        Raises:
            QuotaExceededError: there are as many files and folders as may be.
        """
        with self._lock:
            if self._entries >= self.quota_files:
                raise self._too_many()
            self._entries += 1

    @contextmanager
    def writing(self, replaces: int | None, root: Root) -> Iterator["Writing"]:
        """Room for one file; `replaces` is the size of the one that it takes the place of."""
        writing = Writing(self, replaces, root)
        try:
            yield writing
        finally:
            with self._lock:
                self._growing -= writing.bytes

    def removing(self, remove: Callable[[], int]) -> None:
        """Remove a file by calling `remove`, which returns its size."""
        with self._lock:
            self._bytes -= remove()
            self._entries -= 1

    def _count(self, root: Root) -> None:
        statuses = [entry.status for entry in root.entries()]
        self._bytes = sum(one.st_size for one in statuses if not stat.S_ISDIR(one.st_mode))
        self._entries = len(statuses)
        self._known = True

    def _too_many(self) -> QuotaExceededError:
        return QuotaExceededError(
            f"The workspace may have {self.quota_files} files and folders, and has as many.",
            remedy="use fewer files, or put several into one",
        )

    def _too_large(self) -> QuotaExceededError:
        return QuotaExceededError(
            f"The workspace may hold {self.quota_bytes:,} bytes; {self._bytes:,} are in use, and "
            "there is no room for this file.",
            remedy="write less, or delete files that are not needed",
        )


class Writing:
    """One file on its way into a workspace."""

    def __init__(self, usage: Usage, replaces: int | None, root: Root) -> None:
        self._usage = usage
        self._replaces = replaces
        self._root = root
        self.bytes = 0

    def grow(self, size: int) -> None:
        """Reserve room for a further piece.

        Raises:
            QuotaExceededError: there is not enough room.
        """
        usage = self._usage
        with usage._lock:
            if not self._fits(size):
                usage._count(self._root)  # others may have made room
                if not self._fits(size):
                    raise usage._too_large()
            usage._growing += size
            self.bytes += size

    def commit(self, publish: Callable[[], int | None]) -> None:
        """Put the file in its place by calling `publish`, which returns the size of what was there.

        Raises:
            QuotaExceededError: there are too many files.
        """
        usage = self._usage
        with usage._lock:
            if self._replaces is None and usage._entries >= usage.quota_files:
                usage._count(self._root)
                if usage._entries >= usage.quota_files:
                    raise usage._too_many()
            replaced = publish()
            usage._bytes += self.bytes - (replaced or 0)
            usage._entries += replaced is None

    def _fits(self, size: int) -> bool:
        usage = self._usage
        return usage._bytes + usage._growing + size - (self._replaces or 0) <= usage.quota_bytes
