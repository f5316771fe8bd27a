"""A directory of the host for one run, where a sandbox has no file system of its own."""

import asyncio
import os
import re
import stat
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from oda.workspace.path_guard import Root
from oda.workspace.sandbox import stage
from oda.workspace.sandbox.sandbox import SandboxLimits
from oda.workspace.sandbox.scratch import scratch, sweep
from oda.workspace.workspace import Workspace

_MAX_STEPS = 150_000
_STEPS_OF_ENTRY = 4
"""A look at all that is there takes these for each entry, and one for each name on the way to it.
Their number bounds how long a look takes, and so what can be written meanwhile."""

_MAX_MAPPED = 16
_DELETED = re.compile(rb"^\S+ \S+ \S+ (?P<device>\S+) (?P<inode>\d+) .*\(deleted\)$", re.MULTILINE)


@dataclass(frozen=True)
class RunDirectory:
    """The directory of one run; removed when the run ends."""

    box: Path
    """Working directory of the code."""
    temporary: Path
    """Directory for temporary files of the code."""
    input: Path
    """Read-only files; linked into the box."""
    max_bytes: int

    def is_box(self, box: Root) -> bool:
        """Return whether an open directory is the box."""
        return os.path.samestat(os.fstat(box.fileno()), self.box.lstat())

    def prepare(self, box: Root) -> None:
        """Show the input in it."""
        os.symlink(self.input, stage.READ_ONLY, dir_fd=box.fileno())

    def is_overfull(self, folders: Sequence[Root], pid: int) -> bool:
        """Return whether the directory exceeds its limit.

        Takes time, since all files are counted.
        """
        taken = steps = 0
        with Root.at(self.temporary) as temporary:
            for root in (*folders, temporary):
                for entry in root.entries():
                    taken += entry.status.st_blocks * 512
                    steps += _STEPS_OF_ENTRY + len(entry.names)
                    if taken > self.max_bytes or steps > _MAX_STEPS:
                        return True
        return taken + _deleted_bytes(pid) > self.max_bytes or _mapped_deleted(pid) > _MAX_MAPPED


@asynccontextmanager
async def run_directory(workspace: Workspace, limits: SandboxLimits) -> AsyncIterator[RunDirectory]:
    """Make one, and remove it with all that the code has left in it."""
    staged = await asyncio.to_thread(stage.bytes_to_stage, workspace.root)
    parent = Path(tempfile.gettempdir())
    made = scratch(parent)
    making = asyncio.ensure_future(asyncio.to_thread(made.__enter__))
    try:
        top = await asyncio.shield(making)
        directory = RunDirectory(
            box=top / "box",
            temporary=top / "tmp",
            input=workspace.path / stage.READ_ONLY,
            max_bytes=staged + limits.quota_bytes,
        )
        for each in (directory.box, directory.temporary):
            each.mkdir()
        yield directory
    finally:
        await asyncio.wait([making])
        await asyncio.to_thread(made.__exit__, None, None, None)


async def sweep_run_directories() -> None:
    """Remove those of servers of this user that were killed."""
    await asyncio.to_thread(sweep, Path(tempfile.gettempdir()))


def _deleted_bytes(pid: int) -> int:
    """Return the size of open files that have been deleted."""
    found = (status for status in _open_files(pid) if stat.S_ISREG(status.st_mode))
    sizes = {(one.st_dev, one.st_ino): one.st_blocks * 512 for one in found if one.st_nlink == 0}
    return sum(sizes.values())


def _open_files(pid: int) -> Iterator[os.stat_result]:
    """Yield the open files of a process; its threads share them, and the first may have ended."""
    for thread in _threads(pid):
        with suppress(OSError):
            handles = list((thread / "fd").iterdir())
            for handle in handles:
                with suppress(OSError):
                    yield handle.stat()
            if handles:
                return


def _mapped_deleted(pid: int) -> int:
    """Return the number of deleted files that are mapped; their sizes are unknown."""
    for thread in _threads(pid):
        with suppress(OSError):
            if maps := (thread / "maps").read_bytes():
                return len(set(_DELETED.findall(maps)))
    return 0


def _threads(pid: int) -> list[Path]:
    with suppress(OSError):
        return list(Path("/proc", str(pid), "task").iterdir())
    return []
