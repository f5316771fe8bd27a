"""The compared targets: how a target is started, sent a turn, and measured."""

import asyncio
import os
import sqlite3
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from scripts.benchmark.process import ChildProcess
from scripts.benchmark.workload import MODEL_BASE_VARIABLE, QUESTION

REPOSITORY = Path(__file__).parents[2]
_READY_WITHIN_S = 120.0
TURN_WITHIN_S = 120.0
_POLL_S = 0.02


class TurnFailed(Exception):
    """A turn did not end with its answer."""


class Target(ABC):
    """A way to run the agent, in a process of its own."""

    name: str
    about: str
    """One-line description for the report."""

    def __init__(self, *, model_base: str, work: Path) -> None:
        """
        Args:
            model_base: Address of the model, for OpenAI's protocol.
            work: An empty directory for its data.
        """
        self._model_base = model_base
        self._work = work
        self._process: ChildProcess | None = None

    @property
    @abstractmethod
    def command(self) -> list[str]: ...

    @property
    @abstractmethod
    def environment(self) -> Mapping[str, str]:
        """Its own variables."""

    @abstractmethod
    async def is_ready(self) -> bool: ...

    @abstractmethod
    async def new_session(self) -> str:
        """Make a session and return its id. Raises: `TurnFailed`."""

    @abstractmethod
    async def turn(self, session: str, question: str = QUESTION) -> float | None:
        """Run one turn to its answer; return the seconds to its first token, if that is seen.

        Raises:
            TurnFailed: it came to another end.
        """

    @property
    def full_environment(self) -> Mapping[str, str]:
        """Its own variables, and what it inherits."""
        return {**_inherited_environment(), **self.environment}

    @property
    def process(self) -> ChildProcess:
        assert self._process is not None
        return self._process

    async def start(self) -> float:
        """Start it; seconds until it is ready.

        Raises:
            RuntimeError: it has ended or is not ready in time.
        """
        began = time.perf_counter()
        self._process = await ChildProcess.start(
            self.command,
            environment=self.full_environment,
            directory=self._work,
        )
        while not await self.is_ready():
            if self._process.ended or time.perf_counter() - began > _READY_WITHIN_S:
                raise RuntimeError(f"{self.name} did not start:\n{self._process.log_tail()}")
            await asyncio.sleep(_POLL_S)
        return time.perf_counter() - began

    async def stop(self) -> None:
        if self._process is not None:
            await self._process.stop()

    async def cpu_s(self) -> float:
        """CPU seconds that all its turns have cost so far."""
        return self.process.cpu_s()

    async def database_bytes(self) -> int | None:
        """Size of its database; None without one."""
        files = [*self._work.rglob("*.db")]
        return sum(map(_size_of_sqlite, files)) if files else None


class KeepsOrder(ABC):
    """A target that answers messages to one session in the order in which it has accepted them."""

    @abstractmethod
    async def messages_at_once(self, count: int) -> str | None:
        """Send messages to one new session at the same moment; what went wrong, if anything did.

        Each must be answered, and the session must hold them in the order of acceptance.

        Raises:
            TurnFailed: one has come to another end.
        """


class BareRunner(Target):
    """The floor."""

    name = "runner"
    about = "ADK Runner in its own process, no HTTP, sessions in memory, LiteLlm"

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-m", "scripts.benchmark.bare_runner", self._socket]

    @property
    def environment(self) -> Mapping[str, str]:
        return plain_adk(self._model_base)

    async def is_ready(self) -> bool:
        try:
            await self.new_session()
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        return True

    async def new_session(self) -> str:
        return await self._ask("session")

    async def turn(self, session: str, question: str = QUESTION) -> None:
        await self._ask(f"turn {session} {question}")

    async def _ask(self, line: str) -> str:
        reader, writer = await asyncio.open_unix_connection(self._socket)
        try:
            writer.write(line.encode() + b"\n")
            reply = (await asyncio.wait_for(reader.readline(), TURN_WITHIN_S)).decode()
        except TimeoutError as error:
            raise TurnFailed(f"{line}: no answer") from error
        finally:
            writer.close()
        status, _, value = reply.strip().partition(" ")
        if status != "ok":
            raise TurnFailed(value)
        return value

    @property
    def _socket(self) -> str:
        return str(self._work / "runner.sock")


def _size_of_sqlite(file: Path) -> int:
    """Return the size of a database, what still stands in its write-ahead log included."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        (page_size,) = connection.execute("PRAGMA page_size").fetchone()
    return int(pages * page_size)


def plain_adk(model_base: str) -> Mapping[str, str]:
    """Variables of a target that is plain ADK."""
    return {MODEL_BASE_VARIABLE: model_base, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}


def _inherited_environment() -> dict[str, str]:
    """Return the environment of a user's shell: without our settings, with bytecode caching."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("ODA_") and name != "PYTHONDONTWRITEBYTECODE"
    }
    return {**inherited, "PYTHONPATH": str(REPOSITORY)}
