"""The directory of one run: its files, read and written within its quota."""

import asyncio
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from oda.errors import QuotaExceededError
from oda.workspace.path_guard import Root
from oda.workspace.relative_path import names_of, shown
from oda.workspace.usage import Usage

INPUT, DATA, OUTPUT = "input", "data", "output"
FOLDERS = (INPUT, DATA, OUTPUT)
"""Folders for files of the message, for the run's own data, and for requested results."""

_CHUNK = 2**20


@dataclass(frozen=True)
class FileInfo:
    """A file in a workspace."""

    path: str
    """Relative to the workspace."""
    bytes: int
    modified_at: float
    """Epoch seconds."""


class Workspace:
    """The files of one run. Every path is relative to it and opened through `root`.

    Blocking work is done in threads; what a cancelled caller has begun there ends by itself. All
    methods that take a path raise `PathRefusedError` where it leads out, or to no plain file.

    Args:
        run_id: The id of the turn that works here.
        path: The directory on the host; for sandboxes only.
        root: The same directory, open; closed with the workspace.
        usage: What it holds, shared by all that have this workspace open.
        on_close: Called once, while `root` is still open.
    """

    def __init__(
        self, run_id: str, path: Path, root: Root, usage: Usage, on_close: Callable[[], None]
    ) -> None:
        self.run_id = run_id
        self.path = path
        self.root = root
        self._usage = usage
        self._on_close: Callable[[], None] | None = on_close

    @property
    def quota_bytes(self) -> int:
        """Most bytes of all files."""
        return self._usage.quota_bytes

    @property
    def quota_files(self) -> int:
        """Most files and folders."""
        return self._usage.quota_files

    async def find(self, path: str) -> FileInfo | None:
        """A file, if it is there."""
        return await asyncio.to_thread(self._find, path)

    async def read(self, path: str, *, max_bytes: int | None = None) -> bytes:
        """The content of a file.

        Raises:
            WorkspaceError: it is not there.
            QuotaExceededError: it is larger than `max_bytes`, by default than the quota.
        """
        limit = self.quota_bytes if max_bytes is None else max_bytes
        return await asyncio.to_thread(self._read, path, limit)

    async def list(self, path: str = "") -> list[FileInfo]:
        """All files in a folder and in the folders in it, by path.

        Raises:
            WorkspaceError: the folder is not there.
        """
        return await asyncio.to_thread(_files, self.root, path)

    async def write(self, path: str, data: bytes) -> FileInfo:
        """Create or replace a file at once, and the folders that it needs.

        Raises:
            QuotaExceededError: there is no room for it; what was there is unchanged.
        """
        chunks = (data[start : start + _CHUNK] for start in range(0, len(data), _CHUNK))
        return await asyncio.to_thread(self._write, path, chunks)

    async def write_from(self, path: str, fd: int) -> FileInfo:
        """`write` what a file holds that is open for reading, from its beginning.

        `fd` stays the caller's, who may close it as soon as this has returned or was cancelled.
        """
        source = os.dup(fd)

        def copy() -> FileInfo:
            try:
                return self._write(path, _content_of(source))
            finally:
                os.close(source)

        return await asyncio.to_thread(copy)

    async def delete(self, path: str) -> None:
        """Remove a file.

        Raises:
            WorkspaceError: it is not there.
        """
        await asyncio.to_thread(self._delete, path)

    async def recount(self) -> None:
        """Count anew what there is, after others have written into the directory itself."""
        await asyncio.to_thread(self._usage.recount, self.root)

    async def close(self) -> None:
        """Note that it was used until now, and close `root`; also where this is cancelled."""
        await asyncio.shield(asyncio.to_thread(self.let_go))

    def let_go(self) -> None:
        """`close`, at once."""
        on_close, self._on_close = self._on_close, None
        if on_close is not None:
            try:
                on_close()
            finally:
                self.root.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    # --- in threads

    def _find(self, path: str) -> FileInfo | None:
        status = self.root.status(path)
        return None if status is None else _info(path, status)

    def _read(self, path: str, limit: int) -> bytes:
        fd = self.root.open_file(path)
        try:
            size = os.fstat(fd).st_size
            data = bytearray()
            if size <= limit:
                for chunk in _content_of(fd):
                    data += chunk
                    if len(data) > limit:
                        break
                else:
                    return bytes(data)
        finally:
            os.close(fd)
        raise QuotaExceededError(
            f"{shown(path)} has {size:,} bytes; at most {limit:,} are read at once.",
            remedy="read it in parts with run_python",
        )

    def _write(self, path: str, chunks: Iterator[bytes]) -> FileInfo:
        usage = self._usage
        usage.count_once(self.root)
        with (
            self.root.draft(path, before_folder=usage.add_folder) as draft,
            usage.writing(draft.replaces, self.root) as writing,
        ):
            for chunk in chunks:
                writing.grow(len(chunk))
                draft.append(chunk)
            writing.commit(draft.publish)
            return _info(path, draft.status())

    def _delete(self, path: str) -> None:
        self._usage.count_once(self.root)
        self._usage.removing(lambda: self.root.delete_file(path))


def _files(root: Root, path: str) -> list[FileInfo]:
    found = (entry for entry in root.entries(path) if entry.is_a_file)
    return sorted((_info(one.path, one.status) for one in found), key=lambda info: info.path)


def _content_of(fd: int) -> Iterator[bytes]:
    position = 0
    while chunk := os.pread(fd, _CHUNK, position):
        position += len(chunk)
        yield chunk


def _info(path: str, status: os.stat_result) -> FileInfo:
    return FileInfo("/".join(names_of(path)), status.st_size, status.st_mtime)
