"""A directory of the host for one run, where a sandbox has no file system of its own."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from oda.telemetry import get_logger
from oda.workspace.opening import FOLDER, closing
from oda.workspace.path_guard import Root
from oda.workspace.removal import remove_tree
from oda.workspace.sandbox import stage
from oda.workspace.sandbox.sandbox import SandboxLimits
from oda.workspace.workspace import Workspace

_logger = get_logger(__name__)

_MAX_ENTRIES = 100_000


@dataclass(frozen=True)
class RunDirectory:
    """Of one run; it goes away with it."""

    box: Path
    """Where the code works."""
    temporary: Path
    """Where it may have temporary files."""
    input: Path
    """What it may only read; it is linked into the box."""
    max_bytes: int

    def is_box(self, box: Root) -> bool:
        """Whether this is what is open there."""
        return os.path.samestat(os.fstat(box.fileno()), self.box.lstat())

    def prepare(self, box: Root) -> None:
        """Show the input in it."""
        os.symlink(self.input, stage.READ_ONLY, dir_fd=box.fileno())

    def is_overfull(self, box: Root) -> bool:
        """Whether more lies there than may; what lies there is counted, so it takes its time."""
        taken = entries = 0
        with Root.at(self.temporary) as temporary:
            for root in (box, temporary):
                for entry in root.entries():
                    taken += entry.status.st_blocks * 512
                    entries += 1
                    if taken > self.max_bytes or entries > _MAX_ENTRIES:
                        return True
        return False


@asynccontextmanager
async def run_directory(workspace: Workspace, limits: SandboxLimits) -> AsyncIterator[RunDirectory]:
    """Make one, and remove it with all that the code has left in it."""
    staged = await asyncio.to_thread(stage.bytes_to_stage, workspace.root)
    parent = Path(tempfile.gettempdir())
    top = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="oda-run-", dir=parent))
    try:
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
        await asyncio.to_thread(_remove, top)


def _remove(top: Path) -> None:
    for folder, names, _ in os.walk(top):
        for below in (Path(folder, name) for name in names):
            if not below.is_symlink():
                below.chmod(0o700)  # code may have closed it to everybody
    try:
        with closing(os.open(top.parent, FOLDER)) as parent:
            remove_tree(parent, top.name)
    except OSError as error:
        _logger.warning("run_directory_left", directory=str(top), reason=str(error))
