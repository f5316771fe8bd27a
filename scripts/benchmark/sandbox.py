"""The cost of a run in a sandbox relative to plain `python -c pass`, measured in turn."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

from oda.clock import SystemClock
from oda.settings import WorkspaceSettings
from oda.workspace.sandbox.bubblewrap import BubblewrapSandbox
from oda.workspace.sandbox.landlock import LandlockSandbox
from oda.workspace.sandbox.python_environment import python_environment
from oda.workspace.sandbox.sandbox import Program, Sandbox, SandboxLimits
from oda.workspace.workspaces import Workspaces
from scripts.benchmark.goals import Goal
from scripts.benchmark.target import TurnFailed

BEYOND_PLAIN_LIMIT_MS = 60.0
"""Of a whole run, relative to plain Python."""

_RUNS = 40
_AT_ONCE = 20
_NOTHING = Program("pass")
_WORK = Program("open('output/a.csv', 'w').write(open('input/a.csv').read())")
_INPUT = b"a,b\n" * 25_000

Once = Callable[[], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class SandboxCost:
    """Wall time in milliseconds; `plain` was measured in turn with the others."""

    sandbox: str
    plain_ms: tuple[float, ...]
    start_ms: tuple[float, ...]
    """Of a program that does nothing."""
    whole_ms: tuple[float, ...]
    """Of a program that reads a file of 100 kB and writes another, including the workspace."""
    plain_at_once_ms: float
    at_once_ms: float
    """Until the last of 20 has ended."""

    @property
    def goal(self) -> Goal:
        return Goal(
            name=f"sandbox {self.sandbox}: ms of a whole run beyond plain Python, median",
            value=median(self.whole_ms) - median(self.plain_ms),
            limit=BEYOND_PLAIN_LIMIT_MS,
        )

    def __str__(self) -> str:
        return (
            f"sandbox {self.sandbox}: plain Python {_told(self.plain_ms)}; "
            f"nothing {_told(self.start_ms)}, {self._ratio(self.start_ms)}; "
            f"whole run {_told(self.whole_ms)}, {self._ratio(self.whole_ms)}; "
            f"{_AT_ONCE} at once {self.at_once_ms:.0f} ms, "
            f"x {self.at_once_ms / self.plain_at_once_ms:.2f} of plain {self.plain_at_once_ms:.0f}"
        )

    def _ratio(self, measured: tuple[float, ...]) -> str:
        return f"x {median(measured) / median(self.plain_ms):.2f}"


async def sandbox_costs(directory: Path) -> list[SandboxCost]:
    """Measure the sandboxes of this machine that hold here.

    Raises:
        TurnFailed: there is none, or a run came to another end than its own.
    """
    python = python_environment()
    workspaces = Workspaces(directory, WorkspaceSettings(), SystemClock())
    reports = [
        (sandbox, await sandbox.probe())
        for sandbox in (BubblewrapSandbox(python), LandlockSandbox(python))
    ]
    found = [sandbox for sandbox, report in reports if report.available]
    if not found:
        raise TurnFailed("; ".join(f"{report.sandbox}: {report.reason}" for _, report in reports))
    return [await _cost(sandbox, workspaces) for sandbox in found]


async def _cost(sandbox: Sandbox, workspaces: Workspaces) -> SandboxCost:
    nothing = _runner(sandbox, workspaces, _NOTHING)
    whole = _runner(sandbox, workspaces, _WORK)
    await nothing()
    plain_ms, start_ms, whole_ms = [], [], []
    for _ in range(_RUNS):
        plain_ms.append(await _timed(_plain))
        start_ms.append(await _timed(nothing))
        whole_ms.append(await _timed(whole))
    return SandboxCost(
        sandbox=sandbox.name,
        plain_ms=tuple(plain_ms),
        start_ms=tuple(start_ms),
        whole_ms=tuple(whole_ms),
        plain_at_once_ms=await _timed(_at_once(_plain)),
        at_once_ms=await _timed(_at_once(whole)),
    )


def _runner(sandbox: Sandbox, workspaces: Workspaces, program: Program) -> Once:
    numbers = iter(range(1_000_000))

    async def once() -> None:
        run_id = f"{sandbox.name}-{next(numbers)}"
        async with await workspaces.open("bench", run_id) as workspace:
            if program is _WORK:
                await workspace.write("input/a.csv", _INPUT)
            result = await sandbox.run(program, workspace, SandboxLimits())
            if result.exit_code != 0:
                raise TurnFailed(f"{sandbox.name}: {result.ending}: {result.stderr}")

    return once


async def _plain() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "pass", stdin=subprocess.DEVNULL
    )
    await process.wait()


def _at_once(once: Once) -> Once:
    async def all_of_them() -> None:
        await asyncio.gather(*(once() for _ in range(_AT_ONCE)))

    return all_of_them


async def _timed(once: Once) -> float:
    began = time.perf_counter()
    await once()
    return (time.perf_counter() - began) * 1e3


def _told(measured: tuple[float, ...]) -> str:
    return f"{median(measured):.0f} ms (p90 {quantiles(measured, n=10)[-1]:.0f})"
