"""The wheel, installed in an empty environment outside the repository, serves an agents folder."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).parents[2]
AGENT = """
from google.adk.agents import LlmAgent
from oda import configured_model

root_agent = LlmAgent(name="greeter", model=configured_model(), description="Greets.")
"""


def uv(*arguments: str | Path) -> None:
    program = shutil.which("uv") or shutil.which(ROOT / ".venv-tools" / "bin" / "uv")
    if program is None:
        if os.environ.get("ODA_TEST_REQUIRE_SERVERS"):
            pytest.fail("uv is required here and is not installed")
        pytest.skip("needs uv")
    subprocess.run([program, *map(str, arguments)], check=True, cwd=ROOT, timeout=300)


@pytest.mark.timeout(420)
async def test_the_wheel_serves_an_agents_folder_from_anywhere(tmp_path: Path) -> None:
    uv("build", "--quiet", "--wheel", "--out-dir", tmp_path / "dist")
    (wheel,) = (tmp_path / "dist").glob("oda-*.whl")
    uv("venv", "--quiet", "--python", sys.executable, tmp_path / "env")
    python = tmp_path / "env" / "bin" / "python"
    uv("pip", "install", "--quiet", "--compile-bytecode", "--python", python, wheel)

    (tmp_path / "elsewhere" / "my_agents" / "greeter").mkdir(parents=True)
    (tmp_path / "elsewhere" / "my_agents" / "greeter" / "agent.py").write_text(AGENT)
    process = await asyncio.create_subprocess_exec(
        python.with_name("oda"),
        *("serve", "--agents", "my_agents", "--port", "0"),
        cwd=tmp_path / "elsewhere",
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONUNBUFFERED": "1"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(60):
            output = ""
            while not (url := re.search(r"is ready on (http://[\w.:]+)", output)):
                line = await process.stdout.readline()
                assert line, f"the server did not start:\n{output}"
                output += line.decode()
        async with httpx.AsyncClient(base_url=url[1], timeout=30) as client:
            created = await client.post("/v1/apps/greeter/sessions")
            turns = f"{created.headers['location']}/turns"
            answer = await client.post(turns, json={"message": "hello"})
        assert "ODA_MODEL" in answer.json()["reply"]
        assert (tmp_path / "elsewhere" / ".oda" / "oda.db").exists()
    finally:
        process.terminate()
        await asyncio.wait_for(process.wait(), 20)
