"""Code in a plain process: limits of the process, and nothing that keeps it from anything."""

from oda.telemetry import get_logger
from oda.workspace.sandbox.directory import run_directory, sweep_run_directories
from oda.workspace.sandbox.local import Place, run_in
from oda.workspace.sandbox.prepared import Prepared, prepare
from oda.workspace.sandbox.python_environment import PythonEnvironment
from oda.workspace.sandbox.sandbox import OnOutput, Program, Report, RunResult, SandboxLimits
from oda.workspace.sandbox.self_test import fault_of
from oda.workspace.workspace import Workspace

_logger = get_logger(__name__)

_WARNING = (
    "NO PROTECTION: code can read and change whatever this server can, and reach the network; "
    "use it with code that you have read only"
)
_WEAKNESSES = (
    "all files of the server's user can be read and changed",
    "the network can be reached",
    "processes can be started, and may outlive the run when they leave its group",
    "memory and time are limited for each process, not for all together",
    "the quota of the disk is watched, not enforced",
)


class UnsafeSubprocess:
    """For development, or for code that a person has read."""

    name = "unsafe-subprocess"

    def __init__(self, python: PythonEnvironment) -> None:
        self._python = python
        self._prepared = Prepared()
        self._report: Report | None = None

    async def probe(self) -> Report:
        """See `Sandbox.probe`; only whether it works is tested."""
        if self._report is None:
            await sweep_run_directories()
            self._prepared = await prepare(self._python)
            reason = await fault_of(self)
            if reason is None:
                _logger.warning("code_runs_without_sandbox", warning=_WARNING)
            self._report = Report(
                self.name, reason is None, reason or _WARNING, weaknesses=_WEAKNESSES
            )
        return self._report

    async def run(
        self,
        program: Program,
        workspace: Workspace,
        limits: SandboxLimits,
        *,
        on_output: OnOutput | None = None,
    ) -> RunResult:
        """See `Sandbox.run`."""
        async with run_directory(workspace, limits) as directory:
            place = Place(
                command=[str(self._python.executable)],
                temporary=str(directory.temporary),
                site_packages=self._python.site_packages,
                font=self._python.font,
                prepared=self._prepared,
                is_box=directory.is_box,
                is_overfull=directory.is_overfull,
                cwd=directory.box,
                prepare=directory.prepare,
            )
            return await run_in(place, program, workspace, limits, on_output)
