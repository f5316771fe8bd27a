"""Runs a program in each sandbox as a user who is nobody special; started by root.

Prints, in JSON, what each sandbox says of itself, and what a run of it gave.
"""

import asyncio
import concurrent.futures.thread  # noqa: F401 - imported late, when nobody can read it any more
import json
import os
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from oda.clock import SystemClock
from oda.settings import WorkspaceSettings
from oda.workspace.sandbox.bubblewrap import BubblewrapSandbox
from oda.workspace.sandbox.landlock import LandlockSandbox
from oda.workspace.sandbox.python_environment import PythonEnvironment, python_environment
from oda.workspace.sandbox.sandbox import Program, SandboxLimits
from oda.workspace.sandbox.unsafe_subprocess import UnsafeSubprocess
from oda.workspace.workspaces import Workspaces

NOBODY = 65534
PROGRAM = """
import os
os.mkdir("output/closed", 0)
open("output/mine.txt", "w").write(open("input/given.txt").read())
print(os.getuid() != 0)
"""


async def main(python: PythonEnvironment, directory: Path) -> None:
    workspaces = Workspaces(directory, WorkspaceSettings(), SystemClock())
    found = {}
    for kind in (BubblewrapSandbox, LandlockSandbox, UnsafeSubprocess):
        sandbox = kind(python)
        report = await sandbox.probe()
        async with await workspaces.open("session", kind.name) as workspace:
            await workspace.write("input/given.txt", b"given")
            result = await sandbox.run(Program(PROGRAM), workspace, SandboxLimits())
        found[kind.name] = {"available": report.available, "reason": report.reason}
        found[kind.name] |= {"result": asdict(result)}
    found["left"] = {"directories": [str(each) for each in directory.parent.glob("oda-run-*")]}
    print(json.dumps(found))


if __name__ == "__main__":
    python = python_environment(Path(sys.argv[1]))
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    with tempfile.TemporaryDirectory() as directory:
        tempfile.tempdir = directory
        asyncio.run(main(python, Path(directory) / "workspaces"))
