"""Resource usage of the server, measured from outside."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from scripts.benchmark.process import ChildProcess
from scripts.soaking.tally import Tally, percentile

EVERY_S = 10.0


@dataclass(frozen=True)
class Sample:
    """Usage of the server's processes at one time, and the requests since the last sample."""

    at_s: float
    """Seconds since the start."""
    memory_mib: float
    """Resident memory of all processes."""
    files: int
    """Open files of the server process."""
    connections: int
    threads: int
    processes: int
    requests: int
    p50_ms: float
    p99_ms: float
    errors: int
    """Errors since the start."""


class Watch:
    """Takes samples of the server's resource usage.

    Args:
        tell: Called with each sample.
    """

    def __init__(self, server: ChildProcess, tally: Tally, tell: Callable[[Sample], None]) -> None:
        self._server = server
        self._process = psutil.Process(server.pid)
        self._tally = tally
        self._tell = tell
        self._began = time.monotonic()
        self._seen = 0
        self.samples: list[Sample] = []

    async def look(self, every_s: float = EVERY_S) -> None:
        """Take samples until cancelled."""
        while True:
            await self.sample()
            await asyncio.sleep(every_s)

    async def sample(self) -> Sample:
        """Take a sample.

        Raises:
            RuntimeError: the server has exited.
        """
        if self._server.ended:
            raise RuntimeError(f"the server has ended:\n{self._server.log_tail()}")
        memory_mib, processes = await asyncio.to_thread(self._memory)
        latencies = self._tally.latencies_s[self._seen :]
        self._seen += len(latencies)
        taken = Sample(
            at_s=time.monotonic() - self._began,
            memory_mib=memory_mib,
            files=self._process.num_fds(),
            connections=len(self._process.net_connections("tcp")),
            threads=self._process.num_threads(),
            processes=processes,
            requests=len(latencies),
            p50_ms=1000 * percentile(latencies, 0.5),
            p99_ms=1000 * percentile(latencies, 0.99),
            errors=len(self._tally.errors),
        )
        self.samples.append(taken)
        self._tell(taken)
        return taken

    def _memory(self) -> tuple[float, int]:
        total, count = 0, 0
        for process in (self._process, *self._process.children(recursive=True)):
            try:
                total += process.memory_info().rss
                count += 1
            except psutil.NoSuchProcess:  # a child that has just ended
                continue
        return total / 2**20, count
