"""A server with a secret in its environment, whose sandbox is attacked; prints what came of it.

    python -m tests.support.attacks.server reach|exhaust SANDBOX DIRECTORY

It stands in for `oda serve`: what the programs must not learn is in its environment and around it.
"""

import asyncio
import json
import os
import secrets
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil

from oda.clock import SystemClock
from oda.settings import WorkspaceSettings
from oda.workspace.sandbox.bubblewrap import BubblewrapSandbox
from oda.workspace.sandbox.landlock import LandlockSandbox
from oda.workspace.sandbox.python_environment import PythonEnvironment, python_environment
from oda.workspace.sandbox.sandbox import Program, Sandbox, SandboxLimits
from oda.workspace.sandbox.unsafe_subprocess import UnsafeSubprocess
from oda.workspace.workspaces import Workspaces
from tests.support.attacks.exhaust import ATTACKS, LIMITS
from tests.support.attacks.surroundings import SECRET, Surroundings, surroundings

REACH = Path(__file__).with_name("reach.py").read_text()
_AT_ONCE = 4
KINDS: dict[str, Callable[[PythonEnvironment], Sandbox]] = {
    "bwrap": BubblewrapSandbox,
    "landlock": LandlockSandbox,
    "unsafe-subprocess": UnsafeSubprocess,
}


async def reach(sandbox: Sandbox, workspaces: Workspaces, around: Surroundings) -> dict[str, Any]:
    """What the tries came to, and what of them was felt here."""
    mark = SECRET.encode()
    async with (
        await workspaces.open("session", "other") as other,
        await workspaces.open("session", "reach") as workspace,
    ):
        await other.write("data/secret", mark)
        await workspace.write("input/a.txt", b"input")
        await workspace.write("input/b.txt", b"input")
        given = {
            **around.told,
            "other_run": str(other.path),
            "server": os.getpid(),
            "server_address": id(mark),
            "memory_bytes": LIMITS.memory_bytes,
        }
        program = Program(REACH, arguments=[json.dumps(given)])
        result = await sandbox.run(program, workspace, LIMITS)
        return {
            "tries": dict(json.loads(line) for line in result.stdout.splitlines()),
            "ending": f"{result.ending} {result.exit_code} {result.stderr}",
            "felt": around.felt(),
            "input": [
                (await workspace.read(file.path)).decode() for file in await workspace.list("input")
            ],
            "other run": [file.path for file in await other.list()],
        }


async def exhaust(sandbox: Sandbox, workspaces: Workspaces, around: Surroundings) -> dict[str, Any]:
    """What has become of each run; what is left in its workspace, and what still runs."""
    places = asyncio.Semaphore(_AT_ONCE)

    async def one(name: str, source: str, limits: SandboxLimits) -> dict[str, Any]:
        async with places:
            return await _exhaust(sandbox, workspaces, around, name, source, limits)

    told = await asyncio.gather(*(one(name, *attack) for name, attack in ATTACKS.items()))
    return dict(zip(ATTACKS, told, strict=True))


async def _exhaust(
    sandbox: Sandbox,
    workspaces: Workspaces,
    around: Surroundings,
    name: str,
    source: str,
    limits: SandboxLimits,
) -> dict[str, Any]:
    marker = f"oda-{secrets.token_hex(8)}"
    program = Program(source, arguments=[marker, str(around.outside / "secret")])
    async with await workspaces.open("session", name.replace(" ", "-")) as workspace:
        await workspace.write("input/a.txt", b"input")
        result = await sandbox.run(program, workspace, limits)
        return {
            **asdict(result),
            "stdout": result.stdout[:2000],
            "stderr": result.stderr[-2000:],
            "printed": len(result.stdout) + len(result.stderr),
            "left": _left(workspace.path),
            "running": _running(marker),
            "felt": around.felt(),
        }


def _left(directory: Path) -> dict[str, Any]:
    """What lies in a workspace of the host."""
    paths = [path for path in directory.rglob("*") if path.is_symlink() or not path.is_dir()]
    plain = [path for path in paths if path.is_file() and not path.is_symlink()]
    return {
        "not plain": sorted(str(path) for path in set(paths) - set(plain)),
        "of others": [str(path) for path in plain if path.stat().st_nlink != 1],
        "with rights": [str(path) for path in plain if path.stat().st_mode & 0o7000],
        "with the secret": [str(path) for path in plain if SECRET.encode() in path.read_bytes()],
        "bytes": sum(path.stat().st_blocks * 512 for path in plain),
    }


def _running(marker: str) -> int:
    """How many processes of this machine have the marker among their arguments."""
    return sum(marker in (one.info["cmdline"] or ()) for one in psutil.process_iter(["cmdline"]))


def main(what: str, name: str, directory: Path) -> None:
    sandbox = KINDS[name](python_environment())
    workspaces = Workspaces(directory / "workspaces", WorkspaceSettings(), SystemClock())
    work = {"reach": reach, "exhaust": exhaust}[what]
    with surroundings(directory / "outside") as around:
        print(json.dumps(asyncio.run(work(sandbox, workspaces, around))))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
