"""Servers that only accept turns, and workers that run them, on one PostgreSQL database."""

import asyncio
import os
import re
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from oda.testing import ModelServer
from oda.testing.script import Hang, Text
from tests.acceptance.conftest import READY_WITHIN_S, ROOT, TEST_AGENTS
from tests.acceptance.test_turns_survive import (
    LATER,
    STREAM,
    called,
    ended,
    holder,
    new_session,
    number,
    post,
    user_messages,
)
from tests.support.model_settings import gemini

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("model"),
    pytest.mark.postgres,
]

MANUAL = ROOT / "docs" / "operating.md"
TAKEN_OVER_WITHIN_S = 10.0
HANDED_OVER_WITHIN_S = 2.0


@pytest.fixture
def settings(own_postgres: str, shared_model: ModelServer) -> dict[str, str]:
    return {**gemini(shared_model), "TURN__GRACE_S": "0.5", "DATABASE_URL": own_postgres}


async def held_turn(server: Any, model: ModelServer) -> tuple[str, str]:
    """Return a session and its turn, whose model does not answer the first call."""
    model.play([Hang(), Text(text="Here I am.")])
    session = await new_session(server.client)
    turn_id: str = (await post(server.client, session, "hello", **LATER)).json()["turn_id"]
    await called(model)
    return session, turn_id


async def test_a_worker_runs_what_a_server_accepts(
    serve: Any, work: Any, settings: dict[str, str], model: ModelServer
) -> None:
    server = await serve("--accept-only", **settings)
    session = await new_session(server.client)
    model.play([Text(text="Hello from afar.")])
    waiting = (await post(server.client, session, "hello", **LATER)).json()["turn_id"]
    assert await number(server.client, "oda_queue_waiting") == 1
    assert not model.requests
    worker = await work(**settings)
    assert (await ended(server.client, waiting))["reply"] == "Hello from afar."
    model.play([Text(text="One two three.")])
    streamed = await post(server.client, session, "again", **STREAM)
    assert "One two three." in streamed.text
    assert streamed.text.rstrip().endswith("}")
    assert await number(worker.client, 'oda_turns_total{app="calculator",status="succeeded"}') == 2
    for path in ("/livez", "/readyz"):
        assert (await worker.client.get(path)).status_code == 200


async def test_turns_of_a_killed_worker_go_on_elsewhere(
    serve: Any, work: Any, settings: dict[str, str], model: ModelServer, tmp_path: Path
) -> None:
    server = await serve("--accept-only", **settings)
    workers = [await work(**settings, data=tmp_path / name) for name in "ab"]
    session, turn_id = await held_turn(server, model)
    await workers[await holder(workers)].stop(signal.SIGKILL)
    killed_at = time.monotonic()
    assert (await ended(server.client, turn_id))["reply"] == "Here I am."
    assert time.monotonic() - killed_at <= TAKEN_OVER_WITHIN_S
    assert await user_messages(server.client, session) == ["hello"]


async def test_a_stopping_worker_hands_its_turns_over(
    serve: Any, work: Any, settings: dict[str, str], model: ModelServer, tmp_path: Path
) -> None:
    grace_s = float(settings["TURN__GRACE_S"])
    server = await serve("--accept-only", **settings)
    workers = [await work(**settings, data=tmp_path / name) for name in "ab"]
    session, turn_id = await held_turn(server, model)
    stopping = workers[await holder(workers)]
    began = time.monotonic()
    stopped = asyncio.create_task(stopping.stop())
    while (await stopping.client.get("/readyz")).status_code != 503:
        assert time.monotonic() - began < grace_s
    await called(model, 2)
    assert time.monotonic() - began <= grace_s + HANDED_OVER_WITHIN_S
    assert (await ended(server.client, turn_id))["reply"] == "Here I am."
    assert await stopped == 0
    assert await user_messages(server.client, session) == ["hello"]


@asynccontextmanager
async def brought_up(urls: list[str], database: str, **settings: str) -> AsyncIterator[list[int]]:
    """Run the commands of the manual on free ports; return the ids of the processes they start."""
    found = re.search(r"```sh\n(export ODA_DATABASE_URL=.*?)```", MANUAL.read_text(), re.DOTALL)
    assert found
    script = re.sub(r"(ODA_DATABASE_URL)=\S+", rf"\1={database}", found[1])
    ports = iter(urls)
    script = re.sub(r"(port) \d+ &", lambda m: f"{m[1]} {next(ports)[-5:]} & echo $!", script)
    shell = await asyncio.create_subprocess_exec(
        *("sh", "-ec", f"{script}\nwait"),
        cwd=ROOT,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            **settings,
        },
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert shell.stdout is not None
        started: list[int] = []
        while len(started) < len(urls):
            line = await asyncio.wait_for(shell.stdout.readline(), READY_WITHIN_S)
            started += [int(line)] if line.strip().isdigit() else []
        async with httpx.AsyncClient() as client, asyncio.timeout(READY_WITHIN_S):
            for url in urls:
                while not await is_ready(client, url):  # noqa: ASYNC110 - it tells nobody
                    await asyncio.sleep(0.1)
        yield started
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
        await shell.communicate()


async def is_ready(client: httpx.AsyncClient, url: str) -> bool:
    try:
        return (await client.get(f"{url}/readyz")).status_code == 200
    except httpx.TransportError:
        return False


async def test_the_commands_of_the_manual_bring_up_what_survives_any_kill(
    own_postgres: str, shared_model: ModelServer, model: ModelServer, tmp_path: Path
) -> None:
    urls = [f"http://127.0.0.1:{port}" for port in free_ports(4)]
    settings = {f"ODA_{name}": value for name, value in gemini(shared_model).items()}
    settings |= {"ODA_AGENTS_DIR": str(TEST_AGENTS), "ODA_DATA_DIR": str(tmp_path)}
    async with brought_up(urls, own_postgres, **settings) as processes, AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(httpx.AsyncClient(base_url=url, timeout=30))
            for url in urls
        ]
        model.play([Hang(), Text(text="Here I am.")])
        session = await new_session(clients[0])
        turn_id = (await post(clients[0], session, "hello", **LATER)).json()["turn_id"]
        await called(model)
        running = 'oda_turns_unfinished{state="running"}'
        holds = [await number(client, running) for client in clients[2:]].index(1.0)
        for process in (processes[0], processes[2 + holds]):
            os.kill(process, signal.SIGKILL)
        assert (await ended(clients[1], turn_id))["reply"] == "Here I am."
        assert await user_messages(clients[1], session) == ["hello"]


def free_ports(count: int) -> list[int]:
    """Return ports of five digits that nobody uses now."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


async def test_a_worker_needs_postgresql(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        "oda",
        "worker",
        env={"PATH": str(Path(sys.executable).parent), "ODA_DATA_DIR": str(tmp_path)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    _, errors = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == 2
    assert b"ODA_DATABASE_URL" in errors
    assert b"Traceback" not in errors
