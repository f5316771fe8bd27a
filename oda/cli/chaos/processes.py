"""Processes of `oda serve` and `oda worker` that are killed and are started again on the same data.

As a program it has imported all that a server needs, and forks one process for each line on stdin,
since starting Python and importing ADK takes seconds. It opens no loop, thread or connection
itself. Its own lines on stdout are JSON; the processes add theirs when they are ready.
"""

import asyncio
import gc
import importlib
import json
import os
import re
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Literal

from pydantic import BaseModel

from oda.cli.chaos import crash_points
from oda.errors import UnavailableError

READY_WITHIN_S = 60.0
GONE_WITHIN_S = 20.0
_IMPORTED = (
    "oda.cli.serve",
    "oda.server.app",
    "alembic.command",
    "google.adk.agents._agent_router",
    "google.adk.agents.remote_a2a_agent",
    "google.adk.artifacts.in_memory_artifact_service",
    "google.adk.artifacts.file_artifact_service",
    "google.adk.auth.auth_preprocessor",
    "google.adk.flows.llm_flows.auto_flow",
    "google.adk.models.google_llm",
    "google.adk.tools.google_search_tool",
    "google.adk.tools.vertex_ai_search_tool",
    "google.adk.workflow._dynamic_node_scheduler",
    "google.adk.workflow._llm_agent_wrapper",
    "google.adk.workflow._workflow",
    "oda.agent.rehearsal",
    "oda.session.sql_sessions",
    "psycopg",
    "sqlalchemy.dialects.postgresql.psycopg",
    "sqlalchemy.dialects.sqlite.pysqlite",
    "uvicorn.lifespan.on",
    "uvicorn.loops.uvloop",
)
"""Modules that a server imports, directly or not, until it has answered."""
_NO_PROGRAM = "the program that starts processes has ended"
_BELOW_EPHEMERAL = range(20_000, 30_000)
"""Ports that no outgoing connection is given: a client never meets itself on them."""


Kind = Literal["serve", "worker"]


class Start(BaseModel, frozen=True):
    """A process to start."""

    kind: Kind
    port: int
    environment: dict[str, str]
    log: Path
    """Gets what the process says on stderr."""
    agents: Path


class Started(BaseModel, frozen=True):
    """The process is there; it is not ready yet."""

    pid: int
    port: int


class Exited(BaseModel, frozen=True):
    """The process is gone."""

    pid: int
    status: int
    """As of `os.waitpid`."""


@dataclass
class _Process:
    """One process of a server."""

    ready: asyncio.Event = field(default_factory=asyncio.Event)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    status: int = 0
    pid: int = 0


