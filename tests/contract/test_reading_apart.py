"""Each way to read a stranger's file apart: it reads, it keeps to its limits, and it holds."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, Literal

import psutil
import pytest

from mcp_tools.apart import ReadApart, UnconfinedError
from mcp_tools.apart import read_apart as read_by_landlock
from oda import read_apart as read_in_sandbox
from oda.errors import SandboxUnavailableError
from oda.settings import Settings
from oda.workspace.sandbox.bait import lay_bait
from oda.workspace.sandbox.choice import Sandboxes, default_sandboxes
from oda.workspace.sandbox.inside import source_of
from oda.workspace.sandbox.self_test import NAMES_OUTSIDE

MIB = 2**20
LIMITS: dict[str, Any] = {
    "modules": {},
    "wall_s": 60.0,
    "cpu_s": 15,
    "memory_bytes": 512 * MIB,
    "output_bytes": 100_000,
}
READ = """
import sys
from pathlib import Path
path, *arguments = sys.argv[1:]
document = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
"""


@pytest.fixture(params=["without a sandbox", "bwrap", "landlock"])
async def read(request: pytest.FixtureRequest) -> AsyncIterator[ReadApart]:
    if request.param == "without a sandbox":
        yield read_by_landlock
        return
    name: Literal["bwrap", "landlock"] = request.param
    async with Sandboxes(Settings(sandbox=name)) as sandboxes:
        report = await sandboxes.report()
        if not report.available:
            pytest.skip(report.reason)
        with default_sandboxes.set(sandboxes):
            yield read_in_sandbox


async def test_a_reader_gets_the_document_its_arguments_and_its_modules(read: ReadApart) -> None:
    document = bytes(range(256)) * 1000
    main = f"{READ}\nfrom kit.words import greet\nprint(greet(arguments, sum(document)))"
    modules = {
        "kit.words": "from .more import PREFIX\ndef greet(*given): return [PREFIX, *given]",
        "kit.more": "PREFIX = '你好'",
    }

    printed = await read(document, main, **{**LIMITS, "modules": modules}, arguments=("a", "ü"))

    assert printed.strip() == repr(["你好", ["a", "ü"], sum(document)])


async def test_a_hostile_document_gets_out_nowhere(read: ReadApart) -> None:
    """A reader that a document has taken over can do what `hostile.py` tries, and no more."""
    main = "import json, sys; from hostile import main; main(json.loads(sys.argv[2]))"
    with lay_bait() as bait:
        sizes = {"quota_bytes": 16 * MIB, "file_bytes": 4 * MIB}
        given = {**bait.given, **sizes, "memory_bytes": LIMITS["memory_bytes"]}
        modules = {"hostile": source_of("hostile")}
        printed = await read(
            b"%PDF-", main, **{**LIMITS, "modules": modules}, arguments=(json.dumps(given),)
        )
        told = dict(json.loads(line) for line in printed.splitlines())
        tries, variables = told.pop("tries"), told.pop("variables")
        told |= bait.taken()

    assert set(tries[:-1]) <= told.keys()
    assert bait.variables().isdisjoint(variables)
    assert [name for name, got_out in told.items() if got_out and name != NAMES_OUTSIDE] == []


async def test_a_reader_knows_nothing_of_the_server(
    read: ReadApart, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODA_TEST_SECRET_KEY", "of-the-server")
    main = """
import json, os
from pathlib import Path
seen = dict(os.environ)
files = [f"/proc/{pid}/{name}" for pid in ("self", os.getpid(), os.getppid(), 1, "%d")
         for name in ("environ", "cmdline", "maps", "mem")]
for name in files:
    try:
        seen[name] = Path(name).open("rb").read(100_000).decode(errors="replace")
    except OSError:
        pass
print(json.dumps(seen))
"""
    printed = await read(b"", main % psutil.Process().pid, **LIMITS)

    assert "ODA_TEST_SECRET_KEY" not in printed and "of-the-server" not in printed


async def test_a_reader_that_prints_too_much_is_cut_off(read: ReadApart) -> None:
    printed = await read(b"", "while True: print('x' * 1000)", **LIMITS)

    assert LIMITS["output_bytes"] <= len(printed) <= LIMITS["output_bytes"] + 1


async def test_a_reader_that_takes_too_much_memory_fails(read: ReadApart) -> None:
    printed = await read(b"", "print('a', flush=True); x = bytes(2**30); print('b')", **LIMITS)

    assert printed.strip() == "a"


async def test_a_reader_that_takes_too_long_is_ended(read: ReadApart) -> None:
    with pytest.raises(TimeoutError):
        await read(b"", "import time; time.sleep(60)", **{**LIMITS, "wall_s": 1.0})
    assert psutil.Process().children() == []


async def test_no_reader_outlives_its_caller(read: ReadApart) -> None:
    before = psutil.Process().children()
    reading = asyncio.create_task(read(b"", "import time; time.sleep(60)", **LIMITS))
    while psutil.Process().children() == before:  # noqa: ASYNC110 - a process tells nobody
        await asyncio.sleep(0.01)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert psutil.Process().children() == before


async def test_where_nothing_confines_nothing_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Sandboxes(Settings(sandbox="none")) as sandboxes:
        with (
            default_sandboxes.set(sandboxes),
            pytest.raises(SandboxUnavailableError, match="ODA_SANDBOX=none"),
        ):
            await read_in_sandbox(b"", "print(1)", **LIMITS)
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(UnconfinedError, match="on darwin there is none"):
        await read_by_landlock(b"", "print(1)", **LIMITS)
