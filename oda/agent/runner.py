"""A drop-in ADK Runner with the same retry and resume, for `adk web`, A2A and AG-UI servers."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from google.adk.agents.run_config import RunConfig
from google.adk.events import Event
from google.adk.runners import Runner as AdkRunner
from google.genai.types import Content

from oda.agent.attempt import RunAttempt
from oda.agent.limits import TurnLimits
from oda.agent.retry import RetryPolicy
from oda.agent.turn_loop import TurnLoop
from oda.clock import Clock, SystemClock
from oda.tools.ledger import ToolLedger


class Runner(AdkRunner):
    """`google.adk.runners.Runner` whose `run_async` retries, resumes, and never raises a failure.

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
        turn = TurnLoop(
            run_attempt=attempt_of(self),
            runner=self,
            user_id=user_id,
            session_id=session_id,
            policy=self.retry_policy,
            limits=self.limits,
            clock=self.clock,
            recent_events=self.recent_events,
            run_config=run_config or RunConfig(),
            on_phase=lambda _: None,
            ledger=self.ledger,
        )
        if new_message is None and invocation_id is None:
            raise ValueError("Running an agent requires a new_message or an invocation_id.")
        stream = (
            turn.go_on(invocation_id or "")
            if new_message is None
            else turn.begin(new_message, invocation_id=invocation_id, state_delta=state_delta)
        )
        watcher = (
            asyncio.create_task(_cancel_on(abort_signal, turn))
            if abort_signal is not None
            else None
        )
        try:
            async with aclosing(stream) as events:
                async for event in events:
                    yield event
        finally:
            if watcher is not None:
                watcher.cancel()
                await asyncio.wait({watcher})


def attempt_of(runner: AdkRunner) -> RunAttempt:
    """One plain ADK run of `runner`, without the retry of our own subclass."""
    if isinstance(runner, Runner):
        return super(Runner, runner).run_async
    return runner.run_async


async def _cancel_on(signal: asyncio.Event, turn: TurnLoop) -> None:
    await signal.wait()
    turn.cancel()
