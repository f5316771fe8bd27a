"""The document of the API is exact: what is invented from it is answered as it says."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from oda.clock import SystemClock
from oda.database.database import open_database
from oda.database.migrate import upgrade
from oda.identity.keys import ApiKeys
from tests.support.unbounded import unbounded_places

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROOT = Path(__file__).parents[2]
AGENTS = ROOT / "tests" / "support" / "agents"
CONFIGURATION = ROOT / "tests" / "support" / "schemathesis.toml"
HOOKS = "tests.support.schemathesis_hooks"
PROBLEM = "application/problem+json"
WITHIN_S = 110
APP = '"path.app" = "calculator"'
"""The line of the configuration that names what is talked to."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def agents(serve_folder: Any) -> Any:
    """The five applications."""
    return await serve_folder(ROOT / "agents", LIMITS__REQUESTS_PER_MINUTE="1000000")


async def explore(url: str, *arguments: str, configuration: Path = CONFIGURATION) -> None:
    """Let schemathesis ask all that it can think of; every check has to hold."""
    async with httpx.AsyncClient(timeout=WITHIN_S) as client:
        await client.get(f"{url}/openapi.json")  # loads all agents; schemathesis waits 10 s
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("st"),
        *("--config-file", configuration, "run", f"{url}/openapi.json"),
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


async def test_what_a_client_may_send_has_bounds(agents: Any) -> None:
    document = (await agents.client.get("/openapi.json")).json()
    assert len(document["paths"]) > 50
    assert unbounded_places(document) == []


async def test_the_routes_of_agents_answer_as_their_document_says(agents: Any) -> None:
    own = ("--include-path-regex", "^/api/", "--exclude-checks", "ignored_auth")
    await explore(agents.url, "--phases", "fuzzing", "-n", "5", *own)


async def test_what_one_answer_names_can_be_asked_next(agents: Any, tmp_path: Path) -> None:
    """All applications with all their routes, by the links of the document and those inferred."""
    of_cv = tmp_path / "schemathesis.toml"
    text = CONFIGURATION.read_text()
    assert text.count(APP) == 1
    of_cv.write_text(text.replace(APP, '"path.app" = "cv"'))
    open_to_all = ("--exclude-checks", "ignored_auth")
    await explore(agents.url, "--phases", "stateful", "-n", "10", *open_to_all, configuration=of_cv)


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
