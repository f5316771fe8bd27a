"""A drop-in ADK Runner with the same retry and resume, for `adk web`, A2A and AG-UI servers."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from google.adk.agents.run_config import RunConfig
from google.adk.events import Event
from google.adk.runners import Runner as AdkRunner
from google.genai.types import Content

from oda.agent.attempt import BoundRunner
from oda.agent.history import History
from oda.agent.limits import TurnLimits
from oda.agent.retry import RetryPolicy
from oda.agent.running_turn import RunningTurn, TurnRequest
from oda.agent.turn_loop import TurnLoop
from oda.clock import Clock, SystemClock
from oda.tools.ledger import ToolLedger
from oda.tools.limits import ToolLimits


class Runner(AdkRunner):
    """An ADK `Runner` whose `run_async` retries and resumes, and never raises a turn's failure.

    Set `retry_policy`, `limits`, `recent_events`, `ledger` or `clock` on the instance to change the
    defaults.
    """

    retry_policy: RetryPolicy = RetryPolicy()
    limits: TurnLimits = TurnLimits()
    recent_events: int | None = None
    ledger: ToolLedger | None = None
    clock: Clock = SystemClock()

    async def run_async(
        self,
        *,
        user_id: str,
        session_id: str,
        invocation_id: str | None = None,
        new_message: Content | None = None,
        state_delta: dict[str, Any] | None = None,
        run_config: RunConfig | None = None,
        yield_user_message: bool = False,
        abort_signal: asyncio.Event | None = None,
    ) -> AsyncGenerator[Event, None]:
        if new_message is None and invocation_id is None:
            raise ValueError("Running an agent requires a new_message or an invocation_id.")
        loop = TurnLoop(
            bound_runner(self, user_id, session_id, self.recent_events),
            self.retry_policy,
            self.limits,
            self.clock,
            self.ledger,
        )
        turn = loop.start(
            TurnRequest(
                message=new_message,
                turn_id=invocation_id,
                state_delta=state_delta,
                run_config=run_config or RunConfig(),
            )
        )
        watcher = (
            asyncio.create_task(_cancel_on(abort_signal, turn))
            if abort_signal is not None
            else None
        )
        try:
            async with aclosing(loop.events(turn)) as events:
                async for event in events:
                    yield event
        finally:
            if watcher is not None:
                watcher.cancel()
                await asyncio.wait({watcher})


def bound_runner(
    runner: AdkRunner,
    user_id: str,
    session_id: str,
    recent_events: int | None,
    tool_limits: ToolLimits | None = None,
) -> BoundRunner:
    """Bind a Runner to a session, with ADK's plain `run_async` even for ODA's subclass."""
    run = super(Runner, runner).run_async if isinstance(runner, Runner) else runner.run_async
    key = (runner.app_name, user_id, session_id)
    history = History(runner.session_service, key, recent_events)
    return BoundRunner(runner, run, history, tool_limits or ToolLimits())


async def _cancel_on(signal: asyncio.Event, turn: RunningTurn) -> None:
    await signal.wait()
    turn.cancel()
