"""One run of a program in a process of this machine, whichever way it is confined."""

import asyncio
import contextlib
import signal
import socket
import struct
from array import array
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from oda.confinement import Confinement
from oda.errors import SandboxUnavailableError, WorkspaceError
from oda.workspace.path_guard import Root
from oda.workspace.sandbox import stage
from oda.workspace.sandbox.inside import source_of
from oda.workspace.sandbox.orders import Orders, packed, resource_limits
from oda.workspace.sandbox.prepared import Prepared
from oda.workspace.sandbox.process import Output, Process, Stopped, readable, started
from oda.workspace.sandbox.sandbox import (
    Ending,
    LeftBehind,
    OnOutput,
    Program,
    RunResult,
    SandboxLimits,
)
from oda.workspace.workspace import Workspace

INTERPRETER_OPTIONS = ("-I", "-S", "-B", "-X", "utf8")

FONT_VARIABLE = "ODA_CJK_FONT"
"""Tells code the file of a TrueType font for Chinese, Japanese and Korean, for documents."""

_FONT_NAMES = (
    *("Noto Sans SC", "Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC", "SimHei"),
    *("SimSun", "Microsoft YaHei", "PingFang SC", "Heiti SC", "Heiti TC", "STHeiti", "KaiTi"),
    *("WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "Arial Unicode MS", "Hiragino Sans GB"),
)
"""Fonts that programs request for charts in Chinese; all are mapped to the one available font."""

_CHARTS = f"font.family: sans-serif, {_FONT_NAMES[0]}\n"
_START_S = 15.0
_WATCH_EVERY_S = 0.2
_COUNT_EVERY_S = 0.02
_MAX_THREADS = 1000
_MAX_FOLDERS = 8
_CREDENTIALS = struct.Struct("3i")
_ROOM_FOR_ANCILLARY = socket.CMSG_SPACE(4 * _MAX_FOLDERS) + socket.CMSG_SPACE(_CREDENTIALS.size)


@dataclass(frozen=True)
class Place:
    """The environment of one run, prepared by the sandbox."""

    command: Sequence[str]
    """Command that starts the interpreter, with its options."""
    temporary: str
    """A directory for temporary files, by its name inside."""
    site_packages: Sequence[Path]
    """Package directories, by their names inside."""
    font: Path | None
    """For Chinese, Japanese and Korean, by its name inside."""
    prepared: Prepared
    """With its folder by its name inside."""
    is_box: Callable[[Root], bool]
    """Returns whether a handle is that of the directory created for the code."""
    is_overfull: Callable[[Sequence[Root], int], bool]
    """Returns whether the process with this id has written too much to the box and the watched
    folders. Called repeatedly, in a thread.
    """
    watched: Sequence[str] = ()
    """Folders that code may write to beside the box, by their names inside."""
    fds: Sequence[int] = ()
    cwd: Path | None = None
    """Working directory of the command; None if the command sets it itself."""
    prepare: Callable[[Root], None] = lambda box: None
    """Called in a thread before the box is filled."""
    confinement: Callable[[int], Confinement | None] = lambda pid: None
    """Returns the confinement that the process with this id applies to itself before it runs the
    code.
    """


async def run_in(
    place: Place,
    program: Program,
    workspace: Workspace,
    limits: SandboxLimits,
    on_output: OnOutput | None,
) -> RunResult:
    """Run a program there. Cancelling ends it, and takes over its files so far.

    Raises:
        SandboxUnavailableError: it has not come so far that the code could begin.
    """
    cancelled = asyncio.Event()
    run = asyncio.ensure_future(_run(place, program, workspace, limits, on_output, cancelled))
    try:
        return await asyncio.shield(run)
    except asyncio.CancelledError:
        cancelled.set()
        while not run.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([run])
        if not run.cancelled():
            run.exception()
        raise


async def _run(
    place: Place,
    program: Program,
    workspace: Workspace,
    limits: SandboxLimits,
    on_output: OnOutput | None,
    cancelled: asyncio.Event,
) -> RunResult:
    output = Output(limits.text_bytes, on_output)
    async with AsyncExitStack() as stack:
        ours, theirs = map(stack.enter_context, socket.socketpair())
        ours.setblocking(False)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        try:
            async with (
                started(
                    [
                        *place.command,
                        *INTERPRETER_OPTIONS,
                        "-c",
                        source_of("boot"),
                        str(theirs.fileno()),
                        *place.watched,
                    ],
                    output,
                    fds=[theirs.fileno(), *place.fds],
                    cwd=place.cwd,
                ) as process,
                asyncio.timeout(_START_S) as patience,
            ):
                theirs.close()
                folders, pid = await _handles_of_folders(ours)
                for folder in folders:
                    stack.callback(folder.close)
                box = folders[0]
                if pid != process.pid:
                    process.adopt(pid)
                if not place.is_box(box):
                    raise _NotBegunError("it has shown a directory that is not its own")
                before = await asyncio.to_thread(_furnish, place, box, workspace.root)
                await _order(ours, _orders(place, program, limits, process.pid))
                patience.reschedule(None)
                stopped = await process.supervise(
                    limits.wall_s,
                    cancelled,
                    {
                        "disk_limit": lambda: _overfull(place, folders, pid),
                        "thread_limit": lambda: _overcrowded(pid),
                    },
                )
        except (_NotBegunError, TimeoutError) as error:
            said = output.text("stderr").strip().splitlines() or [str(error)]
            raise SandboxUnavailableError(said[-1] or "nothing ran in time") from error
        collected = await stage.collect(box, before, workspace, limits)
        reported = _reported(ours, limits)
    return _result(process, stopped, reported, collected, limits)


class _NotBegunError(Exception):
    """Raised when what was started ended before the code could begin."""


async def _handles_of_folders(control: socket.socket) -> tuple[list[Root], int]:
    """The box, then the watched folders, and the id of the process that has them open.

    Raises:
        _NotBegunError: it has ended without giving one.
    """
    await readable(control.fileno())
    data, ancillary, _, _ = control.recvmsg(1, _ROOM_FOR_ANCILLARY, socket.MSG_CMSG_CLOEXEC)
    fds = array("i")
    pid = 0
    for level, kind, content in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
        elif (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
            pid, _, _ = _CREDENTIALS.unpack(content)
    folders = [Root(fd) for fd in fds]
    if data != b"H" or not folders or not pid:
        for folder in folders:
            folder.close()
        raise _NotBegunError("it has ended before it began")
    return folders, pid


def _furnish(place: Place, box: Root, root: Root) -> dict[str, stage.Stamp]:
    try:
        place.prepare(box)
        return stage.fill(box, root)
    except OSError as error:
        raise WorkspaceError(
            f"The files could not be laid out for the code: {error.strerror}.",
            remedy="delete what is not needed, or try again",
        ) from error


async def _order(control: socket.socket, orders: Orders) -> None:
    """Send the orders, and wait until the code begins.

    Raises:
        _NotBegunError: the code has not begun.
    """
    loop = asyncio.get_running_loop()
    try:
        await loop.sock_sendall(control, packed(orders))
        control.shutdown(socket.SHUT_WR)
        begun = await loop.sock_recv(control, 1)
    except OSError as error:
        raise _NotBegunError(str(error)) from error
    if begun != b"R":
        raise _NotBegunError("it has ended before it began")


def _orders(place: Place, program: Program, limits: SandboxLimits, pid: int) -> Orders:
    bytecode = place.prepared.bytecode
    settings = f"{place.temporary}/matplotlib"
    charts = dict(place.prepared.fonts)
    if place.font:
        charts["matplotlibrc"] = _CHARTS
    environment = {
        "HOME": place.temporary,
        "USER": "sandbox",
        "TMPDIR": place.temporary,
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": settings,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    if place.font:
        environment[FONT_VARIABLE] = str(place.font)
    return {
        "main": program.main,
        "modules": dict(program.modules),
        "arguments": list(program.arguments),
        "limits": resource_limits(limits),
        "environment": environment,
        "files": {f"{settings}/{name}": content for name, content in charts.items()},
        "site_packages": [str(each) for each in place.site_packages],
        "bytecode": str(bytecode) if bytecode else None,
        "font": [str(place.font), *_FONT_NAMES] if place.font else [],
        "confinement": place.confinement(pid),
    }


async def _overcrowded(pid: int) -> None:
    """Return when it has more threads than any program needs: each takes memory of the kernel, and
    one of the numbers that all processes of the machine draw on."""
    while _threads_of(pid) <= _MAX_THREADS:  # noqa: ASYNC110 - the kernel tells it to who asks only
        await asyncio.sleep(_COUNT_EVERY_S)


def _threads_of(pid: int) -> int:
    try:
        return Path("/proc", str(pid), "task").stat().st_nlink - 2
    except OSError:  # it has ended
        return 0


async def _overfull(place: Place, folders: Sequence[Root], pid: int) -> None:
    """Return when more was written than may be; looking takes a fifth of the time at most."""
    clock = asyncio.get_running_loop().time
    while True:
        began = clock()
        if await asyncio.to_thread(place.is_overfull, folders, pid):
            return
        await asyncio.sleep(max(_WATCH_EVERY_S, 4 * (clock() - began)))


def _reported(control: socket.socket, limits: SandboxLimits) -> float | None:
    """The time of the processor that it says it has taken, if it came to its own end."""
    try:
        taken = float(control.recv(64))
    except (OSError, ValueError):
        return None
    return taken if 0 <= taken <= limits.cpu_s + 1 else None


def _result(
    process: Process,
    stopped: Stopped | None,
    reported: float | None,
    collected: stage.Collected,
    limits: SandboxLimits,
) -> RunResult:
    code = process.returncode if process.returncode is not None else 0
    fatal = -code if code < 0 else code - 128 if code > 128 and reported is None else 0
    ending: Ending
    match stopped:
        case "timed_out" | "output_limit":
            ending = stopped
        case "cancelled" | "disk_limit" | "thread_limit":
            ending = "killed"
        case None if fatal == signal.SIGXCPU or (process.cpu_s or 0) >= limits.cpu_s:
            ending = "cpu_limit"
        case None:
            ending = "killed" if fatal else "exited"
    left_behind = collected.left_behind
    if stopped == "disk_limit":
        left_behind = (LeftBehind("", "more was written than a run may write"), *left_behind)
    return RunResult(
        ending=ending,
        exit_code=code if ending == "exited" else None,
        stdout=process.output.text("stdout"),
        stderr=process.output.text("stderr"),
        truncated=process.output.overflowed.is_set(),
        files=collected.files,
        left_behind=left_behind,
        wall_s=process.wall_s,
        cpu_s=process.cpu_s if reported is None else reported,
    )
