"""Hostile code in each sandbox of this machine: what it reaches, takes, leaves, and outlives.

A process stands in for the server, with a secret in its environment. Where the tests are run by
root, it also runs as an ordinary user, for whom other guards hold.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.attacks import exhaust
from tests.support.attacks.exhaust import LIMITS, MIB
from tests.support.attacks.surroundings import SECRET

REPOSITORY = Path(__file__).parents[2]
AS_USER = REPOSITORY / "tests" / "support" / "attacks" / "as_user.py"
NOBODY = 65534
IS_ROOT = os.getuid() == 0
LIMIT_S = 100
TEMPORARY_BYTES = (64 + 16) * MIB
"""Of `/tmp` and `/dev/shm` in bwrap."""

WHO = [
    pytest.param(0, id="root", marks=pytest.mark.skipif(not IS_ROOT, reason="not run by root")),
    pytest.param(NOBODY if IS_ROOT else os.getuid(), id="user"),
]
LOCAL = [pytest.param(name, marks=pytest.mark.sandbox(name)) for name in ("bwrap", "landlock")]

OPEN = {"bwrap": {"write to /tmp"}, "landlock": {"names outside"}}
"""Tries that succeed: `/tmp` is the run's own in bwrap; Landlock's report says that names show."""

UNGUARDED = {
    "environments in /proc",
    "command lines in /proc",
    "descriptors of the server",
    "names outside",
    "list outside",
    "read outside",
    "read /etc/passwd",
    "read another run",
    "climb",
    "through roots in /proc",
    "write outside",
    "write to /tmp",
    "write to another run",
    "change its input",
    "delete its input",
    "move its input",
    "change its input by hard link",
    "change modes of its input",
    "TCP",
    "UDP",
    "unix socket",
    "abstract socket",
    "socket family 2",
    "fork",
    "clone",
    "clone3",
    "thread with handles of its own",
    "handles of its own",
    "outlive the server",
    "hide from the server",
    "memory that outlives its mapping",
    "memory of a device",
    "memory as a pipe",
    "memory as a queue",
    "hold up who writes its input",
    "be told what others do",
    "what the machine was started with",
    "listen",
    "subprocess",
    "spawn",
    "signal a process",
    "pidfd of a process",
    "signal by descriptor",
    "limits of a process",
    "priority of a process",
    "processor of a process",
    "kill a process",
    "memory as a file",
    "memory as a segment",
    "memory as messages",
    "memory as semaphores",
    "gain rights by a program",
}
"""What anybody can do without a sandbox: so the tries are good."""

UNGUARDED_ROOT = {
    "modes of devices",
    "tables of the kernel",
    "memory in /proc",
    "memory by process_vm_readv",
    "ptrace",
    "change the standard library",
    "change a library",
    "add a library",
    "make a device",
    "rights of root",
    "settings of the kernel",
    "mount",
    "chroot",
    "a new file system",
    "open a tree of mounts",
    "type for a terminal",
}


def attacked(what: str, sandbox: str, uid: int, directory: Path) -> dict[str, Any]:
    """Let a server of this user run the attacks."""
    place = directory / "place"
    place.mkdir()
    command = [sys.executable, "-m", "tests.support.attacks.server", what, sandbox, str(place)]
    if IS_ROOT:
        os.chown(place, uid, uid)
        paths = f"{sys.base_prefix}:{sys.prefix}:{REPOSITORY}:{place}"
        command = [sys.executable, str(AS_USER), str(uid), paths, *command]
    done = subprocess.run(
        command,
        cwd=REPOSITORY,
        env={"PATH": os.environ["PATH"], "ODA_CANARY": "canary-of-the-server"},
        stdout=subprocess.PIPE,
        timeout=LIMIT_S,
        check=True,
        text=True,
    )
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize("uid", WHO)
@pytest.mark.parametrize("sandbox", LOCAL)
def test_hostile_code_reaches_nothing(sandbox: str, uid: int, tmp_path: Path) -> None:
    told = attacked("reach", sandbox, uid, tmp_path)

    assert told["ending"] == "exited 0 "
    assert len(told["tries"]) > 100
    assert {name for name, came in told["tries"].items() if came is True} == OPEN[sandbox]
    assert told["felt"] == []
    assert told["input"] == ["input", "input"]
    assert told["other run"] == ["data/secret"]


def test_without_a_sandbox_the_same_code_reaches_everything(tmp_path: Path) -> None:
    told = attacked("reach", "unsafe-subprocess", os.getuid(), tmp_path)

    reached = {name for name, came in told["tries"].items() if came is True}
    assert UNGUARDED | (UNGUARDED_ROOT if IS_ROOT else set()) <= reached
    assert {*told["felt"]} >= {"TCP", "UDP", "unix socket", "abstract socket", "kill a process"}
    assert told["input"] == ["x"]
    assert told["other run"] == ["data/secret", "data/written"]


@pytest.mark.parametrize("uid", WHO)
@pytest.mark.parametrize("sandbox", LOCAL)
def test_hostile_code_takes_no_more_than_it_may(sandbox: str, uid: int, tmp_path: Path) -> None:
    runs = attacked("exhaust", sandbox, uid, tmp_path)
    count = {name: int(run["stdout"].split()[-1]) for name, run in runs.items() if counts(run)}

    assert count["huge file"] <= LIMITS.file_bytes
    if sandbox == "bwrap":  # the other says in its report that it cannot
        assert count["many large files"] <= LIMITS.quota_bytes
        assert count["everywhere"] <= LIMITS.quota_bytes + TEMPORARY_BYTES + MIB
    assert count["memory"] * MIB < LIMITS.memory_bytes
    assert count["fork bomb"] == 0
    assert count["threads"] == 4950
    assert count.get("thread bomb", 0) < 10_000
    assert count.get("other calls", -1) == -1

    endings = {name: run["ending"] for name, run in runs.items()}
    assert endings["flood"] == "output_limit"
    assert endings["endless"] in ("cpu_limit", "killed")
    assert endings["asleep"] == "timed_out"
    assert endings["thread bomb"] in ("killed", "timed_out")
    assert endings["other calls"] == "killed"
    assert endings["threads without stacks"] == "killed"
    assert endings["names"] == "killed"
    if sandbox == "bwrap":  # what is deeper than a path may be is one thing left behind
        assert len(runs["deep"]["left_behind"]) == 20
    assert endings["nameless"] == ("exited" if sandbox == "bwrap" else "killed")

    assert runs["flood"]["printed"] <= LIMITS.text_bytes
    assert len(runs["many small files"]["files"]) <= LIMITS.files
    assert runs["traps"]["files"] == ["output/kept.txt", "output/secretive", "output/suid"]
    assert runs["swapped"]["files"] == runs["forged"]["files"] == []
    for name, run in runs.items():
        left = run["left"]
        assert left.pop("bytes") <= LIMITS.quota_bytes + MIB, name
        assert (name, *left.values()) == (name, [], [], [], [])
        assert (name, run["running"], run["felt"]) == (name, 0, [])
        assert SECRET not in run["stdout"] + run["stderr"], name
        assert run["wall_s"] < LIMITS.wall_s, name


def counts(run: Mapping[str, Any]) -> bool:
    return re.search(r"(^|\n)-?\d+\n$", run["stdout"]) is not None


@pytest.mark.parametrize(
    ("source", "printed"),
    [
        (
            "import os; os.ftruncate(os.open('f', 0o102), 10 * 2**30); print('huge file')",
            "huge file",
        ),
        ("import mmap; mmap.mmap(-1, 2**30); print('memory')", "memory"),
        (exhaust.FORK_BOMB, "203"),
        (exhaust.OTHER_PROGRAM, SECRET),
        (f"{exhaust.SWAPPED}\nprint(open('output/secret').read())", SECRET),
        (f"{exhaust.TRAPS}\nprint(open('output/symlink').read())", SECRET),
    ],
    ids=["huge file", "memory", "fork bomb", "other program", "swapped", "traps"],
)
def test_without_a_sandbox_the_same_programs_get_what_they_want(
    source: str, printed: str, tmp_path: Path
) -> None:
    for folder in ("output", "data", "outside"):
        (tmp_path / folder).mkdir()
    secret = tmp_path / "outside" / "secret"
    secret.write_text(SECRET)

    done = plain_python(source, "marker", str(secret), cwd=tmp_path)

    assert printed in done.stdout


def test_without_a_sandbox_a_daemon_goes_on(tmp_path: Path) -> None:
    plain_python(exhaust.DAEMON, str(tmp_path), cwd=tmp_path)

    left = [one for one in psutil.process_iter() if str(tmp_path) in arguments_of(one)]
    for process in left:
        process.kill()
    assert len(left) == 1


def plain_python(source: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", source, *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=LIMIT_S)


def arguments_of(process: psutil.Process) -> list[str]:
    arguments: list[str] = []
    with suppress(psutil.Error):
        arguments = process.cmdline()
    return arguments
