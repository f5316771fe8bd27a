"""`oda serve` loads an agent, and what it needs, when somebody uses it."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.integration.test_cli_serve import ready, url_in
from tests.support.oda_command import LIMIT_S, ODA

ROOT = Path(__file__).parents[2]
AGENTS = {"assistant", "companion", "cv", "researcher", "resume_coach"}
HEAVY = {
    *("a2a", "anthropic", "authlib", "litellm", "mcp", "openai", "vertexai"),
    *("cryptography", "google.adk.cli.api_server", "google.adk.evaluation", "google.cloud"),
    *("google.genai.interactions", "jwt", "opentelemetry.sdk", "redis"),
    *("jieba", "numpy", "opencc", "pandas", "pypinyin", "rapidfuzz", "sympy", "typst"),
    *("docx", "fitz", "lxml", "pypdf", "mcp_tools"),
}
SOUND = """
from google.adk.agents import LlmAgent
root_agent = LlmAgent(name="sound", description="Sound.")
"""
BROKEN = "raise RuntimeError('no coffee')"


@dataclass(frozen=True)
class Server:
    client: httpx.AsyncClient
    stderr: Path

    def imported(self) -> set[str]:
        """All modules so far and their packages; `-X importtime` writes a line for each."""
        lines = self.stderr.read_text().splitlines()
        names = [
            line.rpartition("|")[2].strip() for line in lines if line.startswith("import time")
        ]
        steps = [name.split(".") for name in names]
        return {".".join(parts[:count]) for parts in steps for count in range(1, len(parts) + 1)}


@asynccontextmanager
async def serving(home: Path, agents: Path, *options: str) -> AsyncIterator[Server]:
    """`oda serve` with a model of OpenAI's protocol."""
    settings = {"MODEL": "openai/stub", "MODEL_API_KEY": "k", "DATA_DIR": str(home / "data")}
    with (home / "stderr").open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, *options, str(ODA)),
            *("serve", "--port", "0", "--agents", str(agents)),
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            cwd=home,
            env={**os.environ, **{f"ODA_{name}": value for name, value in settings.items()}},
        )
    try:
        url = url_in(await ready(process))
        async with httpx.AsyncClient(base_url=url, timeout=LIMIT_S) as client:
            yield Server(client, home / "stderr")
    finally:
        process.terminate()
        await asyncio.wait_for(process.wait(), LIMIT_S)


async def test_nothing_heavy_and_no_agent_is_imported_before_an_agent_is_used(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path, ROOT / "agents", "-X", "importtime") as server:
        apps = (await server.client.get("/v1/apps")).json()["apps"]
        assert {app["name"] for app in apps} == AGENTS
        assert all(app["description"] and app["error"] is None for app in apps)
        assert server.imported() & (HEAVY | AGENTS) == set()

        created = await server.client.post("/v1/apps/resume_coach/sessions", json={})
        assert created.status_code == 201
        assert server.imported() & AGENTS == {"resume_coach"}
        assert (await server.client.get("/api/companion/schedule")).status_code == 200
        assert server.imported() & AGENTS == {"resume_coach", "companion"}
        assert (await server.client.get("/api/nowhere")).status_code == 404
        assert server.imported() >= AGENTS
        assert server.imported() & {"litellm", "pandas", "sympy", "typst"} == set()


async def test_a_broken_agent_is_reported_although_nobody_has_used_it(tmp_path: Path) -> None:
    for name, file, code in (
        ("sound", "agent.py", SOUND),
        ("sound", "routes.py", BROKEN),
        ("torn", "agent.py", BROKEN),
    ):
        folder = tmp_path / "agents" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(code)
    async with serving(tmp_path, tmp_path / "agents") as server:
        apps = (await server.client.get("/v1/apps")).json()["apps"]
        errors = {app["name"]: app["error"] for app in apps}
        logged = server.stderr.read_text()
    assert errors == {
        "sound": "Its own routes cannot be loaded; `oda doctor` says why.",
        "torn": "It cannot be loaded; `oda doctor` says why.",
    }
    assert "agent_not_loaded" in logged
    assert "agent_routes_not_loaded" in logged
    assert logged.count("no coffee") == 2
