"""Processes that run a turn, stop for ever at a point, and are killed there by a test."""

import asyncio
import multiprocessing
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import DatabaseSessionService, Session
from google.adk.tools.tool_context import ToolContext

from oda.agent.oda_agent import OdaAgent
from oda.session.services import database_engine
from oda.testing import FakeClock, ScriptedModel
from oda.testing.script import Call, Error, Match, Text, ToolCalls
from oda.tools.idempotency import idempotency_key, idempotent
from tests.support.roots import APP, GRAPH_OF_THREE, LLM, SEQUENTIAL, Cast, agents_of
from tests.support.transcript import transcript

Point = Literal[
    "nowhere",
    "message_stored",
    "model_called",
    "waiting_to_retry",
    "call_stored",
    "effect_done",
    "result_stored",
    "model_called_again",
    "answer_stored",
]

KINDS = {kind.name: kind for kind in (LLM, SEQUENTIAL, GRAPH_OF_THREE)}
USER, TURN = "user", "turn-1"
PATIENCE_S = 30.0


@dataclass(frozen=True)
class Life:
    """What a process is to do."""

    url: str
    """Of the database."""
    session: str
    kind: str
    tool: Literal["pay", "file"]
    """What the worker calls; `file` may run twice."""
    effects: Path
    """File to which the tool appends its name and its idempotency key."""
    stop_at: Point = "nowhere"


@dataclass(frozen=True)
class Afterlife:
    """What another process makes of it."""

    resumed: list[str]
    """What it yields when it goes on with the turn."""
    effects: list[str]
    """What tools have done by the end of the turn, in both processes."""
    again: list[str]
    """What it yields for the next message."""
    stored: list[str]


def run_until_killed(life: Life) -> None:
    """Begin a turn in a process and kill it with SIGKILL when it has come to its point.

    Raises:
        TimeoutError: it did not come there.
    """
    process, connection = _start(life, resume=False)
    try:
        if not connection.poll(PATIENCE_S):
            raise TimeoutError(f"the process did not come to {life.stop_at}")
        assert connection.recv() == life.stop_at
    finally:
        process.kill()
        process.join(PATIENCE_S)


def resume_in_a_new_process(life: Life) -> Afterlife:
    """Go on with the turn in another process, and then send another message."""
    process, connection = _start(life, resume=True)
    try:
        if not connection.poll(PATIENCE_S):
            raise TimeoutError("the process did not go on with the turn")
        afterlife = connection.recv()
        assert isinstance(afterlife, Afterlife)
        return afterlife
    finally:
        process.kill()
        process.join(PATIENCE_S)


def _start(life: Life, *, resume: bool) -> tuple[Any, Connection]:
    """A process that has all modules loaded: a fork of one that does nothing else."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    ours, theirs = context.Pipe()
    process = context.Process(target=_live, args=(life, resume, theirs), daemon=True)
    process.start()
    theirs.close()
    return process, ours


def _live(life: Life, resume: bool, connection: Connection) -> None:
    asyncio.run(_turn(life, resume, connection))


async def _turn(life: Life, resume: bool, connection: Connection) -> None:
    stop_at: Point = "nowhere" if resume else life.stop_at
    fate = Fate(stop_at, connection)
    kind = KINDS[life.kind]
    engine = database_engine(life.url)
    service = MortalStore(
        engine, fate, last_words=kind.after[-1] if kind.after else "worker: answer"
    )
    await service.prepare_tables()
    cast = Cast(tools=_tools(life, fate))
    app = kind.app(cast)
    [worker] = [agent for agent in agents_of(app.root_agent) if agent.name == "worker"]
    worker.model = MortalModel(steps=_steps(stop_at, life.tool), fate=fate)
    if not resume:
        await service.create_session(app_name=APP, user_id=USER, session_id=life.session)
    runner = Runner(app=app, session_service=service)
    agent = OdaAgent(runner, APP, USER, life.session, clock=MortalClock(fate))
    if resume:
        resumed = transcript([event async for event in agent.resume(TURN)])
        effects = life.effects.read_text().splitlines() if life.effects.exists() else []
        again = transcript([event async for event in agent.run_async("again")])
        session = await service.get_session(app_name=APP, user_id=USER, session_id=life.session)
        assert session is not None
        connection.send(Afterlife(resumed, effects, again, transcript(session.events)))
    else:
        async for _ in agent.run_async("hello", invocation_id=TURN):
            pass
    await engine.dispose()


def _steps(stop_at: Point, tool: str) -> Sequence[Any]:
    call = Call(name=tool, id=f"c-{tool}")
    down = [Error(status=503)] if stop_at == "waiting_to_retry" else []
    return [
        *down,
        Text(text="answer", match=Match(after_tool=True), times=None),
        ToolCalls(calls=(call,)),
        Text(text="answer", times=None),
    ]


def _tools(life: Life, fate: "Fate") -> list[Any]:
    async def run(name: str, context: ToolContext) -> str:
        await fate.reach("call_stored")
        with life.effects.open("a") as file:
            file.write(f"{name} {idempotency_key(context)}\n")
        await fate.reach("effect_done")
        return "done"

    async def pay(tool_context: ToolContext) -> str:
        """Pay."""
        return await run("pay", tool_context)

    @idempotent
    async def file(tool_context: ToolContext) -> str:
        """File."""
        return await run("file", tool_context)

    return [pay, file]


@dataclass
class Fate:
    """Where the process stops, and how it tells that it has."""

    stop_at: Point
    connection: Connection

    async def reach(self, point: Point) -> None:
        if point == self.stop_at:
            self.connection.send(point)
            await asyncio.Event().wait()


class MortalClock(FakeClock):
    """The process may stop while it waits."""

    def __init__(self, fate: Fate) -> None:
        super().__init__()
        self._fate = fate

    async def sleep(self, seconds: float) -> None:
        await self._fate.reach("waiting_to_retry")
        await super().sleep(seconds)


class MortalStore(DatabaseSessionService):
    """ADK's database service; the process may stop after it has committed an event."""

    def __init__(self, engine: Any, fate: Fate, *, last_words: str) -> None:
        super().__init__(db_engine=engine)
        self._fate = fate
        self._last_words = last_words

    async def append_event(self, session: Session, event: Event) -> Event:
        stored = await super().append_event(session, event)
        if event.author == "user" and event.content:
            await self._fate.reach("message_stored")
        elif event.author == "worker" and event.get_function_responses():
            await self._fate.reach("result_stored")
        elif transcript([event]) == [self._last_words]:
            await self._fate.reach("answer_stored")
        return stored


class MortalModel(ScriptedModel):
    """The worker's model; the process may stop while it thinks."""

    fate: Any

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = llm_request.contents[-1].parts or []
        again = any(part.function_response for part in parts)
        await self.fate.reach("model_called_again" if again else "model_called")
        async for response in super().generate_content_async(llm_request, stream):
            yield response