class Server:
    """One server or worker at one address, in one process after the other."""

    def __init__(
        self,
        fork_server: "ForkServer",
        data: Path,
        environment: Mapping[str, str],
        *,
        agents: Path,
        kind: Kind = "serve",
    ) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = data / f"server_{self.port}.log"
        self.starts = 0
        self.ready_at = 0.0
        """Epoch seconds at which the present process became ready."""
        self._fork_server = fork_server
        self._environment = {"ODA_DATA_DIR": str(data), **environment}
        self._agents = agents
        self._kind: Kind = kind
        self._process = _Process()
        self._process.gone.set()

    @property
    def pid(self) -> int:
        """Id of its present process, or of the last one."""
        return self._process.pid

    @property
    def running(self) -> bool:
        return not self._process.gone.is_set()

    async def start(self) -> None:
        """Start a process and wait until it is ready.

        Raises:
            UnavailableError: it ended by itself, other than by a kill at a crash point.
        """
        await self.begin()
        async with asyncio.timeout(READY_WITHIN_S):
            ready = asyncio.create_task(self._process.ready.wait())
            gone = asyncio.create_task(self._process.gone.wait())
            await asyncio.wait({ready, gone}, return_when=asyncio.FIRST_COMPLETED)
            for task in (ready, gone):
                task.cancel()
        if not self._process.ready.is_set() and not self.was_killed:
            raise UnavailableError(
                "a process did not start", remedy=f"its output:\n{self.output()}"
            )
        self.ready_at = time.time()

    async def begin(self) -> None:
        """Start a process, and do not wait for it."""
        assert not self.running
        self._process = _Process()
        self.starts += 1
        await self._fork_server.start(
            Start(
                kind=self._kind,
                port=self.port,
                environment=self._environment,
                log=self.log,
                agents=self._agents,
            ),
            self._process,
        )

    async def kill(self) -> None:
        """SIGKILL; return when the process is gone. Harmless when it is gone already."""
        if self.running and self._process.pid:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)
        await self.exited()

    async def exited(self, within_s: float = GONE_WITHIN_S) -> None:
        """Wait until the process is gone, by whatever."""
        async with asyncio.timeout(within_s):
            await self._process.gone.wait()

    @property
    def was_killed(self) -> bool:
        """Whether the last process ended by SIGKILL."""
        status = self._process.status
        return not self.running and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL

    def output(self) -> str:
        """Standard error of all its processes."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""


class ForkServer:
    """The program that starts processes by forking itself, seen from outside."""

    def __init__(self, program: asyncio.subprocess.Process) -> None:
        self._program = program
        self._running: dict[int, _Process] = {}
        self._starting: dict[int, asyncio.Future[_Process]] = {}
        self._expected: dict[int, _Process] = {}
        self._ended = False

    async def start(self, start: Start, process: _Process) -> None:
        assert self._program.stdin is not None
        if self._ended:
            raise UnavailableError(_NO_PROGRAM)
        self._expected[start.port] = process
        starting: asyncio.Future[_Process] = asyncio.get_running_loop().create_future()
        self._starting[start.port] = starting
        self._program.stdin.write(start.model_dump_json().encode() + b"\n")
        await asyncio.wait_for(starting, READY_WITHIN_S)

    async def listen(self) -> None:
        """Read what the program and its children print, until it ends."""
        assert self._program.stdout is not None
        async for line in self._program.stdout:
            self._take(line.decode(errors="replace"))
        self._ended = True
        for starting in self._starting.values():
            starting.set_exception(UnavailableError(_NO_PROGRAM))

    def _take(self, line: str) -> None:
        if found := re.search(r"is ready on http://127\.0\.0\.1:(\d+)", line):
            self._expected[int(found[1])].ready.set()
        elif line.startswith('{"pid":'):
            message = json.loads(line)
            if "port" in message:
                started = Started.model_validate(message)
                process = self._expected[started.port]
                process.pid = started.pid
                self._running[started.pid] = process
                self._starting.pop(started.port).set_result(process)
            else:
                exited = Exited.model_validate(message)
                process = self._running.pop(exited.pid)
                process.status = exited.status
                process.gone.set()


@asynccontextmanager
async def open_fork_server(directory: Path | None = None) -> AsyncIterator[ForkServer]:
    """Start the program; at the end it and all its processes are killed.

    Args:
        directory: Working directory of the processes; by default that of this one.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith("ODA_") and "API_KEY" not in k}
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", __name__),
        cwd=directory,
        env={**kept, "PYTHONPATH": os.pathsep.join([str(Path.cwd()), kept.get("PYTHONPATH", "")])},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    fork_server = ForkServer(program)
    listening = asyncio.create_task(fork_server.listen())
    try:
        yield fork_server
    finally:
        assert program.stdin is not None
        program.stdin.close()
        try:
            await asyncio.wait_for(program.wait(), GONE_WITHIN_S)
        except TimeoutError:
            program.kill()
            await program.wait()
        await listening


def free_port() -> int:
    """A port that nobody listens on, and that is given to no outgoing connection."""
    random = Random()
    for _ in range(100):
        port = random.choice(_BELOW_EPHEMERAL)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise UnavailableError("no port is free")


def children(pids: Iterable[int]) -> list[int]:
    """Return the processes below others, on Linux."""
    found = []
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            with suppress(OSError):
                below = [int(child) for child in task.read_text().split()]
                found += [*below, *children(below)]
    return found


def command_of(pid: int) -> str:
    """Return the command line of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


# --- the program


def main() -> None:
    """Fork a server for each `Start` on stdin; at its end kill those that live."""
    for name in _IMPORTED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    children: set[int] = set()
    woken, wake = socket.socketpair()
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    try:
        for start in _requests(children, woken.fileno()):
            assert threading.active_count() == 1, threading.enumerate()
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _serve(start)
            children.add(pid)
            _print(Started(pid=pid, port=start.port))
    finally:
        for pid in children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _requests(children: set[int], wake: int) -> Iterator[Start]:
    """Yield the requests on stdin; meanwhile reap children that have ended."""
    text, stdin = b"", 0
    while True:
        readable, _, _ = select.select([stdin, wake], [], [])
        if wake in readable:
            os.read(wake, 4096)
            _reap(children)
        if stdin in readable:
            read = os.read(stdin, 65536)
            if not read:
                return
            *lines, text = (text + read).split(b"\n")
            yield from map(Start.model_validate_json, lines)


def _reap(children: set[int]) -> None:
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        children.discard(pid)
        _print(Exited(pid=pid, status=status))


def _serve(start: Start) -> None:
    """Be a server or a worker until the end."""
    from oda.cli.serve import serve, work
    from oda.cli.terminal import report, silence_warnings

    try:
        stdin = os.open(os.devnull, os.O_RDONLY)
        stderr = os.open(start.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.dup2(stdin, 0)
        os.dup2(stderr, 2)
        os.environ.update(start.environment)
        silence_warnings()
        crash_points.listen()
        options: dict[str, Any] = {"port": start.port, "agents_dir": start.agents}
        if start.kind == "serve":
            serve(reload=False, dev_ui=False, rehearse=False, **options)
        else:
            work(concurrency=None, **options)
    except Exception as error:
        report(error)
    finally:
        sys.stderr.flush()
        os._exit(1)


def _print(line: Started | Exited) -> None:
    print(line.model_dump_json(), flush=True)


if __name__ == "__main__":
    main()
