"""ADK's own way to test an agent: what was recorded of a conversation happens again."""

import asyncio
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
WITHIN_S = 100


async def test_a_recorded_conversation_that_rules_answer_happens_again() -> None:
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("adk"),
        *("test", "agents/cv", "-p", "no:cacheprovider"),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), WITHIN_S)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, output.decode()
    assert b"edits_by_rules.json] PASSED" in output
