"""Directories of the host for single runs; also those that a server left which died."""

import fcntl
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from oda.telemetry import get_logger
from oda.workspace.opening import FOLDER, closing
from oda.workspace.removal import remove_tree

_logger = get_logger(__name__)

_PREFIX = "oda-run-"
_LEFT_S = 3600.0
"""How old one is that was left, and is not locked: earlier versions of ours did not lock theirs."""


@contextmanager
def scratch(parent: Path) -> Iterator[Path]:
    """Create a directory that is locked while in use; remove it with its content at the end."""
    top = parent / f"{_PREFIX}{secrets.token_hex(8)}"
    top.mkdir(mode=0o700)
    try:
        with closing(os.open(top, FOLDER)) as lock:  # the system lets go of it if we die
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield top
    finally:
        _remove(top)


def sweep(parent: Path) -> None:
    """Remove what servers of this user have left there that were killed."""
    for top in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError), closing(os.open(top, FOLDER)) as lock:
            status = os.fstat(lock)
            if status.st_uid == os.getuid() and time.time() - status.st_mtime > _LEFT_S:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(top)


def _remove(top: Path) -> None:
    try:
        with closing(os.open(top, FOLDER)) as handle:
            _flatten(handle)
        with closing(os.open(top.parent, FOLDER)) as parent:
            remove_tree(parent, top.name)
    except OSError as error:
        _logger.warning("run_directory_left", directory=str(top), reason=str(error))


def _flatten(top: int) -> None:
    """Open all folders, which code may have closed to everybody, and move them up: paths may have
    become longer than the system takes."""
    waiting = _opened(top)
    while waiting:
        with closing(os.open(waiting.pop(), FOLDER, dir_fd=top)) as folder:
            for name in _opened(folder):
                moved = secrets.token_hex(16)
                os.rename(name, moved, src_dir_fd=folder, dst_dir_fd=top)
                waiting.append(moved)


def _opened(folder: int) -> list[str]:
    """The folders in it, after they were opened to us."""
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    for name in names:
        os.chmod(name, 0o700, dir_fd=folder)
    return names
