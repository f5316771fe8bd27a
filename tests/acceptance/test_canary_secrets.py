"""Secrets that a server is given come out of it nowhere, whatever its agents and models do."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from oda.testing import ModelServer
from oda.testing.script import Call, Error, Step, Text, ToolCalls
from tests.acceptance.conftest import Serve, Server
from tests.support.model_settings import litellm

pytestmark = pytest.mark.asyncio(loop_scope="module")

KEY = "Quince.Harbour.4711.Lantern"
TOKEN = 'Velvet"Anchor\\Tin/Marble'
"""Which JSON, URLs and Python write in other ways."""
AGENT = '''
import logging
import os

from google.adk.agents import LlmAgent

from oda import configured_model

KEY = "ODA_MODEL_API_KEY"


def environment() -> dict:
    """Return the environment."""
    return {"environment": dict(os.environ), "as text": repr(os.environ), os.environ[KEY]: "a key"}


def stumble() -> str:
    """Fail with the key in the reason, after it was logged."""
    logging.getLogger("leaky").error("calling with %s", os.environ[KEY])
    try:
        raise ValueError(f"refused: {os.environ['ODA_SHOP_TOKEN']}")
    except ValueError as error:
        raise RuntimeError(f"first line\\nthe key {os.environ[KEY]} is wrong") from error


root_agent = LlmAgent(name="leaky", model=configured_model(), tools=[environment, stumble])
'''
REFUSED = f"Incorrect API key provided: {KEY}"


@pytest_asyncio.fixture(params=["console", "json"], loop_scope="module")
async def leaky(
    request: pytest.FixtureRequest, serve: Serve, shared_model: ModelServer, tmp_path: Path
) -> AsyncIterator[Server]:
    (tmp_path / "agents" / "leaky").mkdir(parents=True)
    (tmp_path / "agents" / "leaky" / "agent.py").write_text(AGENT)
    yield await serve(
        agents=tmp_path / "agents",
        **litellm(shared_model),
        MODEL_API_KEY=KEY,
        SHOP_TOKEN=TOKEN,
        LOG_LEVEL="debug",
        LOG_FORMAT=request.param,
        RETRY__MAX_RETRIES="1",
    )


class Client:
    """Writes down all that the server answers."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        self.heard: list[str] = []

    async def ask(self, method: str, url: str, **options: Any) -> httpx.Response:
        answer = await self._client.request(method, url, **options)
        self.heard += [answer.text, str(answer.headers)]
        return answer


SCENES: list[list[Step]] = [
    [ToolCalls(calls=(Call(name="environment"), Call(name="stumble"))), Text(text="Done.")],
    [Error(status=401, message=REFUSED)],
    [Error(status=400, message=REFUSED, code="context_length_exceeded")],
    [Error(status=500, message=REFUSED)] * 2,
    [Error(status=500, message=REFUSED, after_chunks=("I ", "begin")), Text(text="Done.")],
    [Text(text=f"Your key is {KEY}.")],
]


async def test_no_secret_leaves_the_server(
    leaky: Server, shared_model: ModelServer, tmp_path: Path
) -> None:
    client = Client(leaky.client)
    for scene in SCENES:
        for headers in ({}, {"Accept": "text/event-stream"}):
            shared_model.play(scene)
            await live_through(client, headers)
    for url in ("/metrics", "/health", "/ready", "/openapi.json", "/list-apps", "/nowhere"):
        await client.ask("GET", url)
    await leaky.stop()
    heard, logged = "".join(client.heard), "".join(leaky.output)
    assert "***" in heard
    assert "***" in logged
    assert found_in(heard) == []
    assert found_in(logged) == []
    for file in sorted((tmp_path / "data").rglob("*")):
        if file.is_file():
            assert found_in(file.read_bytes().decode(errors="replace")) == [], file.name


async def live_through(client: Client, headers: dict[str, str]) -> None:
    """A turn and all that can be read of it."""
    session = (await client.ask("POST", "/v1/apps/leaky/sessions", json={})).json()["session_id"]
    base = f"/v1/apps/leaky/sessions/{session}"
    await client.ask("POST", f"{base}/turns", json={"message": "Go on."}, headers=headers)
    turns = (await client.ask("GET", f"{base}/turns")).json()["turns"]
    assert len(turns) == 1
    for turn in turns:
        for url in (f"/v1/turns/{turn['turn_id']}", f"/v1/turns/{turn['turn_id']}/events"):
            await client.ask("GET", url, headers=headers)
    for part in ("", "/state", "/events"):
        assert (await client.ask("GET", f"{base}{part}")).status_code == 200
    await client.ask("GET", f"/apps/leaky/users/local/sessions/{session}")


def found_in(text: str) -> list[str]:
    """The secrets that are in a text, in any way of writing them."""
    forms = [KEY, TOKEN, json.dumps(TOKEN)[1:-1], repr(TOKEN)[1:-1]]
    forms += [json.dumps(form)[1:-1] for form in forms]
    return [text[max(0, i - 80) : i + 80] for form in forms if (i := text.find(form)) >= 0]
