"""A real server process, a real model server, a real client."""

import asyncio
import os
import re
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright

from oda.testing import ModelServer
from tests.support.model_settings import gemini

ROOT = Path(__file__).parents[2]
TEST_AGENTS = ROOT / "tests" / "support" / "agents"
SERVER = ("serve", "--port", "0")
WORKER = ("worker", "--health-port", "0")
READY_WITHIN_S = 60.0
BROWSER_ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
LONGEST_LINE = 4 * 1024 * 1024
"""Of the output; debug logs show whole requests."""


@dataclass
class Server:
    """A running `oda serve`, or `oda worker`."""

    url: str
    process: asyncio.subprocess.Process
    client: httpx.AsyncClient
    output: list[str]
    """Lines of stdout and stderr so far."""

    async def stop(self, sig: signal.Signals = signal.SIGTERM) -> int:
        if self.process.returncode is None:
            self.process.send_signal(sig)
        return await asyncio.wait_for(self.process.wait(), 20)


Serve = Callable[..., Awaitable[Server]]
ServeFolder = Callable[..., Awaitable[Server]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_model() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest.fixture(scope="module")
def model_settings(shared_model: ModelServer) -> dict[str, str]:
    """How `server` reaches its model; modules have their own."""
    return gemini(shared_model)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(
    model_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Server]:
    """One server for the tests of a module, whose agents are answered by `model`."""
    data = tmp_path_factory.mktemp("data")
    async with _serving((), TEST_AGENTS, data, model_settings) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def serve_folder(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[ServeFolder]:
    """Start servers without any model for the tests of a module; keywords become `ODA_…`.

    `variables` are those of the environment that do not begin so.
    """
    async with AsyncExitStack() as stack:

        async def start(
            agents: Path,
            data: Path | None = None,
            variables: Mapping[str, str] | None = None,
            **env: str,
        ) -> Server:
            data = data or tmp_path_factory.mktemp("data")
            serving = _serving((), agents, data, env, variables or {})
            return await stack.enter_async_context(serving)

        yield start


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def keyless(serve_folder: ServeFolder) -> Server:
    """One server for the tests of a module, without any model."""
    return await serve_folder(TEST_AGENTS)


@pytest_asyncio.fixture(loop_scope="module")
async def model(shared_model: ModelServer) -> ModelServer:
    """The model of the module's server, with nothing scripted and nothing recorded."""
    shared_model.play([])
    shared_model.reset()
    return shared_model


@pytest_asyncio.fixture(loop_scope="module")
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    """Start servers of one's own; keyword arguments become `ODA_…` variables."""
    async with AsyncExitStack() as stack:

        async def start(
            *arguments: str,
            agents: Path = TEST_AGENTS,
            data: Path = tmp_path / "data",
            variables: Mapping[str, str] = {},
            **env: str,
        ) -> Server:
            serving = _serving(arguments, agents, data, env, variables)
            return await stack.enter_async_context(serving)

        yield start


@pytest_asyncio.fixture(loop_scope="module")
async def work(tmp_path: Path) -> AsyncIterator[Serve]:
    """Start workers of one's own, as `serve` starts servers."""
    async with AsyncExitStack() as stack:

        async def start(
            *arguments: str,
            agents: Path = TEST_AGENTS,
            data: Path = tmp_path / "data",
            variables: Mapping[str, str] = {},
            **env: str,
        ) -> Server:
            working = _serving(arguments, agents, data, env, variables, command=WORKER)
            return await stack.enter_async_context(working)

        yield start


@pytest_asyncio.fixture(loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    """A Chromium without windows; tests that use it are marked `browser`."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        if os.environ.get("ODA_TEST_REQUIRE_SERVERS"):
            pytest.fail("Chromium is required here and is not installed")
        pytest.skip("needs Chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=path, args=BROWSER_ARGUMENTS, timeout=60_000
        )
        yield browser
        await browser.close()


@asynccontextmanager
async def _serving(
    arguments: tuple[str, ...],
    agents: Path,
    data: Path,
    env: dict[str, str],
    variables: Mapping[str, str] = {},
    command: tuple[str, ...] = SERVER,
) -> AsyncIterator[Server]:
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("oda"),
        *command,
        *("--agents", agents),
        *arguments,
        cwd=ROOT,
        env={**_environment(data, env), **variables},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        limit=LONGEST_LINE,
    )
    output: list[str] = []
    try:
        url = await asyncio.wait_for(_ready(process, output), READY_WITHIN_S)
        drain = asyncio.create_task(_drain(process, output))
        async with httpx.AsyncClient(base_url=url, timeout=30) as client:
            server = Server(url, process, client, output)
            yield server
            await server.stop()
            await drain
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _environment(data: Path, env: dict[str, str]) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("ODA_") and "API_KEY" not in k}
    settings = {"RETRY__INITIAL_DELAY_S": "0.05", "TURN__GRACE_S": "1", **env}
    return {
        **kept,
        "HOME": str(data.parent),
        "ODA_DATA_DIR": str(data),
        "PYTHONUNBUFFERED": "1",
        **{f"ODA_{name}": value for name, value in settings.items()},
    }


async def _ready(process: asyncio.subprocess.Process, output: list[str]) -> str:
    assert process.stdout is not None
    async for line in process.stdout:
        output.append(line.decode())
        if found := re.search(r"is ready on (http://[\w.:]+)", output[-1]):
            return found[1]
    raise AssertionError(f"the server did not start:\n{''.join(output)}")


async def _drain(process: asyncio.subprocess.Process, output: list[str]) -> None:
    assert process.stdout is not None
    async for line in process.stdout:
        output.append(line.decode())
