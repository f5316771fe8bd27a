"""`oda sidecar`: an app for a desktop shell, on stdin and stdout."""

import asyncio
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import BinaryIO

from pydantic_core import to_json

from oda.cli.exit_code import ExitCode
from oda.cli.terminal import load_settings
from oda.context import OdaContext
from oda.server.conversations import AppConversations
from oda.server.sidecar import Sidecar, Told
from oda.server.sidecar_actions import actions_of
from oda.settings import Settings

LONGEST_LINE = 4 * 2**20
"""Bytes; a longer one is refused whole."""
_AHEAD = 100
"""Lines that are read before they are answered, and events that wait for their reader."""
_TOO_LONG = b"\xff"
"""Stands in for a line that was too long; it is not valid JSON either."""


def sidecar(agent: str | None, *, user: str | None, agents_dir: Path | None) -> ExitCode:
    """Answer the lines of stdin until it ends. Only JSON lines are written to stdout.

    Raises:
        ConfigurationError: there is no such agent, or no agent with a sidecar.
    """
    settings = load_settings(agents_dir=agents_dir)
    with _stdout_of_our_own() as lines_out:
        asyncio.run(_serve(settings, agent, user or "local", lines_out))
    return ExitCode.OK


async def _serve(settings: Settings, agent: str | None, user: str, lines_out: FileIO) -> None:
    async with OdaContext.from_settings(settings) as oda:
        name, actions = await asyncio.to_thread(actions_of, oda.definitions, agent)
        await oda.warm_up([name])
        await oda.turns.recover()
        writer = _Writer(lines_out)
        conversations = AppConversations(oda, name, user)
        door = Sidecar(actions, conversations, writer.emit)
        async with asyncio.TaskGroup() as tasks:
            writing = tasks.create_task(writer.run())
            await writer.emit({"id": None, "event": "ready", "actions": sorted(actions)})
            async for line in _Lines(sys.stdin.buffer):
                if writing.done():
                    break
                await door.take(line)
            await door.drain(settings.turn.grace_s)
            await writer.end()


class _Lines:
    """The lines of a file that may block, read by a thread that need not be awaited at exit."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue(_AHEAD)
        threading.Thread(target=self._read, daemon=True, name="stdin").start()

    def __aiter__(self) -> "_Lines":
        return self

    async def __anext__(self) -> bytes:
        line = await self._queue.get()
        if line is None:
            raise StopAsyncIteration
        return line

    def _read(self) -> None:
        too_long = False
        while line := self._file.readline(LONGEST_LINE):
            ended = line.endswith(b"\n") or len(line) < LONGEST_LINE
            if not ended or too_long:
                too_long = not ended
                if ended:
                    self._put(_TOO_LONG)
            elif line.strip():
                self._put(line)
        self._put(None)

    def _put(self, line: bytes | None) -> None:
        put = asyncio.run_coroutine_threadsafe(self._queue.put(line), self._loop)
        put.result()


class _Writer:
    """Writes events in order, in a thread, as fast as they are read."""

    def __init__(self, file: FileIO) -> None:
        self._file = file
        self._queue: asyncio.Queue[Told | None] = asyncio.Queue(_AHEAD)
        self._gone = False

    async def emit(self, told: Told) -> None:
        if not self._gone:
            await self._queue.put(told)

    async def end(self) -> None:
        """Write everything that is queued."""
        if not self._gone:
            await self._queue.put(None)

    async def run(self) -> None:
        while (told := await self._queue.get()) is not None:
            try:
                await asyncio.to_thread(self._write, to_json(told) + b"\n")
            except OSError:  # the parent process is gone
                self._gone = True
                while not self._queue.empty():
                    self._queue.get_nowait()
                return

    def _write(self, line: bytes) -> None:
        rest = memoryview(line)
        while rest:
            rest = rest[self._file.write(rest) or 0 :]


@contextmanager
def _stdout_of_our_own() -> Iterator[FileIO]:
    """Redirect the process's stdout to stderr, and return the original stdout."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    with FileIO(kept, "w") as lines_out:
        yield lines_out
