"""The real `HttpAgent` of npm's `@ag-ui/client`, which verifies the order of all events."""

import asyncio
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent / "agui"
INSTALLED_WITHIN_S = 180
ANSWERED_WITHIN_S = 60.0
LONGEST_LINE = 16 * 1024 * 1024


@dataclass(frozen=True)
class Told:
    """What a run has told its client, and what the client has after it."""

    events: list[dict[str, Any]]
    messages: list[dict[str, Any]]
    state: Any
    error: dict[str, Any] | None
    pending: list[dict[str, Any]]

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    def all(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] == kind]

    def custom(self, name: str) -> list[Any]:
        return [event["value"] for event in self.all("CUSTOM") if event["name"] == name]

    @property
    def last(self) -> dict[str, Any]:
        return self.events[-1]

    def said(self, role: str = "assistant") -> list[str]:
        """The texts of the messages of a role that the client has now."""
        mine = (one for one in self.messages if one["role"] == role)
        return [one["content"] for one in mine if one.get("content")]


@dataclass
class AguiClient:
    """A process with one `HttpAgent`, which keeps messages and state from run to run."""

    process: asyncio.subprocess.Process
    thread_id: str = ""
    _said: int = field(default=0)

    async def say(self, text: str, **run: Any) -> Told:
        """Add a message of the user, and run."""
        self._said += 1
        message = {"id": f"user-{self._said}", "role": "user", "content": text}
        return await self.run([message], **run)

    async def run(
        self, add: Sequence[Mapping[str, Any]] = (), *, leave_after: str | None = None, **run: Any
    ) -> Told:
        """Add messages and run; `leave_after` is the kind of event at which the client leaves."""
        return Told(**await self._ask({"add": [*add], "run": run, "leaveAfter": leave_after}))

    async def set_state(self, state: Any) -> None:
        await self._ask({"state": state})

    async def _ask(self, command: Mapping[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{json.dumps(command)}\n".encode())
        await self.process.stdin.drain()
        line = await asyncio.wait_for(self.process.stdout.readline(), ANSWERED_WITHIN_S)
        assert line, "the client has ended"
        answer: dict[str, Any] = json.loads(line)
        return answer


@asynccontextmanager
async def agui_client(
    url: str, thread_id: str, *, headers: Mapping[str, str] = {}, **options: Any
) -> AsyncIterator[AguiClient]:
    """Start a client of the agent at a URL; without npm or Node the test is skipped."""
    process = await asyncio.create_subprocess_exec(
        *("node", FOLDER / "client.mjs", installed()),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=LONGEST_LINE,
    )
    client = AguiClient(process, thread_id)
    try:
        agent = {"url": url, "threadId": thread_id, "headers": dict(headers), **options}
        await client._ask({"agent": agent})
        yield client
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@cache
def installed() -> Path:
    """The folder, outside of the repository, in which npm has installed what the lock says."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("needs npm and Node for @ag-ui/client")
    lock = (FOLDER / "package-lock.json").read_bytes()
    cache_home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache_home / "oda-tests" / f"agui-{hashlib.sha256(lock).hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            for name in ("package.json", "package-lock.json"):
                shutil.copy(FOLDER / name, folder / name)
            npm = subprocess.run(
                ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
                cwd=folder,
                capture_output=True,
                timeout=INSTALLED_WITHIN_S,
                check=False,
            )
            if npm.returncode:
                pytest.skip(f"npm cannot install @ag-ui/client: {npm.stderr.decode()[-500:]}")
            (folder / "done").touch()
    return folder
