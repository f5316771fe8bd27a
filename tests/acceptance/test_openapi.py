"""The document of the API is exact: what is invented from it is answered as it says."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from oda.clock import SystemClock
from oda.database.database import open_database
from oda.database.migrate import upgrade
from oda.identity.keys import ApiKeys

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROOT = Path(__file__).parents[2]
AGENTS = ROOT / "tests" / "support" / "agents"
CONFIGURATION = ROOT / "tests" / "support" / "schemathesis.toml"
HOOKS = "tests.support.schemathesis_hooks"
PROBLEM = "application/problem+json"
WITHIN_S = 110


async def explore(url: str, *arguments: str) -> None:
    """Let schemathesis ask all that it can think of; every check has to hold."""
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("st"),
        *("--config-file", CONFIGURATION, "run", f"{url}/openapi.json"),
        *("--no-color", "--workers", "1", "--continue-on-failure", *arguments),
        cwd=ROOT,
        env={**os.environ, "SCHEMATHESIS_HOOKS": HOOKS, "PYTHONPATH": str(ROOT)},
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


@pytest.mark.parametrize(("phase", "examples"), [("coverage", 1), ("fuzzing", 6), ("stateful", 10)])
async def test_the_api_answers_as_its_document_says(
    keyless: Any, phase: str, examples: int
) -> None:
    open_to_all = ("--exclude-checks", "ignored_auth")
    await explore(keyless.url, "--phases", phase, "-n", str(examples), *open_to_all)


async def test_a_closed_api_answers_as_its_document_says(serve_folder: Any, tmp_path: Path) -> None:
    async with open_database(f"sqlite:///{tmp_path / 'oda.db'}") as database:
        await upgrade(database.engine)
        key = (await ApiKeys(database, SystemClock()).create("tester", "user"))[1]
    unlimited = {
        "LIMITS__REQUESTS_PER_MINUTE": "1000000",
        "LIMITS__FAILED_LOGINS_PER_MINUTE": "1000000",
    }
    server = await serve_folder(AGENTS, tmp_path, **unlimited)
    await explore(
        server.url, "--phases", "fuzzing,stateful", "-n", "3", "-H", f"Authorization: Bearer {key}"
    )


async def test_the_routes_of_an_agent_answer_as_their_document_says(serve_folder: Any) -> None:
    server = await serve_folder(ROOT / "agents", LIMITS__REQUESTS_PER_MINUTE="1000000")
    own = ("--include-path-regex", "^/api/", "--exclude-checks", "ignored_auth")
    await explore(server.url, "--phases", "fuzzing", "-n", "5", *own)


async def test_every_refusal_is_documented_as_a_problem(keyless: Any) -> None:
    document = (await keyless.client.get("/openapi.json")).json()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            refusals = {int(s): r for s, r in operation["responses"].items() if int(s) >= 400}
            expected = {400, 403, 408, 413, 429, 431, 500}
            if path.startswith("/v1"):
                expected |= {401, 422, 503}
            if "{" in path:
                expected |= {404}
            assert expected <= set(refusals), (method, path)
            for status, response in refusals.items():
                assert list(response["content"]) == [PROBLEM], (method, path, status)
                assert "X-Trace-Id" in response["headers"]
            for status in {429, 503} & set(refusals):
                assert "Retry-After" in refusals[status]["headers"]
