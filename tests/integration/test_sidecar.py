"""`oda sidecar` as a process: JSON lines in, JSON lines out, whatever comes."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.oda_command import LIMIT_S, Home

AGENT = """
import os
import sys

from google.adk.agents import LlmAgent

from oda.testing import ScriptedModel
from oda.testing.script import Hang, Match

print("a line that no shell wants to see")
os.write(1, b"nor this one")


root_agent = LlmAgent(
    name="teller",
    model=ScriptedModel(steps=(Hang(match=Match(last_user="hang"), times=None),)),
)
"""
SIDECAR = """
from contextlib import aclosing

from oda.errors import InvalidRequestError


async def say(asked, conversations):
    if not isinstance(asked.get("text"), str):
        raise InvalidRequestError("text: must be a string", remedy="send one")
    if asked["text"] == "break":
        raise RuntimeError("a secret of the house")
    session = await conversations.begin()
    turn = await conversations.submit(session, asked["text"])
    yield {"event": "accepted", "turn_id": turn.turn_id}
    print("printed in between")
    turn = await conversations.ended(turn)
    yield {"event": "cancelled" if turn.status == "cancelled" else "result", "reply": turn.reply}


def actions():
    return {"say": say}
"""


class Shell:
    """A desktop shell's end of the pipes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    def send(self, line: dict[str, Any] | bytes) -> None:
        assert self.process.stdin is not None
        sent = line if isinstance(line, bytes) else json.dumps(line).encode()
        self.process.stdin.write(sent + b"\n")

    async def event(self) -> dict[str, Any]:
        """The next line."""
        assert self.process.stdout is not None
        async with asyncio.timeout(LIMIT_S):
            told: dict[str, Any] = json.loads(await self.process.stdout.readline())
        return told

    async def leave(self) -> tuple[list[dict[str, Any]], str]:
        """Close stdin; what is told until the end, and stderr."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        async with asyncio.timeout(LIMIT_S):
            stdout, stderr = await self.process.communicate()
        return [json.loads(line) for line in stdout.splitlines()], stderr.decode()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.write("agents/teller/agent.py", AGENT)
    home.write("agents/teller/sidecar.py", SIDECAR)
    return home


@asynccontextmanager
async def shell(home: Home) -> AsyncIterator[Shell]:
    process = await home.start("sidecar")
    try:
        opened = Shell(process)
        assert await opened.event() == {"id": None, "event": "ready", "actions": ["say"]}
        yield opened
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_garbage_is_answered_and_harms_nothing(home: Home) -> None:
    garbage: list[tuple[bytes, str]] = [
        (b"{not json", "malformed"),
        (b"\xff\xfe\x00", "malformed"),
        (b"[" * 100_000, "malformed"),
        (b"[1, 2]", "malformed"),
        (b'"' + b"x" * (5 * 2**20) + b'"', "malformed"),
        (b'{"action": "say"}', "invalid_request"),
        (b'{"id": {}, "action": "say"}', "invalid_request"),
        (b'{"id": 7, "action": "fly"}', "invalid_request"),
        (b'{"id": 8, "action": "say"}', "invalid_request"),
        (b'{"id": 9, "action": "cancel"}', "conflict"),
    ]
    async with shell(home) as desk:
        for line, code in garbage:
            desk.send(line)
            told = await desk.event()
            assert (told["event"], told["code"]) == ("error", code), line[:40]
        desk.send({"id": "a", "action": "say", "text": "break"})
        told = await desk.event()
        assert (told["id"], told["event"]) == ("a", "error")
        assert "secret" not in json.dumps(told)
        desk.send({"id": "b", "action": "say", "text": "你好"})
        assert (await desk.event())["event"] == "accepted"
        assert await desk.event() == {"id": "b", "event": "result", "reply": "You said: 你好"}
        rest, stderr = await desk.leave()
    assert (rest, desk.process.returncode) == ([], 0)
    assert "printed in between" in stderr
    assert "no shell wants to see" in stderr


async def test_a_request_is_cancelled_while_another_is_answered(home: Home) -> None:
    async with shell(home) as desk:
        desk.send({"id": 1, "action": "say", "text": "hang"})
        assert (await desk.event())["event"] == "accepted"
        desk.send({"id": 1, "action": "say", "text": "again"})
        assert (await desk.event())["code"] == "conflict"
        desk.send({"id": 2, "action": "say", "text": "hello"})
        assert (await desk.event())["id"] == 2
        assert await desk.event() == {"id": 2, "event": "result", "reply": "You said: hello"}
        desk.send({"id": 3, "action": "cancel", "target": 1})
        assert await desk.event() == {"id": 3, "event": "result", "cancelling": 1}
        assert await desk.event() == {"id": 1, "event": "cancelled", "reply": ""}


async def test_what_came_before_the_end_of_stdin_is_answered(home: Home) -> None:
    async with shell(home) as desk:
        desk.send({"id": 1, "action": "say", "text": "hello"})
        rest, _ = await desk.leave()
    assert [told["event"] for told in rest] == ["accepted", "result"]
    assert desk.process.returncode == 0


async def test_it_ends_when_nobody_reads_any_more(home: Home) -> None:
    async with shell(home) as desk:
        assert desk.process.stdout is not None
        desk.process.stdout._transport.close()  # type: ignore[attr-defined]
        for number in range(3):
            desk.send({"id": number, "action": "say", "text": "hello"})
        assert desk.process.stdin is not None
        desk.process.stdin.close()
        async with asyncio.timeout(LIMIT_S):
            assert await desk.process.wait() == 0


async def test_without_a_sidecar_it_is_refused(tmp_path: Path) -> None:
    ended = await Home(tmp_path).run("sidecar")
    assert (ended.code, ended.stdout) == (2, "")
    assert "have a sidecar" in ended.stderr
