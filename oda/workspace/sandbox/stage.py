"""The files of a run, between its workspace and the directory where the code has them.

Both are guarded roots: what the code leaves may be made to lead elsewhere, to block who reads it,
or to look smaller than it is.
"""

import asyncio
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from stat import S_ISDIR

from oda.errors import PathRefusedError, WorkspaceError
from oda.workspace.opening import closing
from oda.workspace.path_guard import Entry, Root
from oda.workspace.refusals import check_plain
from oda.workspace.relative_path import names_of
from oda.workspace.sandbox.sandbox import LeftBehind, SandboxLimits
from oda.workspace.workspace import FOLDERS, Workspace

READ_ONLY = "input"
"""The folder that the code sees as it is: nothing of it is copied or taken over."""

Stamp = tuple[int, int, int, int]
"""Inode, size and times; the last is set by the kernel, so no change leaves all as they were."""

_BLOCK = 4096
_MAX_LEFT_BEHIND = 100
_MAX_SHOWN = 512


@dataclass(frozen=True)
class Collected:
    """The files collected from a run."""

    files: tuple[str, ...]
    """New or changed."""
    left_behind: tuple[LeftBehind, ...]


def bytes_to_stage(root: Root) -> int:
    """Room that `fill` needs, at most."""
    return sum(entry.status.st_size + 2 * _BLOCK for entry in _staged(root))


def fill(box: Root, root: Root) -> dict[str, Stamp]:
    """Copy a workspace into an empty directory; what its files are like there.

    Raises:
        OSError: there is no room for it.
    """
    for folder in FOLDERS:
        if folder != READ_ONLY:
            os.close(box.make_folder(folder))
    stamps = {}
    for entry in _staged(root):
        if entry.is_a_file:
            with suppress(WorkspaceError):  # somebody else has deleted it
                stamps[entry.path] = _copy(root, entry.path, box)
    return stamps


async def collect(
    box: Root, before: Mapping[str, Stamp], workspace: Workspace, limits: SandboxLimits
) -> Collected:
    """Copy new and changed files into the workspace, and delete files that no longer exist."""
    found = await asyncio.to_thread(_look, box, before, limits)
    files = []
    for path in found.deleted:
        with suppress(WorkspaceError):  # somebody else has deleted it
            await workspace.delete(path)
    if found.deleted:
        await asyncio.to_thread(_delete_emptied, box, workspace.root, found.deleted)
        await workspace.recount()
    for path in found.changed:
        try:
            with closing(await asyncio.to_thread(box.open_file, path)) as fd:
                await workspace.write_from(path, fd)
        except WorkspaceError as error:
            found.left_behind.append(LeftBehind(path, error.message))
        else:
            files.append(path)
    return Collected(tuple(files), _shortened(found.left_behind))


@dataclass
class _Found:
    changed: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    left_behind: list[LeftBehind] = field(default_factory=list)


def _look(box: Root, before: Mapping[str, Stamp], limits: SandboxLimits) -> _Found:
    found = _Found()
    there: set[str] = set()
    total = 0
    for entry in sorted(_staged(box)):
        if S_ISDIR(entry.status.st_mode) and not _is_sealed(entry):
            continue
        there.add(entry.path)
        reason = _why_not(entry)
        if reason is None:
            if before.get(entry.path) == _stamp(entry.status):
                continue
            total += entry.status.st_size
            if len(found.changed) >= limits.files:
                reason = f"There are more than {limits.files} new files."
            elif total > limits.quota_bytes:
                reason = f"The new files have more than {limits.quota_bytes:,} bytes in all."
        if reason is None:
            found.changed.append(entry.path)
        else:
            shown = entry.path[:_MAX_SHOWN].encode(errors="backslashreplace").decode()
            found.left_behind.append(LeftBehind(shown, reason))
    found.deleted = [path for path in before if path not in there]
    return found


def _why_not(entry: Entry) -> str | None:
    try:
        names_of(entry.path)
        check_plain(entry.path, entry.status)
    except PathRefusedError as error:
        return error.message
    return None


def _delete_emptied(box: Root, root: Root, deleted: list[str]) -> None:
    """Delete folders that the code has deleted, or put a file in the place of."""
    folders = {
        tuple(names[:count])
        for names in (path.split("/") for path in deleted)
        for count in range(1, len(names))
    }
    there = {entry.names for entry in _staged(box) if S_ISDIR(entry.status.st_mode)}
    for names in sorted(folders - there, key=len, reverse=True):
        if names[0] not in FOLDERS or len(names) > 1:
            with suppress(WorkspaceError):
                root.delete_empty("/".join(names))


def _shortened(left_behind: list[LeftBehind]) -> tuple[LeftBehind, ...]:
    more = len(left_behind) - _MAX_LEFT_BEHIND
    if more <= 0:
        return tuple(left_behind)
    return (*left_behind[:_MAX_LEFT_BEHIND], LeftBehind("", f"… and {more} more"))


def _staged(root: Root) -> Iterator[Entry]:
    """Yield the entries down to the depth of a workspace path: code can nest far deeper."""
    folders = [""]
    while folders:
        with suppress(WorkspaceError):  # it is gone
            for entry in root.entries(folders.pop(), deep=False):
                if entry.names[0] == READ_ONLY:
                    continue
                yield entry
                if S_ISDIR(entry.status.st_mode) and not _is_sealed(entry):
                    folders.append(entry.path)


def _is_sealed(folder: Entry) -> bool:
    """Return whether a folder's name is not allowed in paths, so that its content is unusable."""
    try:
        names_of(folder.path)
    except PathRefusedError:
        return True
    return False


def _copy(root: Root, path: str, box: Root) -> Stamp:
    folder, _, name = path.rpartition("/")
    new = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with (
        closing(root.open_file(path)) as source,
        closing(box.make_folder(folder)) as parent,
        closing(os.open(name, new, 0o600, dir_fd=parent)) as target,
    ):
        while os.sendfile(target, source, None, 2**30):
            pass
        return _stamp(os.fstat(target))


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
