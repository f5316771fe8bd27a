"""Many processes: what a second worker adds, and how soon a turn begins in another process.

A server that only accepts, and workers beside it, on one PostgreSQL database.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from oda.testing.script import Match, Script, Text
from scripts.benchmark.goals import FIRST_EVENT_MS, WORKERS_SLOWNESS, Goal
from scripts.benchmark.model_stub import model_stub
from scripts.benchmark.postgres import Database
from scripts.benchmark.process import ChildProcess
from scripts.benchmark.servers import OdaServeOnPostgres
from scripts.benchmark.workload import ANSWER

_CONCURRENCY = 8
"""Turns at a time in a worker."""
_TURNS_OF_EACH = 8
_MODEL_S = 1.0
"""A turn waits for its model most of the time."""
_SLOWLY = "Take your time"
_SINGLE_TURNS = 40
_READY_WITHIN_S = 60.0
_POLL_S = 0.05
_SCRIPT = Script(
    steps=(
        Text(match=Match(last_user=_SLOWLY), times=None, text=ANSWER, delay_s=_MODEL_S),
        Text(times=None, text=ANSWER),
    )
)


class AcceptingServer(OdaServeOnPostgres):
    """Our server, which runs no turns."""

    @property
    def command(self) -> list[str]:
        return [*super().command, "--accept-only"]

    async def worker(self, directory: Path) -> ChildProcess:
        """Start a worker beside it, and wait until it is ready."""
        worker = await ChildProcess.start(
            [
                *(str(Path(sys.executable).parent / "oda"), "worker", "--health-port", "0"),
                *("--concurrency", str(_CONCURRENCY), "--agents", str(self._agents_dir)),
            ],
            environment={**self.full_environment, "ODA_DATA_DIR": str(directory / "data")},
            directory=_made(directory),
        )
        async with asyncio.timeout(_READY_WITHIN_S):
            while "is ready" not in worker.log:  # noqa: ASYNC110 - the process tells nobody
                await asyncio.sleep(_POLL_S)
        return worker


@dataclass(frozen=True, kw_only=True)
class ManyProcesses:
    """Results of the measurement."""

    turns_per_s: Mapping[int, float]
    """By the number of workers, while each turn waits for its model."""
    first_event_ms: tuple[float, ...]
    """From a message to the first token of its answer, on an idle system and a model that answers
    at once.
    """

    @property
    def goals(self) -> list[Goal]:
        return [
            Goal(
                name="turns/s of one worker / of two",
                value=self.turns_per_s[1] / self.turns_per_s[2],
                limit=WORKERS_SLOWNESS,
            ),
            Goal(
                name="message to first event in another process, ms",
                value=median(self.first_event_ms),
                limit=FIRST_EVENT_MS,
            ),
        ]

    def __str__(self) -> str:
        rates = ", ".join(f"{count}: {rate:.1f}" for count, rate in self.turns_per_s.items())
        fastest, slowest = min(self.first_event_ms), max(self.first_event_ms)
        return (
            f"turns/s by workers: {rates}; message to first event "
            f"{median(self.first_event_ms):.0f} ms ({fastest:.0f}–{slowest:.0f})"
        )


async def many_processes(database: Database, directory: Path) -> ManyProcesses:
    """Measure a server with one worker, then with two."""
    async with AsyncExitStack() as stack:
        stub = await stack.enter_async_context(model_stub(_made(directory / "model"), _SCRIPT))
        server = await stack.enter_async_context(_started(stub.openai_base, database, directory))
        rates = {}
        first_event_ms: tuple[float, ...] = ()
        for workers in (1, 2):
            worker = await server.worker(directory / f"worker-{workers}")
            stack.push_async_callback(worker.stop)
            await _turns_per_s(server, workers, each=1)
            if workers == 1:
                first_event_ms = await _single_turns(server)
            rates[workers] = await _turns_per_s(server, workers, each=_TURNS_OF_EACH)
        return ManyProcesses(turns_per_s=rates, first_event_ms=first_event_ms)


@asynccontextmanager
async def _started(
    model_base: str, database: Database, directory: Path
) -> AsyncIterator[AcceptingServer]:
    work = _made(directory / "server")
    server = AcceptingServer(model_base=model_base, work=work, database=database)
    try:
        await server.start()
        yield server
    finally:
        await server.stop()


async def _turns_per_s(server: AcceptingServer, workers: int, *, each: int) -> float:
    """Keep all places of the workers busy, with `each` turns one after the other."""
    clients = workers * _CONCURRENCY
    sessions = [await server.new_session() for _ in range(clients)]

    async def client(session: str) -> None:
        for _ in range(each):
            await server.turn(session, _SLOWLY)

    began = time.perf_counter()
    await asyncio.gather(*map(client, sessions))
    return clients * each / (time.perf_counter() - began)


async def _single_turns(server: AcceptingServer) -> tuple[float, ...]:
    session = await server.new_session()
    found = []
    for _ in range(_SINGLE_TURNS):
        first_s = await server.turn(session, "Hello")
        assert first_s is not None
        found.append(first_s * 1e3)
    return tuple(found)


def _made(directory: Path) -> Path:
    directory.mkdir()
    return directory
