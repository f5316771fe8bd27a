"""Which sandbox this process uses, and how many runs it has at once."""

import asyncio
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self
from weakref import WeakKeyDictionary

from oda.clock import Clock, SystemClock
from oda.errors import SandboxUnavailableError
from oda.loop import LoopDefault
from oda.settings import Settings
from oda.telemetry import get_logger
from oda.workspace.sandbox.candidates import candidates
from oda.workspace.sandbox.sandbox import (
    OnOutput,
    Program,
    Report,
    RunResult,
    Sandbox,
    SandboxLimits,
)
from oda.workspace.workspace import Workspace

_logger = get_logger(__name__)

_ASK_AGAIN_S = 60.0
"""Time after which a missing sandbox is looked for again, in seconds."""
_REMEDY = (
    "install bubblewrap (`apt install bubblewrap`; Ubuntu 24.04 also needs the AppArmor profile "
    "bwrap-userns-restrict, `apt install apparmor-profiles`), or have a kernel from 6.2 with "
    "Landlock, or give `Sandboxes` a remote one; ODA_SANDBOX=unsafe-subprocess runs code without "
    "any protection"
)


@dataclass(frozen=True)
class _Choice:
    sandbox: Sandbox | None
    report: Report
    made_at: float


class Sandboxes:
    """Runs programs in the sandbox that the settings ask for.

    It is tested once, before its first use or when `start` is called. If none is available, runs
    are refused; code never runs in a weaker one than the settings allow. `unsafe-subprocess` is
    refused if `ODA_HOST` is not a loopback address, even with authentication.

    Args:
        settings: `sandbox`, `workspace` and `host`.
        remote: Used instead of those of this machine unless the setting is `none`, such as an
            `ExecutorSandbox`. A host application sets it inside of its context, with
            `default_sandboxes.set(Sandboxes(settings, remote=…))`.
        clock: Determines when to look again for a sandbox that was not available.
    """

    def __init__(
        self, settings: Settings, *, remote: Sandbox | None = None, clock: Clock | None = None
    ) -> None:
        self._settings = settings
        self._remote = remote
        self._clock = clock or SystemClock()
        self._places = asyncio.Semaphore(settings.workspace.runs_at_once)
        self._choosing: asyncio.Task[_Choice] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._choosing is not None:
            self._choosing.cancel()
            await asyncio.gather(self._choosing, return_exceptions=True)

    @property
    def limits(self) -> SandboxLimits:
        """The limits of one run, from the settings."""
        ours = self._settings.workspace
        return SandboxLimits(
            wall_s=ours.run_timeout_s,
            cpu_s=ours.run_cpu_s,
            memory_bytes=ours.run_memory_bytes,
            quota_bytes=ours.run_quota_bytes,
            file_bytes=min(SandboxLimits.file_bytes, ours.run_quota_bytes),
        )

    @property
    def known(self) -> Report | None:
        """The report if it can be given at once."""
        return None if (choice := self._known_choice()) is None else choice.report

    def start(self) -> None:
        """Begin the test in the background, so that the first run need not wait for it."""
        self._choice()

    async def report(self) -> Report:
        """Report the sandbox in use, or why there is none and how to get one."""
        return (await asyncio.shield(self._choice())).report

    async def run(
        self,
        program: Program,
        workspace: Workspace,
        *,
        on_output: OnOutput | None = None,
        limits: SandboxLimits | None = None,
    ) -> RunResult:
        """Run a program as `Sandbox.run` does, when those that asked earlier have had their turn.

        Raises:
            SandboxUnavailableError: there is no sandbox; it says why, and how to get one.
        """
        choice = await asyncio.shield(self._choice())
        if choice.sandbox is None:
            report = choice.report
            raise SandboxUnavailableError(
                f"Code cannot be run here: {report.reason}", remedy=report.remedy
            )
        async with self._places:
            return await choice.sandbox.run(
                program, workspace, limits or self.limits, on_output=on_output
            )

    def _known_choice(self) -> _Choice | None:
        task = self._choosing
        if task is None or not task.done() or task.cancelled() or task.exception():
            return None
        return task.result()

    def _choice(self) -> asyncio.Task[_Choice]:
        """The test that runs or holds, else a new one."""
        task, known = self._choosing, self._known_choice()
        holds = known is not None and (
            known.sandbox is not None or self._clock.now() - known.made_at < _ASK_AGAIN_S
        )
        if task is None or (task.done() and not holds):
            task = self._choosing = asyncio.create_task(self._choose())
        return task

    async def _choose(self) -> _Choice:
        sandbox, report = await _first_that_holds(self._settings, self._remote)
        if sandbox is None:
            _logger.warning("sandbox_unavailable", reason=report.reason, remedy=report.remedy)
        elif report.weaknesses:
            _logger.warning(
                "sandbox_has_weaknesses", sandbox=report.sandbox, weaknesses=report.weaknesses
            )
        return _Choice(sandbox, report, self._clock.now())


async def _first_that_holds(
    settings: Settings, remote: Sandbox | None
) -> tuple[Sandbox | None, Report]:
    try:
        some = (
            (remote,)
            if remote is not None and settings.sandbox != "none"
            else await asyncio.to_thread(candidates, settings)
        )
    except SandboxUnavailableError as error:
        return None, Report(settings.sandbox, False, error.message, error.remedy)
    refused: list[Report] = []
    for sandbox in some:
        report = await sandbox.probe()
        if report.available:
            reasons = "; not ".join([report.reason, *map(_line, refused)])
            return sandbox, replace(report, reason=reasons)
        refused.append(report)
    if len(refused) == 1:
        return None, replace(refused[0], remedy=refused[0].remedy or _REMEDY)
    return None, Report(settings.sandbox, False, "; ".join(map(_line, refused)), _REMEDY)


def _line(report: Report) -> str:
    return f"{report.sandbox}: {report.reason}"


default_sandboxes: LoopDefault[Sandboxes] = LoopDefault()
"""The sandboxes used in an event loop; set by the composition root."""

_elsewhere: WeakKeyDictionary[asyncio.AbstractEventLoop, Sandboxes] = WeakKeyDictionary()


def current_sandboxes() -> Sandboxes:
    """Those of the running loop, or else (in plain `adk web`) those that the environment asks for.

    Raises:
        ConfigurationError: the environment or a file is wrong.
    """
    if (ours := default_sandboxes.get()) is not None:
        return ours
    loop = asyncio.get_running_loop()
    if loop not in _elsewhere:
        _elsewhere[loop] = Sandboxes(Settings.load())
    return _elsewhere[loop]
