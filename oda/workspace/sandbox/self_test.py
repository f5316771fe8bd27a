"""Does a sandbox hold here, and does it work? Found out by trying it."""

import json
import secrets
from collections.abc import Mapping

from oda.errors import OdaError, SandboxUnavailableError
from oda.workspace.sandbox.bait import lay_bait
from oda.workspace.sandbox.inside import source_of
from oda.workspace.sandbox.sandbox import Program, Report, Sandbox, SandboxLimits
from oda.workspace.workspaces import temporary_workspace

NAMES_OUTSIDE = "find out names of files outside"
OVER_QUOTA = "write more than its quota"
"""An attempt that some sandboxes are known not to prevent, as named in `hostile.py`."""

_LIMITS = SandboxLimits(
    wall_s=30.0, cpu_s=15, memory_bytes=2**30, quota_bytes=16 * 2**20, file_bytes=4 * 2**20
)
_WORKS = Program("""
from importlib.util import find_spec
from pathlib import Path

if find_spec("numpy"):
    import numpy

    assert numpy.arange(4).sum() == 6
Path("/dev/null").write_bytes(Path("/dev/urandom").open("rb").read(1))
Path("output/a.txt").write_bytes(Path("input/a.txt").read_bytes())
""")


async def self_test(sandbox: Sandbox, *, weaknesses: Mapping[str, str] | None = None) -> Report:
    """Check that normal code works, then that hostile code fails.

    Args:
        sandbox: One of this machine.
        weaknesses: Attempts of `hostile.py` that it is known not to prevent, with their description
            in the report.
    """
    known = weaknesses or {}
    try:
        reason = await fault_of(sandbox) or await _breach_of(sandbox, known)
    except SandboxUnavailableError as error:
        return Report(sandbox.name, False, error.message, error.remedy)
    except (OdaError, OSError, ValueError) as error:
        return Report(sandbox.name, False, f"its self-test could not be made: {error}")
    if reason is not None:
        return Report(sandbox.name, False, reason)
    told = "its self-test has passed: code works in it, and could not get out"
    return Report(sandbox.name, True, told, weaknesses=tuple(known.values()))


async def fault_of(sandbox: Sandbox) -> str | None:
    """Why code does not work in it: libraries, files in, files out.

    Raises:
        SandboxUnavailableError: it cannot be started.
    """
    content = secrets.token_bytes(8)
    async with temporary_workspace() as workspace:
        await workspace.write("input/a.txt", content)
        result = await sandbox.run(_WORKS, workspace, _LIMITS)
        if result.ending != "exited" or result.exit_code != 0:
            lines = result.stderr.strip().splitlines() or [f"it {result.ending}"]
            return f"code does not work in it: {lines[-1]}"
        if result.files != ("output/a.txt",) or await workspace.read("output/a.txt") != content:
            return "what code writes does not come out of it"
    return None


async def _breach_of(sandbox: Sandbox, known: Mapping[str, str]) -> str | None:
    """Return the first successful attempt of hostile code; its last attempt may end the sandbox.

    Raises:
        SandboxUnavailableError: it cannot be started.
    """
    with lay_bait() as bait:
        given = {
            **bait.given,
            "memory_bytes": _LIMITS.memory_bytes,
            "quota_bytes": _LIMITS.quota_bytes,
            "file_bytes": _LIMITS.file_bytes,
        }
        async with temporary_workspace() as workspace:
            await workspace.write("input/a.txt", b"as it was")
            hostile = Program(source_of("hostile"), arguments=(json.dumps(given),))
            result = await sandbox.run(hostile, workspace, _LIMITS)
        told = dict(json.loads(line) for line in result.stdout.splitlines())
        tries, variables = told.pop("tries", ()), told.pop("variables", ())
        if not tries or not told.keys() >= set(tries[:-1]):
            lines = result.stderr.strip().splitlines() or [f"it {result.ending}"]
            return f"its self-test came to no end: {lines[-1]}"
        told |= bait.taken()
        told["read the variables of the server"] = not bait.variables().isdisjoint(variables)
    through = [name for name, succeeded in told.items() if succeeded and name not in known]
    return f"code in it could {', '.join(through)}" if through else None
