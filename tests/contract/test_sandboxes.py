"""What every sandbox of this machine must let code do, and how its runs end."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from oda.clock import SystemClock
from oda.errors import SandboxUnavailableError
from oda.settings import WorkspaceSettings
from oda.workspace.sandbox.bubblewrap import BubblewrapSandbox
from oda.workspace.sandbox.landlock import LandlockSandbox
from oda.workspace.sandbox.python_environment import PythonEnvironment, python_environment
from oda.workspace.sandbox.sandbox import (
    Ending,
    Program,
    Sandbox,
    SandboxLimits,
    Stream,
)
from oda.workspace.sandbox.scratch import scratch, sweep
from oda.workspace.sandbox.unsafe_subprocess import UnsafeSubprocess
from oda.workspace.workspace import Workspace
from oda.workspace.workspaces import Workspaces

LIMITS = SandboxLimits(wall_s=60.0)
MIB = 2**20
DENYING = (BubblewrapSandbox, LandlockSandbox)
KINDS = (*DENYING, UnsafeSubprocess)


@pytest.fixture(scope="module")
def python() -> PythonEnvironment:
    return python_environment()


@pytest.fixture(params=KINDS, ids=[kind.name for kind in KINDS])
async def sandbox(
    request: pytest.FixtureRequest, python: PythonEnvironment, workspace: Workspace
) -> Sandbox:
    chosen: Sandbox = request.param(python)
    try:
        await chosen.run(Program("pass"), workspace, LIMITS)
    except SandboxUnavailableError as error:
        if os.environ.get("ODA_TEST_REQUIRE_SERVERS"):
            pytest.fail(str(error))
        pytest.skip(str(error))
    return chosen


@pytest.fixture
def workspaces(tmp_path: Path) -> Workspaces:
    return Workspaces(tmp_path / "workspaces", WorkspaceSettings(), SystemClock())


@pytest.fixture
async def workspace(workspaces: Workspaces) -> AsyncIterator[Workspace]:
    async with await workspaces.open("session", "run") as opened:
        yield opened


async def contents(workspace: Workspace) -> dict[str, bytes]:
    return {info.path: await workspace.read(info.path) for info in await workspace.list()}


class TestFiles:
    @pytest.mark.asyncio(loop_factories=["asyncio", "uvloop"])
    async def test_code_works_on_the_files_of_the_run(
        self, sandbox: Sandbox, workspace: Workspace
    ) -> None:
        await workspace.write("input/a.txt", b"given")
        await workspace.write("data/same.txt", b"same")
        await workspace.write("data/changed.txt", b"before")
        await workspace.write("data/old/gone.txt", b"gone")
        await workspace.write("output/file", b"a file")
        result = await sandbox.run(
            Program(
                """
