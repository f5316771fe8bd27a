"""Reading and writing below a directory, and nowhere else, whatever happens to names meanwhile.

What is wanted is opened relative to an open directory, and then the open thing itself is looked at.
Nothing is looked at by its name first and trusted after that.
"""

import os
import secrets
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from oda.errors import PathRefusedError, WorkspaceError
from oda.workspace.draft import PREFIX, Draft
from oda.workspace.handle import SharedHandle
from oda.workspace.opening import FOLDER, Opener, best_opener, closing
from oda.workspace.refusals import check_plain, refusing
from oda.workspace.relative_path import RESERVED, names_of
from oda.workspace.removal import remove_tree

_FILE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_SET_ASIDE = f"{RESERVED}removed-"


class Entry(NamedTuple):
    """A file, a folder or something else below a root, as it was when it was looked at."""

    names: tuple[str, ...]
    """From the root down; they need not be names that a path may have."""
    status: os.stat_result

    @property
    def path(self) -> str:
        return "/".join(self.names)

    @property
    def is_a_file(self) -> bool:
        """Whether it is a plain file that can be read under its path."""
        try:
            names_of(self.path)
            check_plain(self.path, self.status)
        except PathRefusedError:
            return False
        return True


class Root:
    """An open directory. Its methods block, and may be called from several threads.

    All of them raise `PathRefusedError` where a path leads out of it or through a link, or ends at
    no plain file, and `WorkspaceError` where nothing is there.

    Args:
        directory: Its handle, which is closed with this.
        opener: How paths are opened, by default the best way that this system has.
    """

    def __init__(self, directory: int, *, opener: Opener | None = None) -> None:
        self._handle = SharedHandle(directory)
        self._open = opener or best_opener()

    @classmethod
    def at(cls, path: Path, *, opener: Opener | None = None) -> Self:
        """Open a directory of the host by a trusted path.

        Raises:
            OSError: the directory does not exist.
            WorkspaceError: this system cannot open files relative to a directory.
        """
        if os.open not in os.supports_dir_fd:
            raise WorkspaceError(
                "Workspaces cannot be had on this system.", remedy="use Linux or macOS"
            )
        return cls(os.open(path, os.O_RDONLY | os.O_DIRECTORY), opener=opener)

    def fileno(self) -> int:
        """The handle; it stays this object's."""
        return self._handle.fileno()

    def close(self) -> None:
        """Close the handle, after those who use it in other threads."""
        self._handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # --- files

    def open_file(self, path: str) -> int:
        """A handle for reading a file; the caller closes it."""
        with self._handle.held() as top, refusing(path):
            handle = self._open(top, _some(path), _FILE)
            try:
                check_plain(path, os.fstat(handle))
            except BaseException:
                os.close(handle)
                raise
            return handle

    def status(self, path: str) -> os.stat_result | None:
        """Return size and times of a file; None if it does not exist or is a folder."""
        with self._handle.held() as top, refusing(path):
            try:
                handle = self._open(top, _some(path), _FILE)
            except FileNotFoundError:
                return None
            with closing(handle):
                status = os.fstat(handle)
            if stat.S_ISDIR(status.st_mode):
                return None
            check_plain(path, status)
            return status

    @contextmanager
    def draft(self, path: str, *, before_folder: Callable[[], None]) -> Iterator[Draft]:
        """Create a file that replaces `path` when it is published, and is deleted otherwise.

        `before_folder` is called before each folder that has to be created, and may raise.
        """
        *folders, name = _some(path)
        with (
            self._handle.held() as top,
            refusing(path),
            closing(self._make_folders(top, folders, before_folder)) as parent,
            Draft(top, parent, name, path) as draft,
        ):
            yield draft

    def delete_file(self, path: str) -> int:
        """Remove a file; returns its size."""
        *folders, name = _some(path)
        with self._parent(folders, path) as parent:
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
            check_plain(path, status)
            os.unlink(name, dir_fd=parent)
            return status.st_size

    # --- folders

    def open_folder(self, path: str = "") -> int | None:
        """Return a handle of a folder, which the caller must close; None if it does not exist."""
        with self._handle.held() as top, refusing(path):
            try:
                return self._open(top, names_of(path), FOLDER)
            except FileNotFoundError:
                return None

    def make_folder(self, path: str) -> int:
        """The same, of one that is made, with all above it, if it is not there."""
        with self._handle.held() as top, refusing(path):
            return self._make_folders(top, names_of(path), lambda: None)

    def entries(self, path: str = "", *, deep: bool = True) -> Iterator[Entry]:
        """Yield the entries of a folder, by default recursively, without the guard's own files."""
        folders = [names_of(path)]
        with self._handle.held() as top:
            with refusing(path):
                os.close(self._open(top, folders[0], FOLDER))
            while folders:
                folder = folders.pop()
                for name, status in self._look(top, folder):
                    if name.startswith(RESERVED):
                        continue
                    yield Entry((*folder, name), status)
                    if deep and stat.S_ISDIR(status.st_mode):
                        folders.append((*folder, name))

    def delete_drafts(self) -> None:
        """Remove what a process that died was writing."""
        self._delete_all(PREFIX)

    def set_aside(self, path: str) -> bool:
        """Take a folder from its place at once, to be deleted later; whether it was there."""
        *folders, name = _some(path)
        aside = f"{_SET_ASIDE}{secrets.token_hex(8)}"
        with self._handle.held() as top, refusing(path):
            try:
                with closing(self._open(top, folders, FOLDER)) as parent:
                    os.rename(name, aside, src_dir_fd=parent, dst_dir_fd=top)
            except FileNotFoundError:
                return False
        return True

    def delete_empty(self, path: str) -> None:
        """Delete a folder if nothing is in it."""
        *folders, name = _some(path)
        with self._parent(folders, path) as parent, suppress(OSError):
            os.rmdir(name, dir_fd=parent)

    def delete_set_aside(self) -> None:
        """Delete all that has been set aside.

        Raises:
            OSError: the system does not allow it.
        """
        self._delete_all(_SET_ASIDE)

    # --- times

    def used_at(self) -> float:
        """Epoch seconds of the last change of its entries, or of what `use` has noted since."""
        with self._handle.held() as top:
            return os.fstat(top).st_mtime

    def use(self, at: float) -> None:
        """Note that it was used."""
        with self._handle.held() as top:
            os.utime(top, (at, at))

    # --- inside

    @contextmanager
    def _parent(self, folders: Sequence[str], path: str) -> Iterator[int]:
        with (
            self._handle.held() as top,
            refusing(path),
            closing(self._open(top, folders, FOLDER)) as parent,
        ):
            yield parent

    def _make_folders(
        self, top: int, names: Sequence[str], before_folder: Callable[[], None]
    ) -> int:
        current = os.dup(top)
        try:
            for name in names:
                try:
                    below = self._open(current, (name,), FOLDER)
                except FileNotFoundError:
                    before_folder()
                    with suppress(FileExistsError):
                        os.mkdir(name, 0o700, dir_fd=current)
                    below = self._open(current, (name,), FOLDER)
                os.close(current)
                current = below
        except BaseException:
            os.close(current)
            raise
        return current

    def _look(self, top: int, folder: Sequence[str]) -> list[tuple[str, os.stat_result]]:
        """Names and states of what is in a folder, if it is one."""
        found = []
        with suppress(OSError), closing(self._open(top, folder, FOLDER)) as handle:
            for name in os.listdir(handle):  # noqa: PTH208 - a handle is no path
                with suppress(FileNotFoundError):
                    found.append((name, os.stat(name, dir_fd=handle, follow_symlinks=False)))
        return found

    def _delete_all(self, prefix: str) -> None:
        with self._handle.held() as top:
            for name, _ in self._look(top, ()):
                if name.startswith(prefix):
                    remove_tree(top, name)


def _some(path: str) -> tuple[str, ...]:
    """The names of a path that is not the root itself."""
    if names := names_of(path):
        return names
    raise PathRefusedError("The path names no file.", remedy="name one, such as output/report.html")
