"""A process without an environment: its output as it comes, its limits, and its end."""

import asyncio
import codecs
import contextlib
import os
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

from oda.errors import SandboxUnavailableError
from oda.workspace.sandbox.sandbox import OnOutput, Stream

Stopped = Literal["cancelled", "timed_out", "output_limit", "disk_limit", "thread_limit"]

_LAST_OUTPUT_S = 1.0
"""Time to wait for output of processes that have left the group, in seconds."""


class Output:
    """The output of a process: read to the end, kept up to a limit, decoded incrementally."""

    def __init__(self, max_bytes: int, on_output: OnOutput | None) -> None:
        self._left = max_bytes
        self._on_output = on_output
        self._pieces: dict[Stream, list[str]] = {"stdout": [], "stderr": []}
        self.overflowed = asyncio.Event()
        """Set when more has come than is kept."""

    def take(self, stream: Stream, data: bytes, decoder: codecs.IncrementalDecoder) -> None:
        """Take a piece; an empty one is the end."""
        kept = data[: self._left]
        self._left -= len(kept)
        if len(kept) < len(data):
            self.overflowed.set()
        text = decoder.decode(kept, final=not data)
        if text:
            self._pieces[stream].append(text)
            if self._on_output:
                self._on_output(stream, text)

    def text(self, stream: Stream) -> str:
        return "".join(self._pieces[stream])


class _Drain(asyncio.Protocol):
    """Reads a pipe and never pauses: a process whose output waits does not end."""

    def __init__(self, stream: Stream, output: Output) -> None:
        self._stream = stream
        self._output = output
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.ended = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        self._output.take(self._stream, data, self._decoder)

    def connection_lost(self, exc: Exception | None) -> None:
        self._output.take(self._stream, b"", self._decoder)
        self.ended.set_result(None)


class Process:
    """A started process, the leader of a group of its own. Use `started`."""

    def __init__(self, popen: "subprocess.Popen[bytes]", output: Output) -> None:
        self.pid = popen.pid
        self.output = output
        self._popen = popen
        self._pidfds = [os.pidfd_open(popen.pid)]
        self._adopted: int | None = None
        self._began = time.monotonic()
        self._ended: float | None = None
        self._cpu_s: float | None = None

    @property
    def returncode(self) -> int | None:
        """As `subprocess` has it: a signal is negative; None while it runs."""
        return self._popen.returncode

    @property
    def wall_s(self) -> float:
        """How long it has run."""
        return (self._ended or time.monotonic()) - self._began

    @property
    def cpu_s(self) -> float | None:
        """CPU time of the process; None if an adopted process has ended by itself."""
        return self._cpu_s

    def adopt(self, pid: int) -> None:
        """Count a process that is no child of ours as part of this one, as what does its work."""
        with contextlib.suppress(ProcessLookupError):
            self._pidfds.append(os.pidfd_open(pid))
        self._adopted = pid

    def kill(self) -> None:
        """End all of it."""
        if self._adopted is not None and self.returncode is None:
            with contextlib.suppress(OSError):
                self._cpu_s = time.clock_gettime(_clock_of(self._adopted))
        for pidfd in self._pidfds:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        if self.returncode is None:  # until it is reaped, its id is its own
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)

    async def ended(self) -> None:
        """Return when all of it has ended."""
        for pidfd in self._pidfds:
            await readable(pidfd)
        if self.returncode is None:
            self._ended = time.monotonic()
            _, status, usage = os.wait4(self.pid, 0)  # noqa: ASYNC222 - it has ended
            if self._adopted is None:
                self._cpu_s = usage.ru_utime + usage.ru_stime
            self._popen.returncode = os.waitstatus_to_exitcode(status)

    async def supervise(
        self,
        wall_s: float,
        cancelled: asyncio.Event,
        watches: Mapping[Stopped, Callable[[], Awaitable[None]]],
    ) -> Stopped | None:
        """Wait for the end of the process; kill it if it exceeds a limit, and return which one.

        Each watch returns when its limit is exceeded.
        """
        ended = asyncio.ensure_future(self.ended())
        limits: dict[asyncio.Future[Any], Stopped] = {
            asyncio.ensure_future(cancelled.wait()): "cancelled",
            asyncio.ensure_future(self.output.overflowed.wait()): "output_limit",
            **{asyncio.ensure_future(watch()): what for what, watch in watches.items()},
        }
        try:
            done, _ = await asyncio.wait(
                {ended, *limits}, timeout=wall_s, return_when=asyncio.FIRST_COMPLETED
            )
            if ended in done:
                return None
            return next((limits[each] for each in done), "timed_out")
        finally:
            self.kill()
            await ended
            for each in limits:
                each.cancel()
            await asyncio.gather(*limits, return_exceptions=True)

    def close(self) -> None:
        for pidfd in self._pidfds:
            os.close(pidfd)


@asynccontextmanager
async def started(
    argv: Sequence[str], output: Output, *, fds: Sequence[int] = (), cwd: Path | None = None
) -> AsyncIterator[Process]:
    """Start a process with nothing but these handles; it has ended when this is left.

    Raises:
        SandboxUnavailableError: the program is not there, or may not be started.
    """
    try:
        popen = subprocess.Popen(  # noqa: ASYNC220 - it must be a child of this thread, see below
            argv,
            env={},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=fds,
            cwd=cwd,
            start_new_session=True,
        )
    except OSError as error:
        raise SandboxUnavailableError(f"{argv[0]} cannot be started: {error}") from error
    process = Process(popen, output)
    try:
        async with _drained(popen, output):
            try:
                yield process
            finally:
                process.kill()
                await process.ended()
    finally:
        process.close()


@asynccontextmanager
async def _drained(popen: "subprocess.Popen[bytes]", output: Output) -> AsyncIterator[None]:
    """Read both pipes, to their ends unless somebody unknown keeps them open."""
    loop = asyncio.get_running_loop()
    drains = (_Drain("stdout", output), _Drain("stderr", output))
    transports = []
    for drain, pipe in zip(drains, (popen.stdout, popen.stderr), strict=True):
        transport, _ = await loop.connect_read_pipe(partial(_same, drain), pipe)
        transports.append(transport)
    try:
        yield
        await asyncio.wait([drain.ended for drain in drains], timeout=_LAST_OUTPUT_S)
    finally:
        for transport in transports:
            transport.close()
        await asyncio.gather(*(drain.ended for drain in drains))


def _same(drain: _Drain) -> _Drain:
    return drain


def _clock_of(pid: int) -> int:
    """Return the clock of a process's CPU time, as numbered by Linux."""
    return ~pid << 3 | 2


async def readable(fd: int) -> None:
    """Return when there is something to read, or nothing ever again."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(fd, _resolve, ready)
    try:
        await ready
    finally:
        loop.remove_reader(fd)


def _resolve(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
