"""A process that the benchmark has started, and what it costs."""

import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import psutil

_STOP_WITHIN_S = 15.0
_WHOLE_PROCESS_CLOCK = 2
"""In a clock id of Linux: the scheduler's time of all threads."""


def cpu_s(pid: int) -> float:
    """CPU seconds of one process, with those of its threads that have ended.

    On Linux to the nanosecond; elsewhere as coarse as the system's counters.

    Raises:
        ProcessLookupError: there is no such process.
    """
    if sys.platform == "linux":
        try:
            return time.clock_gettime((~pid << 3) | _WHOLE_PROCESS_CLOCK)
        except OSError as error:
            raise ProcessLookupError(pid) from error
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


class ChildProcess:
    """One process and its children; its output goes to a file."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self._log = log

    @classmethod
    async def start(
        cls, command: Sequence[str], *, environment: Mapping[str, str], directory: Path
    ) -> Self:
        """Run a command in `directory`, where its log is kept as well."""
        log = directory / "output.log"
        with log.open("ab") as output:
            process = await asyncio.create_subprocess_exec(
                *command,
                env=dict(environment),
                cwd=directory,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        return cls(process, log)

    @property
    def ended(self) -> bool:
        return self._process.returncode is not None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def log(self) -> str:
        """The output of the process so far."""
        return self._log.read_text(errors="replace")

    def log_tail(self, characters: int = 1500) -> str:
        """The end of what it has printed."""
        return self.log[-characters:]

    def cpu_s(self) -> float:
        """CPU seconds of the process and its living children."""
        return sum(cpu_s(process.pid) for process in self._tree())

    def rss_mib(self) -> float:
        """Resident memory of the process and its children."""
        return sum(float(process.memory_info().rss) for process in self._tree()) / 2**20

    async def stop(self) -> None:
        """Ask it to end, and end it if it does not."""
        if self.ended:
            return
        self._process.terminate()
        try:
            await asyncio.wait_for(self._process.wait(), _STOP_WITHIN_S)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    def _tree(self) -> list[psutil.Process]:
        root = psutil.Process(self._process.pid)
        return [root, *root.children(recursive=True)]
