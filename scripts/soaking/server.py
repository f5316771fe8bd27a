"""The server under test: `oda serve` with all applications, keys for all users, and a model."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from oda.clock import SystemClock
from oda.database.database import open_database
from oda.database.migrate import upgrade
from oda.identity.keys import ApiKeys
from scripts.benchmark.model_stub import model_stub
from scripts.benchmark.postgres import fresh_database
from scripts.benchmark.process import ChildProcess
from scripts.soaking.model import script

REPOSITORY = Path(__file__).parents[2]
_READY_WITHIN_S = 120.0
_POLL_S = 0.1


@dataclass(frozen=True)
class Soaked:
    """A running server, with what is needed to send it requests."""

    port: int
    process: ChildProcess
    keys: Mapping[str, str]
    """API keys by user."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def headers(self, user: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.keys[user]}"}


@asynccontextmanager
async def soaked_server(
    directory: Path,
    users: list[str],
    *,
    seed: int,
    database: str,
    settings: Mapping[str, str],
) -> AsyncIterator[Soaked]:
    """Start a server; stop it at the end of the block.

    Args:
        database: `sqlite`, or the URL of a PostgreSQL server for a temporary database.
        settings: Additional environment variables.

    Raises:
        RuntimeError: the server has not started.
    """
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(model_stub(directory, script(seed)))
        url = f"sqlite:///{directory / 'oda.db'}"
        if database != "sqlite":
            url = (await stack.enter_async_context(fresh_database(database))).url
        keys = await _keys(url, users)
        port = _free_port()
        process = await ChildProcess.start(
            [
                *(str(Path(sys.executable).with_name("oda")), "serve", "--no-dev-ui"),
                *("--agents", str(REPOSITORY / "agents"), "--port", str(port)),
            ],
            environment={
                **_inherited(),
                "ODA_DATABASE_URL": url,
                "ODA_DATA_DIR": str(directory / "data"),
                "ODA_MODEL": "openai/stub",
                "ODA_MODEL_API_BASE": model.openai_base,
                "ODA_RETRY__INITIAL_DELAY_S": "0.2",
                "HOME": str(directory),
                **settings,
            },
            directory=directory,
        )
        try:
            await _ready(process, port)
            yield Soaked(port, process, keys)
        finally:
            await process.stop()


async def _keys(database_url: str, users: list[str]) -> dict[str, str]:
    async with open_database(database_url) as database:
        await upgrade(database.engine)
        keys = ApiKeys(database, SystemClock())
        return {user: (await keys.create(user, "user"))[1] for user in users}


async def _ready(process: ChildProcess, port: int) -> None:
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as http:
        for _ in range(round(_READY_WITHIN_S / _POLL_S)):
            if process.ended:
                break
            if await _is_ready(http):
                return
            await asyncio.sleep(_POLL_S)
    raise RuntimeError(f"the server did not start:\n{process.log_tail()}")


async def _is_ready(http: aiohttp.ClientSession) -> bool:
    try:
        async with http.get("/readyz") as response:
            return response.status == 200
    except aiohttp.ClientConnectionError:
        return False


def _inherited() -> dict[str, str]:
    """Return this process's environment without its settings and API keys."""
    return {k: v for k, v in os.environ.items() if not k.startswith("ODA_") and "API_KEY" not in k}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
