"""The workspaces of all runs, below one directory: `<session>/<run>/`."""

import asyncio
import os
import shutil
import stat
import tempfile
import threading
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from cachetools import LRUCache

from oda.clock import Clock, SystemClock
from oda.errors import WorkspaceError
from oda.loop import LoopDefault
from oda.settings import Settings, WorkspaceSettings
from oda.workspace.path_guard import Root
from oda.workspace.places import Place, may_be_ours, place_of
from oda.workspace.usage import Usage
from oda.workspace.workspace import FOLDERS, Workspace

_DAY_S = 86_400.0
_USAGES_KEPT = 256

Opened = TypeVar("Opened", Workspace, Workspace | None)


class Workspaces:
    """Opens workspaces, and removes those that have not been used for long.

    Access control is up to the caller. A session's id is unique only per user, so runs are
    identified by the run's id, which nobody else must be able to choose.

    Args:
        root: Directory of all workspaces, created when needed.
        settings: Quotas and retention.
        clock: Provides the times at which workspaces were used.
    """

    def __init__(self, root: Path, settings: WorkspaceSettings, clock: Clock) -> None:
        self._path = root
        self.settings = settings
        self._clock = clock
        self._lock = threading.Lock()
        self._clearing = threading.Lock()
        self._open: Counter[Place] = Counter()
        self._usages: WeakValueDictionary[Place, Usage] = WeakValueDictionary()
        self._recent: LRUCache[Place, Usage] = LRUCache(_USAGES_KEPT)

    async def open(self, session_id: str, run_id: str) -> Workspace:
        """Open the workspace of a run, creating it if it is missing; the caller must close it."""
        return await _or_closed(asyncio.to_thread(self._made, session_id, run_id))

    async def find(self, session_id: str, run_id: str) -> Workspace | None:
        """The same, if it is there."""
        return await _or_closed(asyncio.to_thread(self._found, session_id, run_id))

    async def delete(self, session_id: str, *run_ids: str) -> None:
        """Remove the workspaces of runs; nothing need be there."""
        places = [place_of(session_id, run_id) for run_id in run_ids]
        await asyncio.to_thread(self._delete, places)

    async def sweep(self) -> int:
        """Remove those that were not used for `retention_days`; returns how many.

        Those that this process has open stay.
        """
        return await asyncio.to_thread(self._sweep)

    # --- in threads

    def _made(self, session_id: str, run_id: str) -> Workspace:
        place = place_of(session_id, run_id)
        with _keeping(), self._lock:
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
            with Root.at(self._path) as base:
                handle = base.make_folder(place)
            return self._opened(run_id, place, handle, FOLDERS)

    def _found(self, session_id: str, run_id: str) -> Workspace | None:
        place = place_of(session_id, run_id)
        with self._lock, self._base() as base:
            if base is None or (handle := base.open_folder(place)) is None:
                return None
            return self._opened(run_id, place, handle)

    def _opened(
        self, run_id: str, place: Place, handle: int, folders: Sequence[str] = ()
    ) -> Workspace:
        """The workspace in an open directory, with folders that are made if they are not there."""
        root = Root(handle)
        try:
            for folder in folders:
                os.close(root.make_folder(folder))
            root.use(self._clock.now())
        except BaseException:
            root.close()
            raise
        usage = self._usages.get(place)
        if usage is None:
            usage = Usage(self.settings.quota_bytes, self.settings.quota_files)
            self._usages[place] = usage
        self._recent[place] = usage
        self._open[place] += 1
        return Workspace(run_id, self._path / place, root, usage, partial(self._left, place, root))

    def _left(self, place: Place, root: Root) -> None:
        with self._lock:
            self._open[place] -= 1
            if not self._open[place]:
                del self._open[place]
        root.use(self._clock.now())

    def _delete(self, places: Sequence[Place]) -> None:
        with self._base() as base:
            if base is None:
                return
            with self._lock:
                for place in places:
                    base.set_aside(place)
                    self._forget(place)
            self._clear(base)

    def _sweep(self) -> int:
        limit = self._clock.now() - self.settings.retention_days * _DAY_S
        with self._base() as base:
            if base is None:
                return 0
            sessions = _folders(base, "")
            runs = [run for session in sessions for run in _folders(base, session)]
            count = sum(self._set_aside(base, run, limit) for run in runs)
            for session in sessions:
                with self._lock:
                    base.delete_empty(session)
            self._clear(base)
        return count

    def _set_aside(self, base: Root, place: Place, limit: float) -> bool:
        """Take it away if it is not in use and was not since `limit`; whether that was so."""
        with self._lock:
            if place in self._open or (handle := base.open_folder(place)) is None:
                return False
            with Root(handle) as root:
                unused = root.used_at() < limit
            if unused:
                base.set_aside(place)
                self._forget(place)
            return unused

    def _forget(self, place: Place) -> None:
        """Drop the usage counted at a place and below it."""
        for usages in (self._usages, self._recent):
            for known in [one for one in usages if f"{one}/".startswith(f"{place}/")]:
                del usages[known]

    def _clear(self, base: Root) -> None:
        with _keeping(), self._clearing:
            base.delete_set_aside()

    @contextmanager
    def _base(self) -> Iterator[Root | None]:
        """Open the directory of all workspaces; None if it does not exist yet."""
        with _keeping():
            try:
                base = Root.at(self._path)
            except FileNotFoundError:
                base = None
        with base or nullcontext():
            yield base


async def _or_closed(opening: Coroutine[Any, Any, Opened]) -> Opened:
    """Return what a thread opens; close it if the caller has been cancelled."""
    task = asyncio.create_task(opening)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.add_done_callback(_close)
        raise


def _close(opening: asyncio.Task[Opened]) -> None:
    if not opening.cancelled() and opening.exception() is None and (opened := opening.result()):
        opened.let_go()


default_workspaces: LoopDefault[Workspaces] = LoopDefault()
"""The process's workspaces in an event loop; set by the composition root."""


def current_workspaces() -> Workspaces:
    """Those of the running loop, or else (in plain `adk web`) those that the environment asks for.

    Raises:
        ConfigurationError: the environment or a file is wrong.
    """
    return default_workspaces.get() or _from_environment()


@cache
def _from_environment() -> Workspaces:
    settings = Settings.load()
    return Workspaces(settings.workspace_root, settings.workspace, SystemClock())


@asynccontextmanager
async def temporary_workspace() -> AsyncIterator[Workspace]:
    """Open a new, empty workspace; remove it with its content at the end."""
    directory = await asyncio.to_thread(tempfile.mkdtemp, prefix="oda-workspace-")
    try:
        workspaces = Workspaces(Path(directory), WorkspaceSettings(), SystemClock())
        async with await workspaces.open("temporary", "run") as workspace:
            yield workspace
    finally:
        await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)


def _folders(base: Root, folder: str) -> list[str]:
    """The folders in a folder that are those of sessions or runs."""
    return [
        entry.path
        for entry in base.entries(folder, deep=False)
        if stat.S_ISDIR(entry.status.st_mode) and may_be_ours(entry.names[-1])
    ]


@contextmanager
def _keeping() -> Iterator[None]:
    """Tell failures of the directory of all workspaces.

    Raises:
        WorkspaceError: it cannot be used.
    """
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise WorkspaceError(
            f"Workspaces cannot be kept here: {error.strerror}.",
            remedy="see that ODA_WORKSPACE__ROOT may be written",
        ) from error
