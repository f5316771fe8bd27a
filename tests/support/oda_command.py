"""The command `oda` as a process: run to its end, or used on a pseudo-terminal."""

import asyncio
import fcntl
import os
import pty
import signal
import struct
import sys
import termios
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from oda.testing import ModelServer

ODA = Path(sys.executable).with_name("oda")
LIMIT_S = 180.0

GREETER = '''
from google.adk.agents import LlmAgent
from google.adk.tools import FunctionTool

from oda import configured_model


def weather(city: str) -> str:
    """Tell the weather."""
    return f"sunny in {city}"


def delete_file(path: str) -> str:
    """Delete a file."""
    return f"{path} is gone"


root_agent = LlmAgent(
    name="greeter",
    model=configured_model(),
    description="Greets people.",
    instruction="Be kind.",
    tools=[weather, FunctionTool(delete_file, require_confirmation=True)],
)
'''


@dataclass(frozen=True)
class Ended:
    """What a command left behind."""

    code: int
    stdout: str
    stderr: str


class Home:
    """A directory with agents, configuration and data, in which `oda` is used.

    The model answers as Gemini does unless a setting says otherwise: that starts quickest.
    """

    def __init__(
        self,
        directory: Path,
        *,
        model: ModelServer | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.directory = directory
        self._variables = variables or {}
        self._settings = {"RETRY__INITIAL_DELAY_S": "0.05"}
        if model is not None:
            self._settings |= {"MODEL": "gemini-stub", "MODEL_API_BASE": model.url}
        self.write("agents/greeter/agent.py", GREETER)

    def write(self, name: str, text: str) -> Path:
        """Make a file below the directory."""
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    async def run(self, *arguments: str, stdin: str = "", **settings: str) -> Ended:
        """Run a command to its end; `settings` become `ODA_…` variables."""
        process = await self.start(*arguments, **settings)
        try:
            async with asyncio.timeout(LIMIT_S):
                stdout, stderr = await process.communicate(stdin.encode())
        finally:
            await _end(process)
        return Ended(process.returncode or 0, stdout.decode(), stderr.decode())

    async def start(self, *arguments: str, **settings: str) -> asyncio.subprocess.Process:
        """Start a command with pipes; whoever starts it ends it."""
        return await asyncio.create_subprocess_exec(
            ODA,
            *arguments,
            cwd=self.directory,
            env=self._environment(settings),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    @asynccontextmanager
    async def terminal(self, *arguments: str, **settings: str) -> AsyncIterator["Terminal"]:
        """Start a command on a terminal of 80 columns and 24 rows."""
        ours, theirs = pty.openpty()
        try:
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
            process = await asyncio.create_subprocess_exec(
                ODA,
                *arguments,
                cwd=self.directory,
                env={**self._environment(settings), "TERM": "xterm"},
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                start_new_session=True,
                preexec_fn=_take_the_terminal,
            )
        finally:
            os.close(theirs)
        try:
            yield Terminal(process, ours)
        finally:
            await _end(process)
            asyncio.get_running_loop().remove_reader(ours)
            os.close(ours)

    def _environment(self, settings: dict[str, str]) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("ODA_") and "API_KEY" not in name
        }
        given = {"DATA_DIR": str(self.directory / "data"), **self._settings, **settings}
        return {**kept, **self._variables, **{f"ODA_{name}": given[name] for name in given}}


class Terminal:
    """What a person does and sees."""

    def __init__(self, process: asyncio.subprocess.Process, fd: int) -> None:
        self._process = process
        self._fd = fd
        self._seen = b""
        self._changed = asyncio.Event()
        asyncio.get_running_loop().add_reader(fd, self._read)

    @property
    def text(self) -> str:
        """All that has been shown, control sequences included."""
        return self._seen.decode(errors="replace")

    async def shows(self, text: str, *, times: int = 1) -> None:
        """Wait until `text` has been shown so many times."""
        try:
            async with asyncio.timeout(LIMIT_S):
                while self.text.count(text) < times:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"{text!r} was not shown in:\n{self.text}") from None

    def type(self, text: str) -> None:
        """Press keys; a line ends with a carriage return, Ctrl-C is `\\x03`, Ctrl-D `\\x04`."""
        os.write(self._fd, text.encode())

    async def ends(self) -> int:
        """Wait for the end of the command; its exit code."""
        async with asyncio.timeout(LIMIT_S):
            return await self._process.wait()

    async def ends_at_last(self, key: str) -> int:
        """Press a key again and again until the command ends; its exit code."""
        async with asyncio.timeout(LIMIT_S):
            while True:
                self.type(key)
                with suppress(TimeoutError):
                    return await asyncio.wait_for(self._process.wait(), 2)

    def _read(self) -> None:
        try:
            self._seen += os.read(self._fd, 65536)
        except OSError:  # the command has ended
            asyncio.get_running_loop().remove_reader(self._fd)
        self._changed.set()


def _take_the_terminal() -> None:
    """In the new process: it hears Ctrl-C, even if the tests run in the background of a shell."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


async def says(process: asyncio.subprocess.Process, text: str) -> None:
    """Wait until a command has printed a line with `text`."""
    assert process.stdout is not None
    async with asyncio.timeout(LIMIT_S):
        while text not in (line := (await process.stdout.readline()).decode()):
            assert line, "it has ended"


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
        await process.wait()
