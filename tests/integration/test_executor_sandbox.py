"""ADK's code executors as sandboxes: code that runs at a provider, over HTTP."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Literal

import pytest
from google.adk.agents.invocation_context import InvocationContext
from google.adk.code_executors.base_code_executor import BaseCodeExecutor
from google.adk.code_executors.built_in_code_executor import BuiltInCodeExecutor
from google.adk.code_executors.code_execution_utils import (
    CodeExecutionInput,
    CodeExecutionResult,
    File,
)
from google.adk.code_executors.unsafe_local_code_executor import UnsafeLocalCodeExecutor

from oda.errors import ConfigurationError, QuotaExceededError, SandboxUnavailableError
from oda.settings import Settings, WorkspaceSettings
from oda.testing import FakeClock
from oda.workspace.sandbox.adk_executor import ExecutorSandbox
from oda.workspace.sandbox.choice import Sandboxes
from oda.workspace.sandbox.sandbox import Program, SandboxLimits
from oda.workspace.workspace import Workspace
from oda.workspace.workspaces import Workspaces
from tests.support.code_server import RemoteExecutor, code_server

pytestmark = pytest.mark.sandbox("bwrap")

LIMITS = SandboxLimits(wall_s=20)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with code_server() as url:
        yield url


@pytest.fixture
async def workspace(tmp_path: Path, fake_clock: FakeClock) -> AsyncIterator[Workspace]:
    workspaces = Workspaces(tmp_path, WorkspaceSettings(), fake_clock)
    async with await workspaces.open("session", "run") as workspace:
        yield workspace


class Answering(BaseCodeExecutor):
    """A provider that answers whatever it likes."""

    answer: CodeExecutionResult

    def execute_code(
        self, invocation_context: InvocationContext, code_execution_input: CodeExecutionInput
    ) -> CodeExecutionResult:
        return self.answer


@pytest.mark.parametrize("files", ["apart", "in_code"])
async def test_a_program_runs_elsewhere_with_its_files(
    url: str, workspace: Workspace, files: Literal["apart", "in_code"]
) -> None:
    executor = RemoteExecutor(url=url, takes_only_code=files == "in_code")
    sandbox = ExecutorSandbox(executor, files=files)
    await workspace.write("input/numbers.csv", b"1\n2\n3\n")
    await workspace.write("data/kept.bin", bytes(range(256)))
    heard: list[tuple[str, str]] = []
    program = Program(
        "import sys, sums\n"
        "total = sums.of(open('input/numbers.csv'))\n"
        "open('output/total.txt', 'w').write(f'{sys.argv[1]} {total}')\n"
        "print('added')\n"
        "assert open('data/kept.bin', 'rb').read() == bytes(range(256))\n",
        modules={"sums": "def of(lines):\n    return sum(map(int, lines))\n"},
        arguments=["total:"],
    )

    assert (await sandbox.probe()).available
    result = await sandbox.run(
        program, workspace, LIMITS, on_output=lambda *piece: heard.append(piece)
    )

    assert (result.ending, result.exit_code, result.stderr) == ("exited", 0, "")
    assert heard == [("stdout", "added\n")]
    assert result.files == ("output/total.txt",)
    assert await workspace.read("output/total.txt") == b"total: 6"


@pytest.mark.parametrize("files", ["apart", "in_code"])
async def test_a_failure_is_a_traceback_and_an_exit_code(
    url: str, workspace: Workspace, files: Literal["apart", "in_code"]
) -> None:
    executor = RemoteExecutor(url=url, takes_only_code=files == "in_code")

    result = await ExecutorSandbox(executor, files=files).run(
        Program("print('so far')\n1 / 0"), workspace, LIMITS
    )

    assert (result.exit_code, result.stdout) == (1, "so far\n")
    assert result.stderr.endswith("ZeroDivisionError: division by zero\n")


async def test_an_executor_that_takes_no_files_is_found_out(url: str) -> None:
    report = await ExecutorSandbox(RemoteExecutor(url=url, takes_only_code=True)).probe()

    assert not report.available
    assert "in_code" in (report.remedy or "")


async def test_what_comes_back_is_not_trusted(workspace: Workspace) -> None:
    await workspace.write("input/a.txt", b"input")
    names = [
        "../up",
        "/etc/cron.d/x",
        "input/a.txt",
        "./input/b.txt",
        "a\0b",
        "output/",
        "",
        "ok.txt",
    ]
    files = [File(name, b"x") for name in names]
    files += [File(f"output/{number}", b"y") for number in range(9)]
    files += [File("output/a-large", bytes(2000))]
    answer = CodeExecutionResult(stdout="x" * 3000, stderr="y" * 3000, output_files=files)
    limits = SandboxLimits(wall_s=20, files=5, file_bytes=1000, text_bytes=4000)

    result = await ExecutorSandbox(Answering(answer=answer)).run(Program(""), workspace, limits)

    assert result.files == ("ok.txt", *(f"output/{number}" for number in range(4)))
    assert {one.path for one in result.left_behind} == {
        *(set(names) - {"ok.txt"}),
        "output/a-large",
        *(f"output/{number}" for number in range(4, 9)),
    }
    assert await workspace.read("input/a.txt") == b"input"
    assert (len(result.stdout), len(result.stderr), result.truncated) == (3000, 1000, True)


async def test_a_run_that_takes_too_long_is_given_up(url: str, workspace: Workspace) -> None:
    sandbox = ExecutorSandbox(RemoteExecutor(url=url))
    limits = SandboxLimits(wall_s=0.3)

    result = await sandbox.run(Program("import time; time.sleep(1.5)"), workspace, limits)

    assert (result.ending, result.exit_code) == ("timed_out", None)


async def test_more_files_than_may_be_sent_are_not_sent(url: str, workspace: Workspace) -> None:
    await workspace.write("data/a.bin", bytes(2000))

    with pytest.raises(QuotaExceededError):
        await ExecutorSandbox(RemoteExecutor(url=url)).run(
            Program(""), workspace, SandboxLimits(quota_bytes=1000)
        )


async def test_a_provider_that_is_away_is_told(workspace: Workspace) -> None:
    sandbox = ExecutorSandbox(RemoteExecutor(url="http://127.0.0.1:9"))

    assert not (await sandbox.probe()).available
    with pytest.raises(SandboxUnavailableError, match="ConnectError"):
        await sandbox.run(Program(""), workspace, LIMITS)


@pytest.mark.parametrize("executor", [UnsafeLocalCodeExecutor(), BuiltInCodeExecutor()])
def test_executors_that_keep_nothing_apart_are_refused(executor: BaseCodeExecutor) -> None:
    with pytest.raises(ConfigurationError):
        ExecutorSandbox(executor)


async def test_a_host_can_put_one_in_the_place_of_the_local_ones(
    url: str, workspace: Workspace
) -> None:
    remote = ExecutorSandbox(RemoteExecutor(url=url))
    async with Sandboxes(Settings(sandbox="bwrap"), remote=remote) as sandboxes:
        report = await sandboxes.report()
        result = await sandboxes.run(Program("print(6 * 7)"), workspace)

    assert (report.sandbox, report.available) == ("RemoteExecutor", True)
    assert result.stdout == "42\n"
