"""Conversion of the operating system's path errors to errors of a workspace."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from oda.errors import PathRefusedError, QuotaExceededError, WorkspaceError
from oda.workspace.relative_path import shown

_LEADS_ELSEWHERE = frozenset({errno.ELOOP, errno.EXDEV, errno.ENOTDIR})
_NO_PLAIN_FILE = frozenset({errno.EISDIR, errno.ENXIO, errno.ENODEV, errno.EACCES, errno.EPERM})
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@contextmanager
def refusing(path: str) -> Iterator[None]:
    """Tell failures of the system as refusals of this path.

    Raises:
        PathRefusedError: it leads through a link or to another file system, or to no plain file.
        QuotaExceededError: the disk is full.
        WorkspaceError: it is not there, or anything else.
    """
    try:
        yield
    except OSError as error:
        raise _refusal(path, error) from error


def missing(path: str) -> WorkspaceError:
    """The refusal of a path where nothing is."""
    return WorkspaceError(
        f"There is no {shown(path)} in the workspace.", remedy="list_files tells what there is"
    )


def check_plain(path: str, status: os.stat_result) -> None:
    """See that it is a file, under this one name.

    Raises:
        PathRefusedError: it is not.
    """
    mode = status.st_mode
    if stat.S_ISDIR(mode):
        raise PathRefusedError(f"{shown(path)} is a folder.", remedy="name a file in it")
    if stat.S_ISLNK(mode):
        raise _refused(path, "is a link")
    if not stat.S_ISREG(mode):
        raise _refused(path, "is no plain file")
    if status.st_nlink != 1:
        raise _refused(path, "is a file that has several names (hard links)")


def _refused(path: str, reason: str) -> PathRefusedError:
    return PathRefusedError(
        f"{shown(path)} {reason}.", remedy="use a plain file in a plain folder of the workspace"
    )


def _refusal(path: str, error: OSError) -> WorkspaceError:
    if error.errno == errno.ENOENT:
        return missing(path)
    if error.errno in _LEADS_ELSEWHERE:
        return _refused(path, "leads through something that is no folder of the workspace")
    if error.errno in _NO_PLAIN_FILE:
        return _refused(path, "is no plain file that may be used")
    if error.errno in _FULL:
        return QuotaExceededError("The disk is full.", remedy="write less, or delete files")
    return WorkspaceError(f"{shown(path)} cannot be used: {error.strerror}.")
