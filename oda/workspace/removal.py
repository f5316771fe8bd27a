"""Removal of a tree of unknown depth, whose links may lead anywhere."""

import os
import secrets
import stat
from contextlib import suppress

from oda.workspace.opening import FOLDER, closing


def remove_tree(directory: int, name: str) -> None:
    """Remove what has this name in an open directory, with all in it; nothing may be there.

    Links are removed, not followed. Folders in folders are moved up before they are removed, so
    that depth costs neither stack nor handles.

    Raises:
        OSError: the system does not allow it.
    """
    with suppress(FileNotFoundError):
        if not stat.S_ISDIR(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=directory)
            return
        with closing(os.open(name, FOLDER, dir_fd=directory)) as top:
            while folders := _without_files(top):
                for folder in folders:
                    _dissolve(top, folder)
        os.rmdir(name, dir_fd=directory)


def _dissolve(top: int, name: str) -> None:
    with closing(os.open(name, FOLDER, dir_fd=top)) as folder:
        for inner in _without_files(folder):
            os.rename(inner, secrets.token_hex(16), src_dir_fd=folder, dst_dir_fd=top)
    os.rmdir(name, dir_fd=top)


def _without_files(folder: int) -> list[str]:
    """Remove what is no folder; the folders that are left."""
    with os.scandir(folder) as entries:
        names = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in names:
        if not is_folder:
            os.unlink(name, dir_fd=folder)
    return [name for name, is_folder in names if is_folder]
