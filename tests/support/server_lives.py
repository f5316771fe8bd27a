"""Servers of `oda serve` that are killed and live again on the same data.

As a program it has imported all that a server needs, and forks one server process for each line on
stdin, since starting Python and importing ADK takes seconds. It opens no loop, thread or connection
itself. Its own lines on stdout are JSON; the servers add theirs when they are ready.
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
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from pydantic import BaseModel

REPOSITORY = Path(__file__).parents[2]
AGENTS = REPOSITORY / "tests" / "support" / "fault_agents"
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
"""What a server imports, directly or not, until it has answered."""
_NO_PROGRAM = "the program that bears servers has ended"
_BELOW_EPHEMERAL = range(20_000, 30_000)
"""Ports that no outgoing connection is given: a client never meets itself on them."""


class Birth(BaseModel, frozen=True):
    """A server process to start."""

    port: int
    environment: dict[str, str]
    log: Path
    """Gets what the process says on stderr."""
    agents: Path = AGENTS


class Born(BaseModel, frozen=True):
    """The process is there; it is not ready yet."""

    pid: int
    port: int


class Died(BaseModel, frozen=True):
    """The process is gone."""

    pid: int
    status: int
    """As of `os.waitpid`."""


@dataclass
class _Life:
    """One process of a server."""

    ready: asyncio.Event = field(default_factory=asyncio.Event)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    status: int = 0
    pid: int = 0


class Server:
    """One server at one address, in one life after the other."""

    def __init__(
        self,
        nursery: "Nursery",
        data: Path,
        environment: Mapping[str, str],
        *,
        agents: Path = AGENTS,
    ) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = data / f"server_{self.port}.log"
        self.lives = 0
        self.ready_at = 0.0
        """Epoch seconds at which the present life became ready."""
        self._nursery = nursery
        self._environment = {"ODA_DATA_DIR": str(data), **environment}
        self._agents = agents
        self._life = _Life()
        self._life.gone.set()

    @property
    def alive(self) -> bool:
        return not self._life.gone.is_set()

    async def live(self) -> None:
        """Start a process and wait until it is ready.

        Raises:
            AssertionError: it ended by itself, other than by a kill at a crash point.
        """
        await self.begin_life()
        async with asyncio.timeout(READY_WITHIN_S):
            ready = asyncio.create_task(self._life.ready.wait())
            gone = asyncio.create_task(self._life.gone.wait())
            await asyncio.wait({ready, gone}, return_when=asyncio.FIRST_COMPLETED)
            for task in (ready, gone):
                task.cancel()
        if not self._life.ready.is_set() and not self.was_killed:
            raise AssertionError(f"the server did not start:\n{self.said()}")
        self.ready_at = time.time()

    async def begin_life(self) -> None:
        """Start a process, and do not wait for it."""
        assert not self.alive
        self._life = _Life()
        self.lives += 1
        await self._nursery.bear(
            Birth(
                port=self.port,
                environment=self._environment,
                log=self.log,
                agents=self._agents,
            ),
            self._life,
        )

    async def kill(self) -> None:
        """SIGKILL; return when the process is gone. Harmless when it is gone already."""
        if self.alive and self._life.pid:
            with suppress(ProcessLookupError):
                os.kill(self._life.pid, signal.SIGKILL)
        await self.dead()

    async def dead(self, within_s: float = GONE_WITHIN_S) -> None:
        """Wait until the process is gone, by whatever."""
        async with asyncio.timeout(within_s):
            await self._life.gone.wait()

    @property
    def was_killed(self) -> bool:
        """Whether the last life ended by SIGKILL."""
        status = self._life.status
        return not self.alive and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL

    def said(self) -> str:
        """What all lives have said on stderr."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""


class Nursery:
    """The program that bears server processes, as tests use it."""

    def __init__(self, program: asyncio.subprocess.Process) -> None:
        self._program = program
        self._born: dict[int, _Life] = {}
        self._coming: dict[int, asyncio.Future[_Life]] = {}
        self._expected: dict[int, _Life] = {}
        self._ended = False

    async def bear(self, birth: Birth, life: _Life) -> None:
        assert self._program.stdin is not None
        assert not self._ended, _NO_PROGRAM
        self._expected[birth.port] = life
        coming: asyncio.Future[_Life] = asyncio.get_running_loop().create_future()
        self._coming[birth.port] = coming
        self._program.stdin.write(birth.model_dump_json().encode() + b"\n")
        await asyncio.wait_for(coming, READY_WITHIN_S)

    async def listen(self) -> None:
        """Take in what the program and its children say, until it ends."""
        assert self._program.stdout is not None
        async for line in self._program.stdout:
            self._take(line.decode(errors="replace"))
        self._ended = True
        for coming in self._coming.values():
            coming.set_exception(AssertionError(_NO_PROGRAM))

    def _take(self, line: str) -> None:
        if found := re.search(r"is ready on http://127\.0\.0\.1:(\d+)", line):
            self._expected[int(found[1])].ready.set()
        elif line.startswith('{"pid":'):
            said = json.loads(line)
            if "port" in said:
                born = Born.model_validate(said)
                life = self._expected[born.port]
                life.pid = born.pid
                self._born[born.pid] = life
                self._coming.pop(born.port).set_result(life)
            else:
                died = Died.model_validate(said)
                life = self._born.pop(died.pid)
                life.status = died.status
                life.gone.set()


@asynccontextmanager
async def open_nursery() -> AsyncIterator[Nursery]:
    """Start the program; at the end it and all its servers are killed."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("ODA_") and "API_KEY" not in k}
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.support.server_lives"),
        cwd=REPOSITORY,
        env=kept,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    nursery = Nursery(program)
    listening = asyncio.create_task(nursery.listen())
    try:
        yield nursery
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
    raise AssertionError("no free port")


# --- the program


def main() -> None:
    """Fork a server for each `Birth` on stdin; at its end kill those that live."""
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
        for birth in _births(children, woken.fileno()):
            assert threading.active_count() == 1, threading.enumerate()
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _serve(birth)
            children.add(pid)
            _say(Born(pid=pid, port=birth.port))
    finally:
        for pid in children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _births(children: set[int], wake: int) -> Iterator[Birth]:
    """What is asked for on stdin; while nothing is, the dead are buried."""
    text, stdin = b"", 0
    while True:
        readable, _, _ = select.select([stdin, wake], [], [])
        if wake in readable:
            os.read(wake, 4096)
            _bury(children)
        if stdin in readable:
            read = os.read(stdin, 65536)
            if not read:
                return
            *lines, text = (text + read).split(b"\n")
            yield from map(Birth.model_validate_json, lines)


def _bury(children: set[int]) -> None:
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        children.discard(pid)
        _say(Died(pid=pid, status=status))


def _serve(birth: Birth) -> None:
    """Be a server until the end."""
    from oda.cli.serve import serve
    from oda.cli.terminal import report, silence_warnings

    try:
        stdin = os.open(os.devnull, os.O_RDONLY)
        stderr = os.open(birth.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.dup2(stdin, 0)
        os.dup2(stderr, 2)
        os.environ.update(birth.environment)
        silence_warnings()
        serve(reload=False, port=birth.port, dev_ui=False, rehearse=False, agents_dir=birth.agents)
    except Exception as error:
        report(error)
    finally:
        sys.stderr.flush()
        os._exit(1)


def _say(line: Born | Died) -> None:
    print(line.model_dump_json(), flush=True)


if __name__ == "__main__":
    main()
