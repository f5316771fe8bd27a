"""Code that denies itself files and system calls, where no namespaces can be had."""

from oda.confinement import Confinement, confinement_among_others
from oda.confinement.landlock import landlock_version
from oda.confinement.system import PREFIXES
from oda.errors import SandboxUnavailableError
from oda.workspace.sandbox.directory import RunDirectory, run_directory, sweep_run_directories
from oda.workspace.sandbox.local import Place, run_in
from oda.workspace.sandbox.prepared import Prepared, prepare
from oda.workspace.sandbox.python_environment import PythonEnvironment
from oda.workspace.sandbox.sandbox import OnOutput, Program, Report, RunResult, SandboxLimits
from oda.workspace.sandbox.self_test import NAMES_OUTSIDE, OVER_QUOTA, self_test
from oda.workspace.workspace import Workspace

_LEAST_VERSION = 3
_WEAKNESSES = {
    NAMES_OUTSIDE: "names, sizes and times of files outside can be found out, not their content",
    OVER_QUOTA: "the quota of the disk is watched several times a second, not enforced",
}


class LandlockSandbox:
    """Landlock, a filter of system calls, limits of the process, and a directory of the host."""

    name = "landlock"

    def __init__(self, python: PythonEnvironment) -> None:
        self._python = python
        self._prepared = Prepared()
        self._report: Report | None = None

    async def probe(self) -> Report:
        """See `Sandbox.probe`."""
        if self._report is None:
            await sweep_run_directories()
            self._prepared = await prepare(self._python)
            self._report = await self_test(self, weaknesses=_WEAKNESSES)
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
        _check_kernel()
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
                confinement=lambda pid: self._confinement(directory, pid),
            )
            return await run_in(place, program, workspace, limits, on_output)

    def _confinement(self, directory: RunDirectory, pid: int) -> Confinement:
        readable = [*self._python.site_packages, directory.input]
        if self._python.base not in PREFIXES:
            readable.append(self._python.base)
        if self._prepared.bytecode:
            readable.append(self._prepared.bytecode)
        return confinement_among_others(
            pid, readable=readable, writable=(directory.box, directory.temporary)
        )


def _check_kernel() -> None:
    version = landlock_version()
    if version < _LEAST_VERSION:
        raise SandboxUnavailableError(
            "this kernel has no Landlock"
            if version < 1
            else f"Landlock of this kernel has version {version}, and {_LEAST_VERSION} is needed",
            remedy="use Linux 6.2 or later with Landlock enabled, or another sandbox",
        )
