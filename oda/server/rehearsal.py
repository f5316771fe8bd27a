"""The rehearsal: each agent is loaded once after the start, in a process of its own.

What is broken is logged right away, and the list of apps can be given, although the server itself
loads an agent only when somebody uses it.
"""

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ValidationError

from oda.agent.description import AppDescription, describe
from oda.context import OdaContext, context_without_database
from oda.errors import AgentLoadError, OdaError, UnavailableError
from oda.server.agent_routes import load_routes, paths_of, pattern_of
from oda.settings import Settings
from oda.telemetry import configure_logging, get_logger

log = get_logger(__name__)

_HEAD_START_S = 1.0
"""Seconds that the first users have before a rehearsal competes with them, unless it is wanted."""
_NICENESS = 5
"""Of a process whose outcome nobody waits for."""


class Rehearsed(BaseModel):
    """The outcome of a rehearsal."""

    apps: list[AppDescription]
    routes: dict[str, list[str]]
    """Path templates by agent."""
    broken_routes: dict[str, str]


class Rehearsal:
    """A rehearsal that runs in the background, and its outcome."""

    def __init__(self, oda: OdaContext) -> None:
        self._oda = oda
        self._configuration = oda.configuration.current()
        self._wanted = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    @classmethod
    @asynccontextmanager
    async def running(cls, oda: OdaContext) -> AsyncIterator[Self]:
        """Begin a rehearsal; it is given up at the end of the block."""
        rehearsal = cls(oda)
        try:
            yield rehearsal
        finally:
            rehearsal._task.cancel()
            with suppress(asyncio.CancelledError):
                await rehearsal._task

    async def outcome(self) -> Rehearsed | None:
        """Return what it has found; None if it failed, or if something has changed since then."""
        self._wanted.set()
        found = await asyncio.shield(self._task)
        if found is None or self._configuration is not self._oda.configuration.current():
            return None
        names = await asyncio.to_thread(self._oda.definitions.names)
        return found if names == [app.name for app in found.apps] else None

    def owners(self, path: str) -> frozenset[str]:
        """Return the agents with routes that match a path, as far as that is known."""
        found = self._task.result() if self._task.done() else None
        routes = found.routes.items() if found else ()
        return frozenset(
            name for name, templates in routes if any(pattern_of(t).match(path) for t in templates)
        )

    async def _run(self) -> Rehearsed | None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._wanted.wait(), _HEAD_START_S)
        try:
            found = Rehearsed.model_validate_json(await self._printed())
        except (OSError, OdaError, ValidationError) as error:
            log.error("agents_not_rehearsed", reason=str(error), remedy="run `oda doctor`")
            return None
        for app in found.apps:
            if app.error:
                log.error("agent_not_loaded", agent=app.name, reason=app.error)
        for name, reason in found.broken_routes.items():
            log.error("agent_routes_not_loaded", agent=name, reason=reason)
        return found

    async def _printed(self) -> bytes:
        """Return what a process that rehearses prints.

        Raises:
            UnavailableError: it has failed.
        """
        niceness = 0 if self._wanted.is_set() else _NICENESS
        agents = str(self._oda.settings.agents_dir)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", __name__, agents, str(niceness)),
            start_new_session=True,  # a Ctrl-C at the server is not for it
            stdin=asyncio.subprocess.PIPE,  # it ends when the server is gone, however that ended
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            printed, errors = await _output_of(process)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            reason = errors.decode(errors="replace").strip().rpartition("\n")[2]
            raise UnavailableError(reason or f"the process ended with {process.returncode}")
        return printed


async def _output_of(process: asyncio.subprocess.Process) -> tuple[bytes, bytes]:
    """Read a process to its end; unlike `communicate`, leave its stdin open."""
    assert process.stdout is not None
    assert process.stderr is not None
    printed, errors = await asyncio.gather(process.stdout.read(), process.stderr.read())
    await process.wait()
    return printed, errors


def _end_with_server() -> None:
    """End this process when the server has closed our stdin, or is gone."""
    os.read(0, 1)
    os._exit(1)


async def _rehearse(settings: Settings) -> Rehearsed:
    async with context_without_database(settings) as oda:
        apps = describe(oda.definitions, oda.models)
        found = Rehearsed(apps=apps, routes={}, broken_routes={})
        for app in apps:
            try:
                if app.error is None and (router := load_routes(oda.definitions, app.name)):
                    found.routes[app.name] = paths_of(router)
            except AgentLoadError as error:
                found.broken_routes[app.name] = error.message
    return found


def main() -> None:
    """Rehearse the agents of the folder that is named, and print the outcome as JSON."""
    os.nice(int(sys.argv[2]))
    threading.Thread(target=_end_with_server, daemon=True).start()
    out = os.dup(1)
    os.dup2(2, 1)  # what agents print is not the outcome
    configure_logging("critical", "json")
    try:
        found = asyncio.run(_rehearse(Settings.load(agents_dir=Path(sys.argv[1]))))
    except OdaError as error:
        sys.exit(str(error))
    with os.fdopen(out, "w") as file:
        file.write(found.model_dump_json())


if __name__ == "__main__":
    main()
