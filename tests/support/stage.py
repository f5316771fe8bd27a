"""A session with an `OdaAgent` in it, for tests of turns."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from google.adk.agents.run_config import RunConfig, StreamingMode  # type: ignore[attr-defined]
from google.adk.apps import App
from google.adk.events import Event
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.base_session_service import BaseSessionService

from oda.agent.oda_agent import OdaAgent
from oda.message.content import Message
from oda.testing import FakeClock, ScriptedModel
from oda.testing.scripted_model import InProcessStep
from tests.support.roots import APP, Cast, Kind
from tests.support.transcript import transcript

USER = "user"
PATIENCE_S = 20.0
"""No turn of a test takes longer, or it hangs."""

STREAMED = RunConfig(streaming_mode=StreamingMode.SSE)


class Stage:
    """One agent on one stored session, with a clock that never waits."""

    def __init__(self, agent: OdaAgent, cast: Cast, clock: FakeClock) -> None:
        self.agent = agent
        self.cast = cast
        self.clock = clock

    @property
    def model(self) -> ScriptedModel:
        """The worker's model."""
        return self.cast.model

    async def ask(self, message: Message = "hello", **options: Any) -> list[Event]:
        """Everything that a turn yields."""
        async with asyncio.timeout(PATIENCE_S):
            return [event async for event in self.agent.run_async(message, **options)]

    async def resume(self, invocation_id: str) -> list[Event]:
        async with asyncio.timeout(PATIENCE_S):
            return [event async for event in self.agent.resume(invocation_id)]

    async def stored(self) -> list[Event]:
        """The session's events, as a new process would load them."""
        session = await self.agent.runner.session_service.get_session(
            app_name=APP, user_id=USER, session_id=self.agent.session_id
        )
        assert session is not None
        return session.events

    async def history(self) -> list[str]:
        """What is stored, without the marks that attempts have failed."""
        return [line for line in transcript(await self.stored()) if "! " not in line]


async def stage(
    kind: Kind,
    steps: Sequence[InProcessStep] = (),
    *,
    tools: Sequence[Any] = (),
    service: BaseSessionService | None = None,
    history: Sequence[Event] = (),
    played: int = 0,
    change: Callable[[App], object] | None = None,
    clock: FakeClock | None = None,
    **options: Any,
) -> Stage:
    """A root of some kind in a new session.

    Args:
        steps: What the worker's model does.
        tools: Of the worker, besides `work`.
        service: By default in memory.
        history: What the session holds already.
        played: See `Cast.played`.
        change: Done to the app before it is used.
        clock: By default a new one.
        options: Of `OdaAgent`.
    """
    service = service or InMemorySessionService()
    session = await service.create_session(app_name=APP, user_id=USER)
    for event in history:
        await service.append_event(session, event.model_copy(deep=True))
    cast = Cast(steps=steps, tools=tools, played=played)
    app = kind.app(cast)
    if change is not None:
        change(app)
    clock = clock or FakeClock()
    runner = Runner(app=app, session_service=service)
    agent = OdaAgent(runner, APP, USER, session.id, clock=clock, **options)
    return Stage(agent, cast, clock)
