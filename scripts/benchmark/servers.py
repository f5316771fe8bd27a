"""The targets that are servers: `adk api_server` and `oda serve`."""

import asyncio
import shutil
import socket
import sys
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
from pydantic_core import from_json

from scripts.benchmark.postgres import Database
from scripts.benchmark.target import TURN_WITHIN_S, KeepsOrder, Target, TurnFailed, plain_adk
from scripts.benchmark.workload import ANSWER, MODEL, MODEL_BASE_VARIABLE, QUESTION

_APP = "calculator"
_OF_LANGGRAPH = (
    "langgraph",
    "langgraph-checkpoint-sqlite",
    "langchain-openai",
    "fastapi",
    "uvicorn[standard]",
)
_AGENTS = Path(__file__).parent / "agents"
_FIRST_TOKEN = ANSWER.partition(" ")[0].encode()
"""The question does not contain it."""


class HttpTarget(Target):
    """A server."""

    health: str
    agents: str
    """Which of the benchmark's agents folders it serves."""

    def __init__(self, *, model_base: str, work: Path) -> None:
        super().__init__(model_base=model_base, work=work)
        self._port = _free_port()
        self._http = aiohttp.ClientSession(
            f"http://127.0.0.1:{self._port}",
            headers={"Accept": "text/event-stream, application/json"},
            timeout=aiohttp.ClientTimeout(total=TURN_WITHIN_S),
            connector=aiohttp.TCPConnector(limit=0),
        )
        self._agents_dir = work / "agents"
        shutil.copytree(_AGENTS / self.agents, self._agents_dir)

    async def is_ready(self) -> bool:
        try:
            async with self._http.get(self.health) as response:
                return response.ok
        except aiohttp.ClientConnectionError:
            return False

    async def stop(self) -> None:
        await self._http.close()
        await super().stop()

    async def _post(self, path: str, body: object) -> bytes:
        """Return the whole body of the answer to a POST."""
        content, _ = await self._streamed(path, body)
        return content

    async def _streamed(self, path: str, body: object) -> tuple[bytes, float | None]:
        """Return the whole body, and the seconds until the first token of the answer was in it."""
        content, first_s, began = b"", None, time.perf_counter()
        try:
            async with self._http.post(path, json=body) as response:
                async for chunk in response.content.iter_any():
                    content += chunk
                    if first_s is None and _FIRST_TOKEN in content:
                        first_s = time.perf_counter() - began
        except (aiohttp.ClientError, TimeoutError) as error:
            raise TurnFailed(f"{path}: {error!r}") from error
        if not response.ok:
            raise TurnFailed(f"{path}: {response.status} {content[:200]!r}")
        return content, first_s


class AdkApiServer(HttpTarget):
    """ADK's own server."""

    name = "adk"
    about = "adk api_server with its defaults (SqliteSessionService, whole history), LiteLlm"
    health = "/health"
    agents = "adk"
    _user = "bench"

    @property
    def command(self) -> list[str]:
        adk = str(Path(sys.executable).parent / "adk")
        return [adk, "api_server", "--port", str(self._port), str(self._agents_dir)]

    @property
    def environment(self) -> Mapping[str, str]:
        return plain_adk(self._model_base)

    async def new_session(self) -> str:
        session = uuid.uuid4().hex
        await self._post(f"/apps/{_APP}/users/{self._user}/sessions", {"session_id": session})
        return session

    async def turn(self, session: str, question: str = QUESTION) -> float | None:
        stream, first_s = await self._streamed(
            "/run_sse",
            {
                "app_name": _APP,
                "user_id": self._user,
                "session_id": session,
                "streaming": True,
                "new_message": {"role": "user", "parts": [{"text": question}]},
            },
        )
        if ANSWER.encode() not in stream or b'data: {"error"' in stream:
            raise TurnFailed(stream[-300:].decode(errors="replace"))
        return first_s


class AdkApiServerOnSqlAlchemy(AdkApiServer):
    """ADK's own server with the session service that oda uses."""

    name = "adk-sqlalchemy"
    about = "the same with --session_service_uri sqlite+aiosqlite://… (DatabaseSessionService)"

    @property
    def command(self) -> list[str]:
        url = f"sqlite+aiosqlite:///{self._work / 'sessions.db'}"
        return [*super().command, "--session_service_uri", url]


class LangGraphServer(HttpTarget):
    """LangGraph behind FastAPI, with the checkpointer of its documentation."""

    name = "langgraph"
    about = (
        "LangGraph and FastAPI with AsyncSqliteSaver and ChatOpenAI, in an environment of its own"
    )
    health = "/health"
    agents = "adk"  # it serves its own; the folder is not read
    python: Path

    @property
    def command(self) -> list[str]:
        app = Path(__file__).with_name("langgraph_app.py")
        return [
            *(str(self.python), "-m", "uvicorn", f"{app.stem}:app", "--app-dir", str(app.parent)),
            *("--port", str(self._port), "--log-level", "warning"),
        ]

    @property
    def environment(self) -> Mapping[str, str]:
        return {
            MODEL_BASE_VARIABLE: self._model_base,
            "BENCH_DATABASE": str(self._work / "checkpoints.db"),
        }

    async def new_session(self) -> str:
        return str(from_json(await self._post("/sessions", {}))["session_id"])

    async def turn(self, session: str, question: str = QUESTION) -> float | None:
        stream, first_s = await self._streamed(f"/sessions/{session}/turns", {"message": question})
        if ANSWER.encode() not in stream.rpartition(b"event: done")[2]:
            raise TurnFailed(stream[-300:].decode(errors="replace"))
        return first_s


