"""The short form of `scripts/soak`: honest users are served beside hostile clients."""

import asyncio
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WITHIN_S = 200


@pytest.mark.timeout(WITHIN_S + 30)
async def test_honest_users_notice_nothing_of_hostile_clients() -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "scripts.soaking", "--short"),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), WITHIN_S)
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
    assert process.returncode == 0, output.decode()
    assert "| honest errors | 0 | yes |" in output.decode()
