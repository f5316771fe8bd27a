"""The application inside of another one, which is served by uvicorn over real HTTP."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
import uvicorn
from fastapi import FastAPI
from websockets.asyncio.client import connect

from oda.server import create_app
from oda.settings import Settings

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROOT = Path(__file__).parents[2]
WITHIN_S = 30


class HostServer(uvicorn.Server):
    """A server that says when it has started."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@asynccontextmanager
async def served(host: FastAPI) -> AsyncIterator[str]:
    """Serve an application on a free port of this machine; its URL."""
    server = HostServer(uvicorn.Config(host, port=0, log_config=None, lifespan="on"))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(server.serve())
        try:
            async with asyncio.timeout(WITHIN_S):
                await server.ready.wait()
            yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        finally:
            server.should_exit = True


def settings(data: Path) -> Settings:
    return Settings.load(data_dir=data, agents_dir=ROOT / "agents", config_dir=ROOT / "config")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def mounted(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a host application that has ours below `/in side/oda`."""
    oda = create_app(settings(tmp_path_factory.mktemp("data")))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with oda.opened():
            yield

    host = FastAPI(lifespan=lifespan)

    @host.get("/v1/apps")
    async def apps_of_the_host() -> str:
        return "the host's own"

    host.mount("/in side/oda", oda)
    async with served(host) as url, httpx.AsyncClient(base_url=url, timeout=WITHIN_S) as client:
        yield client


AT = "/in%20side/oda"


async def test_every_door_opens_below_the_mount(mounted: httpx.AsyncClient) -> None:
    assert (await mounted.get("/v1/apps")).json() == "the host's own"
    for path in ("/livez", "/readyz", "/health", "/v1/apps", "/list-apps", "/docs", "/metrics"):
        answer = await mounted.get(AT + path)
        assert (path, answer.status_code) == (path, 200)
    missing = await mounted.get(f"{AT}/nowhere")
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")


async def test_what_is_made_is_found_where_the_answer_says(mounted: httpx.AsyncClient) -> None:
    made = await mounted.post(f"{AT}/v1/apps/cv/sessions", json={"session_id": "s"})
    assert made.headers["location"] == f"{AT}/v1/apps/cv/sessions/s"
    assert (await mounted.get(made.headers["location"])).json()["session_id"] == "s"
    turn = await mounted.post(f"{AT}/v1/apps/cv/sessions/s/turns", json={"message": "我会 Python"})
    assert turn.json()["turn"]["status"] == "succeeded"
    assert (await mounted.get(turn.headers["location"])).json()["status"] == "succeeded"
    stored = await mounted.put(f"{AT}/v1/apps/cv/sessions/s/artifacts/a.txt", content=b"a")
    assert (await mounted.get(stored.headers["location"])).content == b"a"
    resume = json.dumps({"basics": {"name": "Ann"}}).encode()
    imported = await mounted.post(f"{AT}/api/agent/cv-tools/import", content=resume)
    found = await mounted.get(imported.headers["location"], params={"format": "json"})
    assert found.status_code == 200


async def test_adk_and_its_page_are_served_below_the_mount(mounted: httpx.AsyncClient) -> None:
    root = await mounted.get(f"{AT}/")
    assert (root.status_code, root.headers["location"]) == (307, f"{AT}/dev-ui/")
    page = await mounted.get(root.headers["location"])
    assert (page.status_code, page.headers["x-frame-options"]) == (200, "SAMEORIGIN")
    config = await mounted.get(f"{AT}/dev-ui/assets/config/runtime-config.json")
    assert config.json()["backendUrl"] == AT
    made = await mounted.post(f"{AT}/apps/cv/users/local/sessions", json={"session_id": "adk"})
    assert made.status_code == 200


async def test_the_document_names_the_mount_as_its_server(mounted: httpx.AsyncClient) -> None:
    document = (await mounted.get(f"{AT}/openapi.json")).json()
    assert document["servers"][0]["url"] in (AT, "/in side/oda")
    assert "/v1/apps" in document["paths"]


async def test_a_turn_is_streamed_over_a_socket_below_the_mount(mounted: httpx.AsyncClient) -> None:
    await mounted.post(f"{AT}/v1/apps/cv/sessions", json={"session_id": "socket"})
    url = f"{mounted.base_url.copy_with(scheme='ws')}".rstrip("/")
    async with connect(f"{url}{AT}/v1/apps/cv/sessions/socket/ws") as socket:
        await socket.send(json.dumps({"message": "我会 SQL"}))
        while (message := json.loads(await socket.recv()))["event"] != "done":
            assert message["event"] in ("turn", "event")
    assert message["data"]["status"] == "succeeded"


async def test_one_that_was_not_opened_says_so(tmp_path: Path) -> None:
    host = FastAPI()
    host.mount("/oda", create_app(settings(tmp_path)))
    async with served(host) as url, httpx.AsyncClient(base_url=url, timeout=30) as client:
        for path in ("/oda/v1/apps", "/oda/livez", "/oda/list-apps"):
            answer = await client.get(path)
            assert (answer.status_code, answer.json()["code"]) == (503, "not_opened")
            assert "app.opened()" in answer.json()["detail"]
