"""The researcher behind its other doors: `oda sidecar` and `adk api_server`."""

import asyncio
import base64
import json
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from oda.testing import ModelServer
from oda.testing.script import Call, Hang, Text, ToolCalls
from tests.support.local_web import LocalWeb
from tests.support.model_settings import gemini
from tests.support.oda_command import LIMIT_S, Home

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.sandbox]

ROOT = Path(__file__).parents[2]
AGENTS = ROOT / "agents"
PAGE = "<h1>Otters</h1><p>Many of them.</p>"

Json = dict[str, Any]


def call(name: str, **args: Any) -> ToolCalls:
    return ToolCalls(calls=(Call(name=name, args=args),))


class Desk:
    """A desktop shell's end of the pipes; every line of stdout has to be JSON."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.told: list[Json] = []

    def send(self, **line: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(line).encode() + b"\n")

    async def until(self, *events: str) -> Json:
        """The next event of one of these kinds."""
        assert self._process.stdout is not None
        async with asyncio.timeout(LIMIT_S):
            while True:
                told: Json = json.loads(await self._process.stdout.readline())
                self.told.append(told)
                if told["event"] in events:
                    return told

    async def leave(self) -> int:
        assert self._process.stdin is not None
        self._process.stdin.close()
        async with asyncio.timeout(LIMIT_S):
            rest, _ = await self._process.communicate()
        assert all(json.loads(line) for line in rest.splitlines())
        return self._process.returncode or 0


async def test_a_desktop_shell_has_articles_made(model: ModelServer, tmp_path: Path) -> None:
    table = tmp_path / "数据.csv"
    table.write_text("a\n1\n")
    home = Home(tmp_path, model=model)
    process = await home.start("sidecar", "researcher", "--agents", str(AGENTS))
    try:
        desk = Desk(process)
        ready = await desk.until("ready")
        assert ready["actions"] == ["agent", "generate", "list"]

        model.play([Text(text=PAGE)])
        desk.send(id=1, action="generate", template="tutorial", prompt="otters")
        made = await desk.until("result", "error")
        assert (made["id"], made["article"]["title"]) == (1, "Otters")

        code = "print(open('input/数据.csv').read())"
        model.play([call("run_python", code=code), Text(text=PAGE)])
        desk.send(
            id="b", action="agent", template="data-analysis", prompt="look", files=[str(table)]
        )
        made = await desk.until("result", "error")
        assert [file["name"] for file in made["article"]["files"]] == ["article.html", "cover.svg"]
        of_run = [told for told in desk.told if told["id"] == "b"]
        assert of_run[0]["event"] == "accepted"
        assert "a\\n1\\n" in json.dumps(of_run)

        desk.send(id=3, action="list", query="otters")
        listed = await desk.until("result", "error")
        assert len(listed["articles"]) == 2

        model.play([Hang()])
        desk.send(id=4, action="agent", template="deep-research", prompt="for ever")
        await desk.until("accepted")
        desk.send(id=5, action="cancel", target=4)
        assert (await desk.until("cancelled"))["id"] == 4

        refusals: list[tuple[Json, str]] = [
            ({"action": "generate", "template": "deep-research", "prompt": "x"}, "agent"),
            ({"action": "agent", "template": "data-analysis", "files": ["/none.csv"]}, "none.csv"),
            ({"action": "generate", "template": "poem", "prompt": "x"}, "tutorial"),
            ({"action": "list", "query": 3}, "query"),
        ]
        for wrong, word in refusals:
            desk.send(id=6, **wrong)
            refused = await desk.until("error", "accepted", "result")
            assert refused["event"] == "error"
            assert word in json.dumps(refused)
        assert await desk.leave() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_adk_serves_talk_and_templates_without_anything_of_ours(
    model: ModelServer, tmp_path: Path
) -> None:
    table = base64.b64encode(b"a,b\n1,2\n").decode()
    blob = {"inlineData": {"mimeType": "text/csv", "displayName": "d.csv", "data": table}}
    async with LocalWeb() as web, adk(model, web, tmp_path) as client:
        session = "/apps/researcher/users/user/sessions"
        sid = (await client.post(session, json={})).json()["id"]

        async def say(*parts: Json) -> list[Json]:
            message = {"role": "user", "parts": list(parts)}
            body = {
                "appName": "researcher",
                "userId": "user",
                "sessionId": sid,
                "newMessage": message,
            }
            answered = await client.post("/run", json=body)
            assert answered.status_code == 200, answered.text
            events: list[Json] = answered.json()
            return events

        model.play([call("read_file", path="input/d.csv"), Text(text="Two columns.")])
        events = await say({"text": "What is in it?"}, blob)
        assert "| 1 | 2 |" in json.dumps(events)
        assert _text(events[-1]) == "Two columns."

        model.play([Text(text=PAGE)])
        events = await say({"text": json.dumps({"template": "daily-brief", "prompt": "otter"})})
        assert events[-1]["customMetadata"]["oda_article"]["title"] == "Otters"
        assert "densest fur" in json.dumps(model.requests[-1].body)

        model.play([call("write_file", path="output/article.html", content=PAGE), Text(text="ok")])
        events = await say({"text": json.dumps({"template": "data-analysis"})}, blob)
        assert events[-1]["customMetadata"]["oda_article"]["missing"] == ["*.xlsx"]
        assert "Missing: *.xlsx" in _text(events[-1])
        kept = (await client.get(f"{session}/{sid}/artifacts")).json()
        assert "article.html" in kept


def _text(event: Json) -> str:
    return "".join(part.get("text", "") for part in event["content"]["parts"])


@asynccontextmanager
async def adk(model: ModelServer, web: LocalWeb, data: Path) -> AsyncIterator[httpx.AsyncClient]:
    """ADK's own server on our agents folder."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ours = {f"ODA_{name}": value for name, value in gemini(model).items()}
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("adk"),
        *("api_server", "agents", "--port", str(port), "--session_service_uri", "memory://"),
        *("--artifact_service_uri", "memory://"),
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("ODA_")}
        | ours
        | web.environment
        | {"ODA_DATA_DIR": str(data)},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        async with httpx.AsyncClient(base_url=url, timeout=30) as client, asyncio.timeout(LIMIT_S):
            while not await _answers(client):
                assert process.returncode is None, "adk did not start"
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
