"""A file that becomes visible only when it is complete."""

import os
import secrets
from contextlib import suppress
from types import TracebackType
from typing import Self

from oda.workspace.refusals import check_plain
from oda.workspace.relative_path import RESERVED

PREFIX = f"{RESERVED}draft-"
"""How the names of drafts begin."""

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)


class Draft:
    """Written beside all else in `top`, and put in its place by `publish`, else removed.

    Args:
        top: A handle of the directory that drafts are in.
        parent: A handle of the directory that the file is to be in, on the same file system.
        name: Its name there.
        path: As messages name it.

    Raises:
        PathRefusedError: what has this name is no plain file.
    """

    def __init__(self, top: int, parent: int, name: str, path: str) -> None:
        self._top = top
        self._parent = parent
        self._name = name
        self._path = path
        self._draft = f"{PREFIX}{secrets.token_hex(8)}"
        self.replaces = self._there()
        """Size of the file to be replaced; None if there is none."""
        self._handle = os.open(self._draft, _NEW, 0o600, dir_fd=top)

    def append(self, data: bytes) -> None:
        """Write all of it."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._handle, rest) :]

    def publish(self) -> int | None:
        """Put it in its place; returns the size of what was there by then."""
        replaced = self._there()
        os.rename(self._draft, self._name, src_dir_fd=self._top, dst_dir_fd=self._parent)
        return replaced

    def status(self) -> os.stat_result:
        """Size and times."""
        return os.fstat(self._handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        os.close(self._handle)
        with suppress(FileNotFoundError):
            os.unlink(self._draft, dir_fd=self._top)

    def _there(self) -> int | None:
        """Looked at by its name, only to refuse: a rename follows no link, whatever it finds."""
        try:
            status = os.stat(self._name, dir_fd=self._parent, follow_symlinks=False)
        except FileNotFoundError:
            return None
        check_plain(self._path, status)
        return status.st_size
