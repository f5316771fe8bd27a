"""Code in namespaces of its own: its own files, processes, network and user, made by `bwrap`."""

import asyncio
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from oda.confinement.seccomp import assemble, rules_of_namespaces, this_machine
from oda.errors import SandboxUnavailableError
from oda.workspace.path_guard import Root
from oda.workspace.sandbox import stage
from oda.workspace.sandbox.local import Place, run_in
from oda.workspace.sandbox.mounts import TEMPORARY, python_inside, system_arguments
from oda.workspace.sandbox.prepared import Prepared, prepare
from oda.workspace.sandbox.python_environment import PythonEnvironment
from oda.workspace.sandbox.sandbox import (
    OnOutput,
    Program,
    Report,
    RunResult,
    SandboxLimits,
)
from oda.workspace.sandbox.self_test import self_test
from oda.workspace.workspace import Workspace

_BOX = "/box"

_NAMESPACES = (
    *("--unshare-all", "--unshare-user", "--uid", "65534", "--gid", "65534", "--disable-userns"),
    *("--cap-drop", "ALL", "--die-with-parent", "--new-session", "--clearenv"),
    *("--hostname", "sandbox"),
)
_PAGE = os.sysconf("SC_PAGE_SIZE")
_MAX_INODES = 100_000
"""Names take memory too, which the size of a file system in memory does not count."""

_INSTALL = "install the package bubblewrap, or use a remote sandbox"
_ALLOW = (
    "let this user make user namespaces: on Ubuntu 24.04 with the AppArmor profile "
    "bwrap-userns-restrict, in a container with a seccomp profile that allows them; "
    "or use another sandbox"
)


class BubblewrapSandbox:
    """Bubblewrap, a filter of system calls, limits of the process, and files in memory."""

    name = "bwrap"

    def __init__(self, python: PythonEnvironment) -> None:
        self._python = python
        self._inside = python_inside(python, Prepared())
        self._report: Report | None = None
        self._bwrap = shutil.which("bwrap")

    async def probe(self) -> Report:
        """See `Sandbox.probe`."""
        if self._report is None:
            self._inside = python_inside(self._python, await prepare(self._python))
            self._report = await self_test(self)
        return self._report

    async def run(
        self,
        program: Program,
        workspace: Workspace,
        limits: SandboxLimits,
        *,
        on_output: OnOutput | None = None,
    ) -> RunResult:
        """See `Sandbox.run`."""
        bwrap = _checked(self._bwrap)
        room = await asyncio.to_thread(stage.bytes_to_stage, workspace.root) + limits.quota_bytes
        size = -(-room // _PAGE) * _PAGE
        with _filter() as seccomp:
            place = Place(
                command=[
                    bwrap,
                    *_NAMESPACES,
                    *system_arguments(),
                    *self._inside.arguments,
                    *_box_arguments(workspace.path / stage.READ_ONLY, size),
                    *("--seccomp", str(seccomp)),
                    "--",
                    self._inside.executable,
                ],
                temporary=TEMPORARY[0],
                site_packages=self._inside.site_packages,
                font=self._inside.font,
                prepared=self._inside.prepared,
                is_box=lambda box: _is_sized(box, size),
                is_overfull=_is_overfull,
                watched=TEMPORARY,
                fds=[seccomp],
            )
            try:
                return await run_in(place, program, workspace, limits, on_output)
            except SandboxUnavailableError as error:
                raise SandboxUnavailableError(error.message, remedy=_ALLOW) from error


def _checked(bwrap: str | None) -> str:
    """The program, if it may be used."""
    if bwrap is None:
        raise SandboxUnavailableError("bwrap is not installed", remedy=_INSTALL)
    if Path(bwrap).stat().st_mode & stat.S_ISUID:
        raise SandboxUnavailableError(
            f"{bwrap} is setuid, so that it runs as root", remedy=f"chmod u-s {bwrap}"
        )
    return bwrap


def _box_arguments(read_only: Path, size: int) -> tuple[str, ...]:
    return (
        *("--size", str(size), "--tmpfs", _BOX),
        *("--ro-bind", str(read_only), f"{_BOX}/{stage.READ_ONLY}"),
        *("--chdir", _BOX, "--remount-ro", "/"),
    )


@contextmanager
def _filter() -> Iterator[int]:
    """A handle from which the filter is read, once."""
    fd = os.memfd_create("filter", os.MFD_CLOEXEC)
    try:
        os.write(fd, assemble(rules_of_namespaces(), this_machine()))
        os.lseek(fd, 0, os.SEEK_SET)
        yield fd
    finally:
        os.close(fd)


def _is_sized(box: Root, size: int) -> bool:
    """Return whether it is a file system of exactly the requested size, as only ours is."""
    status = os.fstatvfs(box.fileno())
    return status.f_blocks * status.f_frsize == size


def _is_overfull(folders: Sequence[Root], _pid: int) -> bool:
    found = (os.fstatvfs(folder.fileno()) for folder in folders)
    return sum(status.f_files - status.f_ffree for status in found) > _MAX_INODES
