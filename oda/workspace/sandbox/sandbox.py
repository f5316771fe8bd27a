"""The one interface of all sandboxes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from oda.workspace.workspace import Workspace

Stream = Literal["stdout", "stderr"]

OnOutput = Callable[[Stream, str], None]
"""Called with each piece of output as it arrives, on the event loop."""

Ending = Literal["exited", "timed_out", "output_limit", "cpu_limit", "killed"]
"""`output_limit`: more was printed than is taken; `killed`: by a signal, such as for its memory."""


@dataclass(frozen=True)
class SandboxLimits:
    """The limits of one run."""

    wall_s: float = 60.0
    cpu_s: int = 30
    memory_bytes: int = 2 * 2**30
    """Address space of the process."""
    quota_bytes: int = 200 * 2**20
    """All files that it may write together; held in memory where the sandbox enforces it hard."""
    file_bytes: int = 100 * 2**20
    files: int = 1000
    """Most new or changed files that are taken over."""
    open_files: int = 256
    text_bytes: int = 2**20
    """Most of stdout and stderr together; what prints more is killed."""


@dataclass(frozen=True)
class Program:
    """Python code. Its working directory is the workspace."""

    main: str
    modules: Mapping[str, str] = field(default_factory=dict)
    """Sources of importable modules by name (`texts`, `office.texts`); the program cannot change
    them.
    """
    arguments: Sequence[str] = ()
    """Its `sys.argv[1:]`."""


@dataclass(frozen=True)
class LeftBehind:
    """Something among the files of a run that was not taken over, and why."""

    path: str
    reason: str


@dataclass(frozen=True)
class RunResult:
    """The result of a run."""

    ending: Ending
    exit_code: int | None
    """None where it did not end by itself."""
    stdout: str
    stderr: str
    truncated: bool
    """Whether part of the output is missing."""
    files: tuple[str, ...]
    """New or changed, by their paths in the workspace, in order."""
    left_behind: tuple[LeftBehind, ...] = ()
    wall_s: float = 0.0
    cpu_s: float | None = None


@dataclass(frozen=True)
class Report:
    """Whether a sandbox works on this machine, according to its self-test."""

    sandbox: str
    available: bool
    reason: str
    """Why not, or what it was seen to stop."""
    remedy: str | None = None
    weaknesses: tuple[str, ...] = ()
    """Guarantees that it lacks, such as `no hard quota of the disk`."""


class Sandbox(Protocol):
    """Runs programs in workspaces, each apart from the host and from each other."""

    name: str

    async def probe(self) -> Report:
        """Test it: that it holds, and that it works. The outcome is kept."""
        ...

    async def run(
        self,
        program: Program,
        workspace: Workspace,
        limits: SandboxLimits,
        *,
        on_output: OnOutput | None = None,
    ) -> RunResult:
        """Run a program, and take over the files that it leaves in the workspace.

        Cancelling kills it with all that it has started; its files so far are taken over.

        Raises:
            SandboxUnavailableError: it cannot be started.
        """
        ...
