"""Turns in processes of their own, each of which stops at a given point until it is killed.

As a program it forks one process for each plan that comes on stdin, since starting Python and
importing ADK takes seconds. It writes a line when the process has reached its point, and one when
the process has ended. All lines are JSON.
"""

import asyncio
import os
import sys
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, get_args

from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.apps import App
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import START, Workflow
from pydantic import BaseModel

from oda import idempotency_key, idempotent
from oda.agent.oda_agent import OdaAgent
from oda.agent.resume import is_answer
from oda.clock import SystemClock
from oda.database.database import open_database
from oda.database.migrate import upgrade
from oda.session.sql_sessions import SqlSessions
from oda.testing import FakeClock, ScriptedModel
from oda.testing.script import Call, Echo, Match, Text, ToolCalls
from oda.tools.ledger import SqlToolLedger, ToolLedger

APP, USER = "travel", "user"
MESSAGE, ANSWER = "Book a journey to Rome.", "It is booked."
NEXT_MESSAGE, NEXT_ANSWER = "Thanks!", "You are welcome."

Root = Literal["llm", "sequential", "graph"]
Point = Literal[
    "message_stored",
    "call_stored",
    "before_effect",
    "after_effect",
    "other_call_ended",
    "result_stored",
    "answer_stored",
]
ROOTS: tuple[Root, ...] = get_args(Root)

Arrive = Callable[[Point], Awaitable[None]]
"""Called at each point of a turn."""


class Plan(BaseModel, frozen=True):
    """What is run, and where it stops."""

    root: Root
    point: Point
    database: str
    session_id: str
    effects: Path
    """Gets a line, the idempotency key, for each effect of the tool."""
    idempotent: bool = False
    ledger: bool = False
    """Whether there is a tool ledger, in the same database."""
    companion: bool = False
    """Whether another call is made with the booking, which ends after it has been recorded."""


class Reached(BaseModel, frozen=True):
    """The process has come to its point and waits."""

    pid: int
    invocation_id: str


class Ended(BaseModel, frozen=True):
    """The process is gone."""

    signal: int


_CALLS = (
    Call(name="book", args={"city": "Rome"}, id="c-book"),
    Call(name="look_around", id="c-look"),
)


class CallStored(BasePlugin):
    """Stops before a call begins."""

    def __init__(self, arrive: Arrive) -> None:
        super().__init__(name="call_stored")
        self._arrive = arrive

    async def before_tool_callback(self, **_: Any) -> None:
        await self._arrive("call_stored")


class Cast:
    """The agents of a plan: one that books; where there are two, one before it takes notes."""

    def __init__(self, plan: Plan, arrive: Arrive) -> None:
        self._arrive = arrive
        self._waits: Point = "message_stored"
        self.noting = ScriptedModel(
            default=Echo(prefix="Noted: ", times=None, delay_s=1), sleep=self._model_called
        )
        self.booking = ScriptedModel(
            steps=(
                Text(text=NEXT_ANSWER, match=Match(last_user=NEXT_MESSAGE), times=None),
                Text(text=ANSWER, match=Match(after_tool=True), times=None, delay_s=1),
                ToolCalls(calls=_CALLS if plan.companion else _CALLS[:1], delay_s=1),
            ),
            sleep=self._model_called,
        )
        self.ledger: ToolLedger | None = None
        self.app = App(name=APP, root_agent=self._root(plan), plugins=[CallStored(arrive)])
        self._effects = plan.effects

    async def _model_called(self, _: float) -> None:
        await self._arrive(self._waits)

    def _root(self, plan: Plan) -> Any:
        tool = idempotent(self._tool()) if plan.idempotent else self._tool()
        booker = LlmAgent(name="booker", model=self.booking, tools=[tool, self._other_tool()])
        if plan.root == "llm":
            return booker
        clerk = LlmAgent(name="clerk", model=self.noting)
        if plan.root == "graph":
            return Workflow(name="root", edges=[(START, clerk, booker)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return SequentialAgent(name="root", sub_agents=[clerk, booker])

    def _tool(self) -> Callable[..., Awaitable[dict[str, str]]]:
        async def book(city: str, tool_context: ToolContext) -> dict[str, str]:
            """Book a journey to a city."""
            await self._arrive("before_effect")
            with self._effects.open("a") as file:
                file.write(f"{idempotency_key(tool_context)}\n")
            await self._arrive("after_effect")
            self._waits = "result_stored"
            return {"booked": city}

        return book

    def _other_tool(self) -> Callable[..., Awaitable[str]]:
        async def look_around(tool_context: ToolContext) -> str:
            """Take as long as the other call."""
            assert self.ledger is not None
            async with asyncio.timeout(10):
                while not await self._is_booked(self.ledger, tool_context.invocation_id):
                    pass
            await self._arrive("other_call_ended")
            return "nice"

        return look_around

    async def _is_booked(self, ledger: ToolLedger, turn: str) -> bool:
        record = (await ledger.of_turn(turn)).get("c-book")
        return record is not None and record.ended


@asynccontextmanager
async def agent_of(plan: Plan, cast: Cast) -> AsyncIterator[OdaAgent]:
    """An agent on the plan's database, whose tables exist."""
    async with open_database(plan.database) as database:
        if plan.ledger:
            await upgrade(database.engine)
            cast.ledger = SqlToolLedger(database, SystemClock())
        service = SqlSessions(database)
        await service.prepare_tables()
        runner = Runner(app=cast.app, session_service=service)
        yield OdaAgent(runner, APP, USER, plan.session_id, clock=FakeClock(), ledger=cast.ledger)


async def run(plan: Plan) -> None:
    """Run a turn in a new session up to the plan's point, and stay there."""
    agent: OdaAgent

    async def arrive(point: Point) -> None:
        if point == plan.point:
            invocation_id = agent.get_agent_info()["invocation_id"]
            _say(Reached(pid=os.getpid(), invocation_id=invocation_id))
            await asyncio.Event().wait()

    async with agent_of(plan, Cast(plan, arrive)) as agent:
        await agent.runner.session_service.create_session(
            app_name=APP, user_id=USER, session_id=plan.session_id
        )
        async for event in agent.run_async(MESSAGE):
            if event.author == "booker" and is_answer(event):
                await arrive("answer_stored")


def _say(line: Reached | Ended) -> None:
    print(line.model_dump_json(), flush=True)


def main() -> None:
    for line in sys.stdin:
        plan = Plan.model_validate_json(line)
        pid = os.fork()
        if pid == 0:
            try:
                asyncio.run(run(plan))
            finally:
                sys.stderr.flush()
                os._exit(1)
        _, status = os.waitpid(pid, 0)
        _say(Ended(signal=os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0))


if __name__ == "__main__":
    main()
