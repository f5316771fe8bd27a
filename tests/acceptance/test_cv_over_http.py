"""The scenarios of the resume agent over HTTP: through `oda serve` and through `adk web`."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
import yaml

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROOT = Path(__file__).parents[2]
DIALOGUES: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("cv_dialogues.yaml").read_text(encoding="utf-8")
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cv_server(serve_folder: Any) -> Any:
    return await serve_folder(ROOT / "agents")


def calls(events: list[dict[str, Any]]) -> list[list[Any]]:
    """The function calls of a turn, in the notation of the dialogue file."""
    return [
        [part["functionCall"]["name"], *part["functionCall"].get("args", {}).values()]
        for event in events
        for part in event.get("content", {}).get("parts", [])
        if "functionCall" in part
    ]


def check(turn: dict[str, Any], reply: str, made: list[list[Any]], state: dict[str, Any]) -> None:
    where = f"{turn['say']} -> {reply}"
    for word in turn.get("says", []):
        assert word in reply, where
    if "calls" in turn:
        assert made == turn["calls"], where
    for section, expected in turn.get("resume", {}).items():
        assert (state.get("resume") or {}).get(section) == expected, where


@pytest.mark.parametrize("name", DIALOGUES)
async def test_a_scenario_through_the_session_api(cv_server: Any, name: str) -> None:
    dialogue = DIALOGUES[name]
    initial = {"resume": dialogue["resume"]} if "resume" in dialogue else {}
    created = await cv_server.client.post("/v1/apps/cv/sessions", json={"state": initial})
    session = created.headers["location"]
    for turn in dialogue["turns"]:
        answer = await cv_server.client.post(f"{session}/turns", json={"message": turn["say"]})
        result = answer.json()
        assert result["turn"]["status"] == "succeeded", result
        assert result["turn"]["usage"]["model_calls"] == 0
        state = (await cv_server.client.get(f"{session}/state")).json()
        check(turn, result["reply"], calls(result["events"]), state)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def adk_web(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[httpx.AsyncClient]:
    """ADK's own server on our agents folder, without anything of ours around it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = tmp_path_factory.mktemp("adk")
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("adk"),
        *("web", "agents", "--port", str(port), "--session_service_uri", "memory://"),
        *("--artifact_service_uri", "memory://"),
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if not k.startswith("ODA_")}
        | {"ODA_DATA_DIR": str(data)},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
            async with asyncio.timeout(60):
                while not await _answers(client):
                    assert process.returncode is None, "adk web did not start"
                    await asyncio.sleep(0.1)
            yield client
    finally:
        process.terminate()
        await asyncio.wait_for(process.wait(), 20)


async def _answers(client: httpx.AsyncClient) -> bool:
    try:
        return (await client.get("/list-apps")).status_code == 200
    except httpx.TransportError:
        return False


@pytest.mark.parametrize("name", ["steps_zh", "steps_en"])
async def test_a_scenario_in_adk_web(adk_web: httpx.AsyncClient, name: str) -> None:
    created = await adk_web.post("/apps/cv/users/user/sessions", json={})
    sid = created.json()["id"]
    for turn in DIALOGUES[name]["turns"]:
        message = {"role": "user", "parts": [{"text": turn["say"]}]}
        body = {"appName": "cv", "userId": "user", "sessionId": sid, "newMessage": message}
        events = (await adk_web.post("/run", json=body)).json()
        reply = "".join(part.get("text", "") for part in events[-1]["content"]["parts"])
        state = (await adk_web.get(f"/apps/cv/users/user/sessions/{sid}")).json()["state"]
        check(turn, reply, calls(events), state)
