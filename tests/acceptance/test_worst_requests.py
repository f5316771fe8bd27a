"""No request that is allowed keeps the server from answering others.

Every operation of the OpenAPI document is sent its largest bodies in the shapes that cost most,
while `/livez` is asked each 50 ms. What a busy machine makes of that is seen at a server beside it
that does nothing. A wait counts only as far as the server's process has worked meanwhile, unless it
is very long, and a request is judged by the best of some tries: work that blocks the event loop
does so each time.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from oda.settings import LimitSettings
from tests.support.worst_requests import Worst, WorstRequests

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
APPS = ("assistant", "companion", "cv", "researcher", "resume_coach")
LATEST_S = 0.25
SURELY_LATE_S = 3.0
"""Longer than a machine keeps a process waiting: then something else was waited for."""
TRIES = 4
ANSWERED_WITHIN_S = 60.0
IDLE = """
import asyncio, uvicorn
HEAD = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}
async def app(scope, receive, send):
    await send(HEAD)
    await send({"type": "http.response.body", "body": b"ok"})
class Server(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        print(self.servers[0].sockets[0].getsockname()[1], flush=True)
asyncio.run(Server(uvicorn.Config(app, port=0, lifespan="off", log_level="critical")).serve())
"""
OF_EVERY_APP = "/v1/apps/{app}/sessions/{sid}/turns", "post"
"""A message that is sent here is read by the app's own code."""


@dataclass
class Place:
    """A server of the five applications, what its routes need, and who asks it all the time."""

    client: httpx.AsyncClient
    requests: dict[str, WorstRequests]
    """By how the path begins."""
    document: dict[str, Any]
    prober: asyncio.subprocess.Process

    async def lateness(self, worst: Worst) -> float:
        """Send a request; by how much longer `/livez` took than a server that does nothing.

        Messages are sent to new sessions: none is judged by those before it.
        """
        path = worst.path
        if path.partition("?")[0].endswith("/turns") and worst.method == "POST":
            sessions, _, _ = path.partition("/of-")
            made = await self.client.post(sessions)
            path = f"{sessions}/{made.json()['session_id']}/turns"
        assert self.prober.stdin is not None and self.prober.stdout is not None
        self.prober.stdin.write(b"begin\n")
        async with asyncio.timeout(ANSWERED_WITHIN_S):
            answer = await self.client.request(
                worst.method, path, content=worst.body, headers=dict(worst.headers)
            )
        assert answer.status_code < 500 or answer.status_code in (501, 503), (
            f"{worst}: {answer.status_code} {answer.text[:500]}"
        )
        self.prober.stdin.write(b"end\n")
        async with asyncio.timeout(ANSWERED_WITHIN_S):
            (waited, used), (idle, _) = json.loads(await self.prober.stdout.readline())
        late: float = waited - idle
        return late if late > SURELY_LATE_S else min(late, used)

    def of(self, path: str, method: str) -> Iterator[Worst]:
        prefix = max((p for p in self.requests if path.startswith(p)), key=len)
        yield from self.requests[prefix].of(path, method)
        if (path, method) == OF_EVERY_APP:
            for app in APPS:
                for worst in self.requests[app].of(path, method):
                    if worst.shape.startswith("message"):
                        yield worst


@asynccontextmanager
async def running(*arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        await process.wait()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(serve_folder: Any) -> AsyncIterator[Place]:
    server = await serve_folder(
        ROOT / "agents",
        SANDBOX="none",
        TURN__TIMEOUT_S="20",
        LIMITS__USER_STORAGE_BYTES=str(2**40),
    )
    client = server.client
    for app in APPS:
        made = await client.post(f"/v1/apps/{app}/sessions", json={"session_id": f"of-{app}"})
        assert made.status_code == 201, made.text
    said = await client.post("/v1/apps/cv/sessions/of-cv/turns", json={"message": "hello"})
    turn_id = said.json()["turn"]["turn_id"]
    document = (await client.get("/openapi.json")).json()

    def requests(app: str, **known: str) -> WorstRequests:
        names = {"app": app, "sid": f"of-{app}", "tid": turn_id, "turn_id": turn_id, **known}
        return WorstRequests(document, LimitSettings(), names)

    async with AsyncExitStack() as stack:
        idle = await stack.enter_async_context(running("-c", IDLE))
        assert idle.stdout is not None
        port = int(await asyncio.wait_for(idle.stdout.readline(), 30))
        places = (
            f"{httpx.URL(server.url).port}:{server.process.pid}",
            f"{int(port)}:{idle.pid}",
        )
        prober = await stack.enter_async_context(running("-m", "tests.support.prober", *places))
        without_limit = httpx.AsyncClient(base_url=server.url, timeout=None)
        yield Place(
            await stack.enter_async_context(without_limit),
            {
                "/": requests("assistant"),
                "/api/agent/cv-tools": requests("cv", session_id="of-cv"),
                "/api/cv-agent": requests("cv", session_id="of-cv"),
                **{app: requests(app) for app in APPS},
            },
            document,
            prober,
        )


def operations(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(path, method) for path, of_path in document["paths"].items() for method in of_path]


async def test_no_allowed_request_keeps_others_waiting(place: Place) -> None:
    late: dict[str, float] = {}
    for path, method in operations(place.document):
        for worst in place.of(path, method):
            least = await place.lateness(worst)
            for _ in range(TRIES - 1):
                if least <= LATEST_S:
                    break
                least = min(least, await place.lateness(worst))
            if least > LATEST_S:
                late[str(worst)] = round(least, 2)
    assert late == {}
