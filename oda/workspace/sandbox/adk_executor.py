"""ADK's code executors as sandboxes: code that runs in a container or at a provider."""

import asyncio
import secrets
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Literal
from weakref import WeakKeyDictionary

from google.adk.agents.invocation_context import InvocationContext
from google.adk.code_executors.base_code_executor import BaseCodeExecutor
from google.adk.code_executors.built_in_code_executor import BuiltInCodeExecutor
from google.adk.code_executors.unsafe_local_code_executor import UnsafeLocalCodeExecutor
from google.adk.sessions import InMemorySessionService, Session

from oda.errors import (
    ConfigurationError,
    OdaError,
    QuotaExceededError,
    SandboxUnavailableError,
    WorkspaceError,
)
from oda.workspace.sandbox.executor_exchange import outcome, request
from oda.workspace.sandbox.sandbox import (
    LeftBehind,
    OnOutput,
    Program,
    Report,
    RunResult,
    SandboxLimits,
    Stream,
)
from oda.workspace.sandbox.self_test import fault_of
from oda.workspace.workspace import Workspace

_WEAKNESSES = (
    "how well it keeps code in is up to the executor, and was not tested",
    "a run that is given up may go on there",
)


class ExecutorSandbox:
    """Adapts an ADK code executor that runs code remotely to the `Sandbox` protocol.

    All files of the workspace are sent with each run. Returned files are written into the workspace
    as far as the limits allow. The self-test checks that the executor works, not how well it
    confines code. Output arrives at the end of a run. A run that is cancelled or times out is
    abandoned here; remotely it continues until the executor's own `timeout_seconds`.

    Args:
        executor: Such as `AgentEngineSandboxCodeExecutor`.
        files: How files are transferred. `apart`: as the executor's input and output files.
            `in_code`: within the code and its output, for executors that support nothing else
            (`ContainerCodeExecutor`,
            whose code may have 128 KiB, and `GkeCodeExecutor`, 1 MiB).

    Raises:
        ConfigurationError: the executor runs code on this machine, or does not run any.
    """

    def __init__(
        self, executor: BaseCodeExecutor, *, files: Literal["apart", "in_code"] = "apart"
    ) -> None:
        self.name = type(executor).__name__
        if isinstance(executor, UnsafeLocalCodeExecutor | BuiltInCodeExecutor):
            raise ConfigurationError(
                f"{self.name} does not run code apart from this server",
                remedy="use one that does, such as ContainerCodeExecutor",
            )
        self._executor = executor
        self._files = files
        self._sessions: WeakKeyDictionary[Workspace, Session] = WeakKeyDictionary()
        self._report: Report | None = None

    async def probe(self) -> Report:
        """Test that code works there. The outcome is kept if it does."""
        if self._report is None:
            report = await self._test()
            self._report = report if report.available else None
            return report
        return self._report

    async def run(
        self,
        program: Program,
        workspace: Workspace,
        limits: SandboxLimits,
        *,
        on_output: OnOutput | None = None,
    ) -> RunResult:
        """Run a program, and take over the files that come back.

        Raises:
            SandboxUnavailableError: the executor has failed.
            QuotaExceededError: the workspace holds more than is sent.
        """
        began = asyncio.get_running_loop().time()
        before = await _contents(workspace, limits)
        marker = secrets.token_hex(16) if self._files == "in_code" else None
        asked = request(program, before, marker=marker)
        try:
            async with asyncio.timeout(limits.wall_s):
                answer = await asyncio.to_thread(
                    self._executor.execute_code, self._invocation(workspace), asked
                )
        except TimeoutError:
            return RunResult("timed_out", None, "", "", True, (), wall_s=limits.wall_s)
        except Exception as error:
            raise SandboxUnavailableError(
                f"{self.name} could not run the code: {type(error).__name__}: {error}",
                remedy="check how the executor is set up",
            ) from error
        told = outcome(answer, marker=marker)
        stdout = _cut(told.stdout, limits.text_bytes)
        stderr = _cut(told.stderr, limits.text_bytes - len(stdout.encode()))
        if on_output is not None:
            _tell(on_output, {"stdout": stdout, "stderr": stderr})
        changed = {path: one for path, one in told.files.items() if before.get(path) != one}
        files, left_behind = await _take_over(changed, workspace, limits)
        return RunResult(
            "exited",
            told.exit_code,
            stdout,
            stderr,
            truncated=(stdout, stderr) != (told.stdout, told.stderr),
            files=files,
            left_behind=left_behind,
            wall_s=asyncio.get_running_loop().time() - began,
        )

    async def _test(self) -> Report:
        try:
            fault = await fault_of(self)
        except OdaError as error:
            return Report(self.name, False, error.message, error.remedy)
        if fault is None:
            return Report(self.name, True, "code works in it", weaknesses=_WEAKNESSES)
        other = "" if self._files == "in_code" else ', or give ExecutorSandbox files="in_code"'
        return Report(self.name, False, fault, f"check how the executor is set up{other}")

    def _invocation(self, workspace: Workspace) -> InvocationContext:
        """Return the context that executors require.

        Data they store in its session is per workspace.
        """
        session = self._sessions.setdefault(
            workspace, Session(id=workspace.run_id, app_name="oda", user_id="sandbox")
        )
        return InvocationContext(
            invocation_id=workspace.run_id,
            session=session,
            session_service=InMemorySessionService(),
        )


async def _contents(workspace: Workspace, limits: SandboxLimits) -> dict[str, bytes]:
    found = await workspace.list()
    size = sum(file.bytes for file in found)
    if size > limits.quota_bytes or len(found) > limits.files:
        raise QuotaExceededError(
            f"The workspace has {len(found)} files of {size} bytes; code gets at most "
            f"{limits.files} files of {limits.quota_bytes} bytes.",
            remedy="delete what is not needed",
        )
    return {file.path: await workspace.read(file.path) for file in found}


async def _take_over(
    files: Mapping[str, bytes], workspace: Workspace, limits: SandboxLimits
) -> tuple[tuple[str, ...], tuple[LeftBehind, ...]]:
    taken: list[str] = []
    left_behind: list[LeftBehind] = []
    room = limits.quota_bytes
    for path, content in sorted(files.items()):
        if PurePosixPath(path).parts[:1] == ("input",):
            reason = "input is read-only"
        elif len(content) > limits.file_bytes:
            reason = f"larger than {limits.file_bytes} bytes"
        elif len(content) > room:
            reason = f"more than {limits.quota_bytes} bytes in all"
        elif len(taken) == limits.files:
            reason = f"more than {limits.files} files"
        else:
            try:
                taken.append((await workspace.write(path, content)).path)
                room -= len(content)
                continue
            except WorkspaceError as error:
                reason = error.message
        left_behind.append(LeftBehind(path, reason))
    return tuple(taken), tuple(left_behind)


def _tell(on_output: OnOutput, texts: Mapping[Stream, str]) -> None:
    for stream, text in texts.items():
        if text:
            on_output(stream, text)


def _cut(text: str, size: int) -> str:
    return text.encode(errors="replace")[:size].decode(errors="ignore")
