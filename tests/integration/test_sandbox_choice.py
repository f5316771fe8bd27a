"""Which sandbox is used, what is said where there is none, and how many runs there are at once."""

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from oda.errors import SandboxUnavailableError
from oda.settings import Settings, WorkspaceSettings
from oda.testing import FakeClock
from oda.workspace.sandbox.bubblewrap import BubblewrapSandbox
from oda.workspace.sandbox.choice import Sandboxes, current_sandboxes, default_sandboxes
from oda.workspace.sandbox.landlock import LandlockSandbox
from oda.workspace.sandbox.python_environment import python_environment
from oda.workspace.sandbox.sandbox import OnOutput, Program, Report, RunResult, SandboxLimits
from oda.workspace.sandbox.self_test import self_test
from oda.workspace.sandbox.unsafe_subprocess import UnsafeSubprocess
from oda.workspace.workspace import Workspace
from oda.workspace.workspaces import Workspaces

pytestmark = pytest.mark.sandbox("bwrap", "landlock")

ANSWER = Program("print(6 * 7)")


@pytest.fixture
async def workspace(tmp_path: Path, fake_clock: FakeClock) -> AsyncIterator[Workspace]:
    workspaces = Workspaces(tmp_path, WorkspaceSettings(), fake_clock)
    async with await workspaces.open("session", "run") as workspace:
        yield workspace


def settings(**values: Any) -> Settings:
    return Settings.model_validate({"sandbox": "auto", **values})


class Gate:
    """A sandbox whose runs wait until they are let through."""

    name = "gate"

    def __init__(self, *, available: bool = True) -> None:
        self.available = available
        self.probes = 0
        self.began: list[str] = []
        self.open = asyncio.Semaphore(0)

    async def probe(self) -> Report:
        self.probes += 1
        return Report(self.name, self.available, "tested")

    async def run(
        self,
        program: Program,
        workspace: Workspace,
        limits: SandboxLimits,
        *,
        on_output: OnOutput | None = None,
    ) -> RunResult:
        self.began.append(program.main)
        await self.open.acquire()
        return RunResult("exited", 0, "", "", False, ())


async def test_the_strongest_sandbox_that_holds_is_taken(workspace: Workspace) -> None:
    async with Sandboxes(settings()) as sandboxes:
        report = await sandboxes.report()
        result = await sandboxes.run(ANSWER, workspace)

    assert (report.sandbox, report.available, report.weaknesses) == ("bwrap", True, ())
    assert result.stdout == "42\n"


async def test_the_weaker_one_is_not_taken_silently(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    async with Sandboxes(settings()) as sandboxes:
        report = await sandboxes.report()
        result = await sandboxes.run(ANSWER, workspace)

    assert report.sandbox == "landlock"
    assert "not bwrap: " in report.reason
    assert any("quota" in weakness for weakness in report.weaknesses)
    assert any("names" in weakness for weakness in report.weaknesses)
    assert any("weaknesses" in record.message for record in caplog.records)
    assert result.stdout == "42\n"


async def test_one_that_is_named_has_no_substitute(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    async with Sandboxes(settings(sandbox="bwrap")) as sandboxes:
        with pytest.raises(SandboxUnavailableError) as raised:
            await sandboxes.run(ANSWER, workspace)

    assert "install" in (raised.value.remedy or "")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"sandbox": "none"}, "ODA_SANDBOX=none"),
        ({"sandbox": "unsafe-subprocess", "host": "0.0.0.0"}, "ODA_HOST=0.0.0.0"),
        ({"sandbox": "unsafe-subprocess", "host": "oda.example.com"}, "ODA_HOST=oda.example.com"),
    ],
)
async def test_what_may_not_be_is_refused_with_a_remedy(
    workspace: Workspace, values: dict[str, str], said: str
) -> None:
    async with Sandboxes(settings(**values)) as sandboxes:
        with pytest.raises(SandboxUnavailableError, match=said) as raised:
            await sandboxes.run(ANSWER, workspace)
        report = await sandboxes.report()

    assert raised.value.remedy
    assert not report.available


async def test_no_sandbox_at_all_is_an_explicit_choice_that_is_warned_of(
    workspace: Workspace, caplog: pytest.LogCaptureFixture
) -> None:
    async with Sandboxes(settings(sandbox="unsafe-subprocess")) as sandboxes:
        sandboxes.start()
        result = await sandboxes.run(ANSWER, workspace)

    assert result.stdout == "42\n"
    assert any(
        record.levelno == logging.WARNING and "NO PROTECTION" in str(record.__dict__)
        for record in caplog.records
    )


async def test_the_self_test_finds_what_is_not_stopped() -> None:
    python = await asyncio.to_thread(python_environment)

    report = await self_test(UnsafeSubprocess(python))

    assert not report.available
    for breach in ("read /etc/passwd", "connect over TCP", "start a process", "variables of the"):
        assert breach in report.reason


async def test_each_sandbox_of_this_machine_passes_its_self_test() -> None:
    python = await asyncio.to_thread(python_environment)
    reports = [await kind(python).probe() for kind in (BubblewrapSandbox, LandlockSandbox)]

    assert [report.reason for report in reports if not report.available] == []


async def test_runs_wait_in_line_and_can_be_given_up(workspace: Workspace) -> None:
    gate = Gate()
    few = settings(workspace={"runs_at_once": 1})
    async with Sandboxes(few, remote=gate) as sandboxes:
        await sandboxes.report()
        runs = [
            asyncio.create_task(sandboxes.run(Program(name), workspace))
            for name in ("first", "second", "third")
        ]
        await asyncio.sleep(0)
        runs[1].cancel()
        await asyncio.wait([runs[1]])
        assert gate.began == ["first"]
        gate.open.release()
        gate.open.release()
        await asyncio.gather(runs[0], runs[2])

    assert gate.began == ["first", "third"]
    assert gate.probes == 1


async def test_a_sandbox_that_could_not_be_had_is_tried_again_later(
    workspace: Workspace, fake_clock: FakeClock
) -> None:
    gate = Gate(available=False)
    async with Sandboxes(settings(), remote=gate, clock=fake_clock) as sandboxes:
        for _ in range(2):
            with pytest.raises(SandboxUnavailableError):
                await sandboxes.run(ANSWER, workspace)
        assert gate.probes == 1
        gate.available = True
        gate.open.release()
        fake_clock.advance(61)

        result = await sandboxes.run(ANSWER, workspace)

    assert (result.exit_code, gate.probes) == (0, 2)


async def test_the_limits_are_those_of_the_settings() -> None:
    ours = {"run_timeout_s": 5, "run_cpu_s": 3, "run_quota_bytes": 2**20}
    limits = Sandboxes(settings(workspace=ours)).limits

    assert (limits.wall_s, limits.cpu_s) == (5, 3)
    assert limits.quota_bytes == limits.file_bytes == 2**20


async def test_without_a_context_the_environment_says_which(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ODA_SANDBOX", "landlock")
    elsewhere = current_sandboxes()
    assert current_sandboxes() is elsewhere
    assert (await elsewhere.report()).sandbox == "landlock"

    with default_sandboxes.set(Sandboxes(settings())):
        assert current_sandboxes() is not elsewhere