import os, shutil, sys
from pathlib import Path
import greeting
Path("output/sub").mkdir()
Path("output/sub/报告.txt").write_text(greeting.HELLO + " " + sys.argv[1])
Path("beside.txt").write_text(Path("input/a.txt").read_text())
stamp = os.stat("data/changed.txt")
Path("data/changed.txt").write_text("after!")
os.utime("data/changed.txt", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
shutil.rmtree("data/old")
Path("data/old").write_text("now a file")
os.remove("output/file")
Path("output/file/in it").mkdir(parents=True)
shutil.copy2("data/same.txt", "output/file/in it/copy.txt")
os.rename("output/file/in it/copy.txt", "output/moved.txt")
""",
                modules={"greeting": "HELLO = '你好'"},
                arguments=["世界"],
            ),
            workspace,
            LIMITS,
        )
        assert (result.ending, result.exit_code, result.stderr) == ("exited", 0, "")
        assert result.files == (
            "beside.txt",
            "data/changed.txt",
            "data/old",
            "output/moved.txt",
            "output/sub/报告.txt",
        )
        assert result.left_behind == ()
        assert await contents(workspace) == {
            "input/a.txt": b"given",
            "beside.txt": b"given",
            "data/same.txt": b"same",
            "data/changed.txt": b"after!",
            "data/old": b"now a file",
            "output/moved.txt": b"same",
            "output/sub/报告.txt": "你好 世界".encode(),
        }

    async def test_what_is_no_plain_file_is_left_behind(
        self, sandbox: Sandbox, workspace: Workspace, tmp_path: Path
    ) -> None:
        (tmp_path / "secret").write_text("secret")
        result = await sandbox.run(
            Program(
                f"""
import os, socket
def attempt(make, *arguments):
    try:
        make(*arguments)
    except OSError:
        pass
os.chdir("output")
attempt(os.symlink, {str(tmp_path / "secret")!r}, "link")
attempt(os.symlink, {str(tmp_path)!r}, "folder")
attempt(os.mkfifo, "pipe")
attempt(os.mknod, "null", 0o20666, os.makedev(1, 3))
attempt(lambda: socket.socket(socket.AF_UNIX).bind("socket"))
open("one", "w").write("x")
attempt(os.link, "one", "two")
open(b"\\xff\\xfe", "w").write("no text")
open("new\\nline", "w").write("no name")
for name in ("sparse", "sparse too"):
    with open(name, "wb") as file:
        file.truncate(30 * {MIB})
deep = "/".join(["deep"] * 200)
os.makedirs(deep)
open(deep + "/file", "w").write("x")
open("good", "w").write("good")
"""
            ),
            workspace,
            SandboxLimits(quota_bytes=40 * MIB),
        )
        assert (result.exit_code, result.stderr) == (0, "")
        links = {"output/one", "output/two"}  # one file, where two names of it may be made
        assert set(result.files) - links == {"output/good", "output/sparse"}
        assert set(await contents(workspace)) == set(result.files)
        left_behind = {left.path for left in result.left_behind}
        assert left_behind >= {"output/\\udcff\\udcfe", "output/new\nline", "output/sparse too"}

    async def test_a_file_that_is_made_a_link_stays_what_it_was(
        self, sandbox: Sandbox, workspace: Workspace
    ) -> None:
        await workspace.write("data/a", b"a")
        await workspace.write("data/b", b"b")
        code = "import os; os.link('data/a', 'output/a'); os.remove('data/b')"
        result = await sandbox.run(Program(code), workspace, LIMITS)
        assert (result.exit_code, result.files) == (0, ())
        assert {left.path for left in result.left_behind} == {"data/a", "output/a"}
        assert await contents(workspace) == {"data/a": b"a"}

    async def test_too_many_files_are_left_behind(
        self, sandbox: Sandbox, workspace: Workspace
    ) -> None:
        await workspace.write("data/kept.txt", b"kept")
        result = await sandbox.run(
            Program("for n in range(3_000): open(f'output/{n:05}', 'w').write('x')"),
            workspace,
            SandboxLimits(files=50),
        )
        assert len(result.files) == 50
        assert 0 < len(result.left_behind) < 200
        assert len(await workspace.list()) == 51

    async def test_a_quota_that_is_too_small_for_all_holds(
        self, sandbox: Sandbox, workspace: Workspace
    ) -> None:
        result = await sandbox.run(
            Program(
                """
for n in range(1000):
    open(f"output/{n}", "wb").write(bytes(2**20))
"""
            ),
            workspace,
            SandboxLimits(quota_bytes=8 * MIB, file_bytes=4 * MIB),
        )
        assert result.exit_code != 0
        assert sum(info.bytes for info in await workspace.list()) <= 8 * MIB

    async def test_runs_at_the_same_time_have_their_own_files(
        self, sandbox: Sandbox, workspaces: Workspaces
    ) -> None:
        async def one(name: str) -> dict[str, bytes]:
            async with await workspaces.open("session", name) as workspace:
                program = Program("import sys; open('output/a', 'w').write(sys.argv[1])")
                program = Program(program.main, arguments=[name])
                await sandbox.run(program, workspace, LIMITS)
                return await contents(workspace)

        names = [f"run{number}" for number in range(6)]
        found = await asyncio.gather(*map(one, names))
        assert found == [{"output/a": name.encode()} for name in names]


class TestEndings:
    @pytest.mark.parametrize(
        ("code", "exit_code", "stdout", "stderr"),
        [
            ("print('done'); exit()", 0, "done\n", ""),
            ("import sys; sys.exit(200)", 200, "", ""),
            ("import sys; sys.exit('no')", 1, "", "no\n"),
            ("import sys; sys.stdout.buffer.write(b'\\xffa\\xe4\\xbd')", 0, "\ufffda\ufffd", ""),
            (
                "import threading, time\n"
                "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
                "threading.Thread(target=lambda: print('thread')).start()",
                0,
                "thread\n",
                "",
            ),
            (
                "print('before')\ndef f(:",
                1,
                "",
                '  File "main.py", line 2\n    def f(:\n          ^\nSyntaxError: invalid syntax\n',
            ),
            (
                "def f():\n    raise ValueError('错')\n\nf()",
                1,
                "",
                "Traceback (most recent call last):\n"
                '  File "main.py", line 4, in <module>\n    f()\n'
                "  File \"main.py\", line 2, in f\n    raise ValueError('错')\n"
                "ValueError: 错\n",
            ),
        ],
    )
    async def test_by_itself(
        self,
        sandbox: Sandbox,
        workspace: Workspace,
        code: str,
        exit_code: int,
        stdout: str,
        stderr: str,
    ) -> None:
        result = await sandbox.run(Program(code), workspace, LIMITS)
        assert result.ending == "exited"
        assert (result.exit_code, result.stdout, result.stderr) == (exit_code, stdout, stderr)
        assert not result.truncated

    @pytest.mark.parametrize(
        ("code", "limits", "ending"),
        [
            ("import os; os.kill(os.getpid(), 9)", LIMITS, "killed"),
            ("import os; os.abort()", LIMITS, "killed"),
            ("while True: pass", SandboxLimits(wall_s=0.3), "timed_out"),
            ("while True: pass", SandboxLimits(cpu_s=1), "cpu_limit"),
            ("while True: print('x' * 1000)", SandboxLimits(text_bytes=20_000), "output_limit"),
        ],
    )
    async def test_by_force(
        self,
        sandbox: Sandbox,
        workspace: Workspace,
        code: str,
        limits: SandboxLimits,
        ending: Ending,
    ) -> None:
        code = "open('output/begun', 'w').write('begun')\n" + code
        result = await sandbox.run(Program(code), workspace, limits)
        assert (result.ending, result.exit_code) == (ending, None)
        assert result.files == ("output/begun",)
        assert result.truncated == (ending == "output_limit")
        assert len(result.stdout) <= limits.text_bytes

    async def test_too_much_memory_is_an_error_of_the_code(
        self, sandbox: Sandbox, workspace: Workspace
    ) -> None:
        result = await sandbox.run(
            Program("bytearray(400 * 2**20)"), workspace, SandboxLimits(memory_bytes=300 * MIB)
        )
        assert result.exit_code == 1
        assert result.stderr.endswith("MemoryError\n")

    async def test_output_comes_as_it_is_printed_and_cancelling_ends_the_run(
        self, sandbox: Sandbox, workspace: Workspace
    ) -> None:
        pieces: list[tuple[Stream, str]] = []
        printed = asyncio.Event()

        def take(stream: Stream, text: str) -> None:
            pieces.append((stream, text))
            if text.endswith("步\n"):
                printed.set()

        code = """
import os, time
open("output/partial.txt", "w").write(str(os.getpid()))
print("第一步")
time.sleep(60)
"""
        run = asyncio.create_task(sandbox.run(Program(code), workspace, LIMITS, on_output=take))
        async with asyncio.timeout(20):
            await printed.wait()
            run.cancel()
            with pytest.raises(asyncio.CancelledError):
                await run
        assert "".join(text for stream, text in pieces if stream == "stdout") == "第一步\n"
        assert set(await contents(workspace)) == {"output/partial.txt"}

    @pytest.mark.parametrize("sandbox", DENYING, indirect=True, ids=[kind.name for kind in DENYING])
    @pytest.mark.parametrize(
        ("code", "hint"),
        [
            ("import subprocess\nsubprocess.run(['ls'])", "no programs can be started here"),
            ("import multiprocessing\nmultiprocessing.Pool(2)", "use threads"),
            ("import urllib.request as r\nr.urlopen('http://127.0.0.1:9')", "there is no network"),
        ],
    )
    async def test_what_is_denied_is_explained(
        self, sandbox: Sandbox, workspace: Workspace, code: str, hint: str
    ) -> None:
        result = await sandbox.run(Program(code), workspace, LIMITS)
        assert result.exit_code == 1
        assert hint in result.stderr.splitlines()[-1]

    async def test_runs_that_are_cancelled_at_their_beginning_leave_nothing(
        self,
        sandbox: Sandbox,
        workspace: Workspace,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        place = tmp_path / "temporary"
        place.mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(place))
        for steps in range(12):
            run = asyncio.create_task(sandbox.run(Program("pass"), workspace, LIMITS))
            for _ in range(steps):
                await asyncio.sleep(0)
            run.cancel()
            await asyncio.wait([run])
        assert list(place.iterdir()) == []


def test_only_what_a_killed_server_has_left_is_swept(tmp_path: Path) -> None:
    left, fresh, other = (tmp_path / name for name in ("oda-run-left", "oda-run-fresh", "other"))
    (left / "box" / "closed" / "in it").mkdir(parents=True)
    (left / "box" / "closed").chmod(0)
    (left / "box" / "link").symlink_to(other)
    fresh.mkdir()
    (other / "kept").mkdir(parents=True)
    link = tmp_path / "oda-run-link"
    link.symlink_to(other)
    with scratch(tmp_path) as live:
        for path in (left, live, other):
            os.utime(path, (0, 0))
        sweep(tmp_path)
        assert set(tmp_path.iterdir()) == {live, fresh, other, link}
    assert set(tmp_path.iterdir()) == {fresh, other, link}
    assert [path.name for path in other.iterdir()] == ["kept"]


class TestLibraries:
    async def test_charts_and_documents(self, sandbox: Sandbox, workspace: Workspace) -> None:
        await sandbox.probe()
        await workspace.write("input/sales.csv", "季度,销售额\n一,3\n二,-4\n".encode())
        result = await sandbox.run(Program(OFFICE), workspace, LIMITS)
        assert (result.exit_code, result.stderr) == (0, "")
        made = await contents(workspace)
        assert result.files == tuple(sorted(f"output/销售.{kind}" for kind in BEGINNINGS))
        for kind, beginning in BEGINNINGS.items():
            assert made[f"output/销售.{kind}"].startswith(beginning), kind


BEGINNINGS = {"docx": b"PK", "pdf": b"%PDF", "png": b"\x89PNG", "xlsx": b"PK"}
OFFICE = """
import os
import docx
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from reportlab.pdfbase.pdfmetrics import registerFont
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

table = pd.read_csv("input/sales.csv")
assert np.isclose(table["销售额"].sum(), -1)
table.to_excel("output/销售.xlsx", index=False)

figure, axes = plt.subplots()
axes.bar(table["季度"], table["销售额"])
axes.set_title("季度销售额", fontweight="bold")
plt.rcParams["font.family"] = ["SimHei"]
axes.set_xlabel("季度")
figure.savefig("output/销售.png")

document = docx.Document()
document.add_heading("季度销售额")
document.add_picture("output/销售.png")
document.save("output/销售.docx")

registerFont(TTFont("CJK", os.environ["ODA_CJK_FONT"]))
canvas = Canvas("output/销售.pdf")
canvas.setFont("CJK", 14)
canvas.drawString(72, 720, "季度销售额")
canvas.save()
"""


async def test_code_sees_nothing_of_the_server_in_its_environment(
    sandbox: Sandbox, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODA_TEST_SECRET", "canary")
    result = await sandbox.run(Program("import os; print(dict(os.environ))"), workspace, LIMITS)
    assert "canary" not in result.stdout
    assert "ODA_TEST_SECRET" not in result.stdout


async def test_touched_and_copied_files_are_there(sandbox: Sandbox, workspace: Workspace) -> None:
    code = (
        "import pathlib, shutil\n"
        "pathlib.Path('output/touched').touch()\n"
        "pathlib.Path('data/a').write_text('a')\n"
        "shutil.copy2('data/a', 'output/copied')\n"
        "shutil.copytree('data', 'output/tree')\n"
    )
    result = await sandbox.run(Program(code), workspace, LIMITS)
    assert (result.exit_code, result.stderr) == (0, "")
    assert set(result.files) == {"data/a", "output/copied", "output/touched", "output/tree/a"}


@pytest.mark.parametrize("kind", [BubblewrapSandbox, LandlockSandbox])
async def test_a_sandbox_says_by_a_test_that_it_holds(
    kind: type[BubblewrapSandbox | LandlockSandbox], python: PythonEnvironment
) -> None:
    report = await kind(python).probe()
    if not report.available and not os.environ.get("ODA_TEST_REQUIRE_SERVERS"):
        pytest.skip(report.reason)
    assert report.available, report.reason


async def test_where_there_is_no_bubblewrap_it_says_so(
    python: PythonEnvironment, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    sandbox = BubblewrapSandbox(python)
    with pytest.raises(SandboxUnavailableError, match="bwrap is not installed"):
        await sandbox.run(Program("pass"), workspace, LIMITS)
    report = await sandbox.probe()
    assert not report.available
    assert "bubblewrap" in (report.remedy or "")


def test_an_interpreter_that_is_not_there_is_named() -> None:
    with pytest.raises(SandboxUnavailableError, match=r"ODA_WORKSPACE__PYTHON"):
        python_environment(Path("/nonexistent/python"))


def test_a_frozen_program_needs_an_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.frozen", True, raising=False)
    with pytest.raises(SandboxUnavailableError, match="frozen") as caught:
        python_environment()
    assert "ODA_WORKSPACE__PYTHON" in (caught.value.remedy or "")


SYSTEM_PYTHON = Path("/usr/bin/python3")


@pytest.mark.sandbox("bwrap", "landlock")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.skipif(not SYSTEM_PYTHON.exists(), reason="there is no Python for everybody")
def test_a_server_that_is_not_root_has_them_too() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.ordinary_user", str(SYSTEM_PYTHON)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("left") == {"directories": []}
    for name, each in found.items():
        assert each["available"], (name, each["reason"])
        assert each["result"]["files"] == ["output/mine.txt"], name
        assert each["result"]["stdout"] == "True\n"