async def langgraph_server(directory: Path) -> type[LangGraphServer]:
    """Install LangGraph's packages into a new environment, for a target that uses them.

    Raises:
        RuntimeError: they cannot be installed.
    """
    python = directory / "bin" / "python"
    for command in (
        (sys.executable, "-m", "venv", str(directory)),
        (str(python), "-m", "pip", "install", "--quiet", *_OF_LANGGRAPH),
    ):
        made = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
        _, said = await made.communicate()
        if made.returncode:
            raise RuntimeError(f"LangGraph cannot be installed: {said.decode()[-300:]}")
    return type("Installed", (LangGraphServer,), {"python": python})


class OdaServe(HttpTarget, KeepsOrder):
    """Our server."""

    name = "oda"
    about = (
        "oda serve --no-dev-ui with its defaults (SQLite, a window of recent events, OpenAI's "
        "protocol without a client library)"
    )
    health = "/readyz"
    agents = "oda"

    @property
    def command(self) -> list[str]:
        oda = str(Path(sys.executable).parent / "oda")
        return [
            *(oda, "serve", "--no-dev-ui", "--port", str(self._port)),
            *("--agents", str(self._agents_dir)),
        ]

    @property
    def environment(self) -> Mapping[str, str]:
        return {
            "ODA_MODEL": MODEL,
            "ODA_MODEL_API_BASE": self._model_base,
            "ODA_DATA_DIR": str(self._work / "data"),
        }

    async def new_session(self) -> str:
        return str(from_json(await self._post(f"/v1/apps/{_APP}/sessions", {}))["session_id"])

    async def turn(self, session: str, question: str = QUESTION) -> float | None:
        path = f"/v1/apps/{_APP}/sessions/{session}/turns"
        stream, first_s = await self._streamed(path, {"message": question})
        last = stream.rpartition(b"event: done")[2]
        if b'"succeeded"' not in last or ANSWER.encode() not in last:
            raise TurnFailed(stream[-300:].decode(errors="replace"))
        return first_s

    async def messages_at_once(self, count: int) -> str | None:
        session = await self.new_session()
        path = f"/v1/apps/{_APP}/sessions/{session}"
        texts = [f"{QUESTION} ({number})" for number in range(count)]
        await asyncio.gather(*(self._ask(f"{path}/turns", text) for text in texts))
        turns = await self._get(f"{path}/turns?limit={count}")
        events = await self._get(f"{path}/events?limit={1000}")
        accepted = [turn["turn_id"] for turn in reversed(turns["turns"])]
        stored = [e["invocationId"] for e in events["events"] if _is_message(e)]
        if accepted != stored:
            return f"accepted {accepted}, stored {stored}"
        return None if len(stored) == count else f"{len(stored)} of {count} are stored"

    async def _ask(self, path: str, message: str) -> None:
        stream = await self._post(path, {"message": message})
        if b'"succeeded"' not in stream.rpartition(b"event: done")[2]:
            raise TurnFailed(stream[-300:].decode(errors="replace"))

    async def _get(self, path: str) -> Any:
        async with self._http.get(path) as response:
            return from_json(await response.read())


class OdaServeOnPostgres(OdaServe):
    """Our server on PostgreSQL, whose work is charged to it."""

    name = "oda-postgres"
    about = "the same on PostgreSQL, whose backends' CPU is counted"

    def __init__(self, *, model_base: str, work: Path, database: Database) -> None:
        super().__init__(model_base=model_base, work=work)
        self._database = database

    @property
    def environment(self) -> Mapping[str, str]:
        return {**super().environment, "ODA_DATABASE_URL": self._database.url}

    async def cpu_s(self) -> float:
        return await super().cpu_s() + await self._database.cpu_s()

    async def database_bytes(self) -> int:
        return await self._database.size()


class Before:
    """Makes a target run another checkout of oda, prepared by its own scripts."""

    checkout: Path

    @property
    def command(self) -> list[str]:
        _, *arguments = super().command  # type: ignore[misc]
        return [str(self.checkout / ".venv" / "bin" / "oda"), *arguments]

    @property
    def environment(self) -> Mapping[str, str]:
        return {**super().environment, "PYTHONPATH": str(self.checkout)}  # type: ignore[misc]


Served = TypeVar("Served", bound=OdaServe)


def before(target: type[Served], checkout: Path) -> type[Served]:
    """The same target, served by another checkout."""
    name = f"{target.name}-before"
    members = {"checkout": checkout, "name": name, "about": f"{target.about}, before"}
    return type("Before", (Before, target), members)


def _is_message(event: Mapping[str, Any]) -> bool:
    return bool(event["author"] == "user" and "text" in event["content"]["parts"][0])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
