"""The model that all targets call: `oda.testing.model_server` in a process of its own."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from oda.testing.script import Script
from scripts.benchmark.process import ChildProcess
from scripts.benchmark.workload import SCRIPT

_READY_WITHIN_S = 30.0
_POLL_S = 0.02


@dataclass(frozen=True)
class ModelStub:
    """A running model."""

    url: str
    process: ChildProcess

    @property
    def openai_base(self) -> str:
        return f"{self.url}/v1"


@asynccontextmanager
async def model_stub(directory: Path, script: Script = SCRIPT) -> AsyncIterator[ModelStub]:
    """Run a script, by default the workload's, until left.

    It keeps no requests, so its cost does not grow.

    Raises:
        TimeoutError: it does not start.
    """
    file = directory / "script.json"
    file.write_text(script.model_dump_json())
    process = await ChildProcess.start(
        [
            *(sys.executable, "-m", "oda.testing.model_server"),
            *("--script", str(file), "--keep-requests", "0"),
        ],
        environment=os.environ,
        directory=directory,
    )
    try:
        async with asyncio.timeout(_READY_WITHIN_S):
            url = await _printed_url(process)
        yield ModelStub(url, process)
    finally:
        await process.stop()


async def _printed_url(process: ChildProcess) -> str:
    while True:
        printed = process.log_tail()
        if printed.endswith("\n"):
            return printed.split()[-1]
        await asyncio.sleep(_POLL_S)
