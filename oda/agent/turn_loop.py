"""One turn of an agent: attempts, waits and resumes, until an answer or one final notice."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from google.adk.agents.invocation_context import new_invocation_context_id
from google.adk.agents.run_config import RunConfig
from google.adk.events import Event
from google.adk.runners import Runner as AdkRunner
from google.genai.types import Content

from oda.agent import notices, resume
from oda.agent.adk_roots import prepare_runner
from oda.agent.attempt import Attempt, RunAttempt, Work
from oda.agent.failure import Failure, classify
from oda.agent.history import History
from oda.agent.limits import TurnLimits, Usage
from oda.agent.pump import Pump
from oda.agent.retry import GiveUp, RetryPolicy
from oda.agent.turn_scope import TurnScope
from oda.clock import Clock
from oda.errors import LimitExceededError
from oda.message.content import answers_a_call
from oda.telemetry import get_logger
from oda.tools.ledger import ToolLedger
from oda.tools.limits import ToolLimits

log = get_logger(__name__)

Phase = Literal["running", "retrying"]


@dataclass
class TurnLoop:
    """Runs one turn of one session. Make one per turn; it may be watched and cancelled."""

    run_attempt: RunAttempt
    runner: AdkRunner
    user_id: str
    session_id: str
    policy: RetryPolicy
    limits: TurnLimits
    clock: Clock
    recent_events: int | None
    run_config: RunConfig
    on_phase: Callable[[Phase], None]
    tool_limits: ToolLimits = field(default_factory=ToolLimits)
    ledger: ToolLedger | None = None

    retries: int = 0
    failure: Failure | None = None
    """Why the last attempt failed; None when it did not."""
    cancelled: bool = False
    scope: TurnScope = field(init=False)
    _pump: Pump = field(default_factory=Pump, init=False)
    _history: History = field(init=False)
    _started: float = field(init=False)

    def __post_init__(self) -> None:
        self.scope = TurnScope(limits=self.limits, ledger=self.ledger)
        self._history = History(
            self.runner.session_service,
            (self.runner.app_name, self.user_id, self.session_id),
            self.recent_events,
        )
        self._started = self.clock.now()

    @property
    def usage(self) -> Usage:
        return self.scope.usage

    @property
    def invocation_id(self) -> str | None:
        return self.scope.invocation_id

    def cancel(self) -> None:
        """End the turn as soon as possible, whatever it is doing."""
        self.cancelled = True
        self._pump.stop()

    async def begin(
        self,
        message: Content,
        *,
        invocation_id: str | None = None,
        begun: bool = True,
        state_delta: dict[str, Any] | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Run a new turn for `message`, or go on with one that may have stored it already.

        `begun` says whether a turn of this id may have; it means nothing without an id.
        """
        resuming = begun and invocation_id is not None
        if answers_a_call(message):
            invocation_id = invocation_id if resuming else None
        else:
            invocation_id = invocation_id or new_invocation_context_id()
        self.scope.invocation_id = invocation_id
        async with aclosing(self._turn(message, state_delta, resuming=resuming)) as events:
            async for event in events:
                yield event

    async def go_on(self, invocation_id: str) -> AsyncGenerator[Event, None]:
        """Go on with a turn that was interrupted, from what the session holds of it.

        If it has ended there already, its last events are yielded again and nothing is run.
        """
        self.scope.invocation_id = invocation_id
        async with aclosing(self._turn(None, None, resuming=True)) as events:
            async for event in events:
                yield event

    async def _turn(
        self, message: Content | None, state_delta: dict[str, Any] | None, *, resuming: bool
    ) -> AsyncGenerator[Event, None]:
        plugin = prepare_runner(self.runner)
        work = Work(
            run=self.run_attempt,
            runner=self.runner,
            history=self._history,
            run_config=self.run_config,
            scope=self.scope,
            tool_limits=self.tool_limits,
            message=message,
            state_delta=state_delta,
            cancelled=lambda: self.cancelled,
        )
        with plugin.watch(self._history.key, self.scope):
            while not self.cancelled:
                attempt = Attempt(work, resuming=resuming)
                async with aclosing(self._watched(attempt)) as events:
                    async for event in events:
                        yield event
                if self.failure is None or self.cancelled:
                    break
                notice, delay_s = self._decide(self.failure, attempt)
                if delay_s is None:
                    await self._close_open_calls("failed")
                    yield notice
                    return
                self.on_phase("retrying")
                yield notice
                await self._wait(delay_s)
                resuming = True
            if self.cancelled:
                await self._close_open_calls("cancelled")
                yield notices.cancelled(
                    invocation_id=self.invocation_id or "", timestamp=self.clock.now()
                )

    async def _watched(self, attempt: Attempt) -> AsyncGenerator[Event, None]:
        """The events of one attempt; why it failed goes into `failure`."""
        self.failure = None
        limit = _time_limit(self.limits.timeout_s, self._elapsed_s())
        try:
            async with aclosing(
                self._pump.events(partial(attempt.events, limit.cut_off), within=limit)
            ) as events:
                async for event in events:
                    if event.error_code == "INVOCATION_ABORTED":
                        self.cancelled = True
                    else:
                        yield event
        except Exception as error:
            self.failure = classify(error, now=self.clock.now())
            log.warning(
                "attempt_failed",
                code=self.failure.code,
                retryable=self.failure.retryable,
                invocation_id=self.invocation_id,
                reason=self.failure.message,
                exc_info=error if self.failure.code == "programming_error" else None,
            )

    def _decide(self, failure: Failure, attempt: Attempt) -> tuple[Event, float | None]:
        """What to tell the client, and how long to wait; None when the turn is over."""
        decision = self.policy.decide(
            failure,
            retries=self.retries,
            elapsed_s=self._elapsed_s(),
            time_limit_s=self.limits.timeout_s,
        )
        invocation_id, now = self.invocation_id or "", self.clock.now()
        if isinstance(decision, GiveUp):
            notice = notices.gave_up(
                failure,
                invocation_id=invocation_id,
                retries=self.retries,
                retries_exhausted=decision.retries_exhausted,
                discard_partial=attempt.partial_text,
                timestamp=now,
            )
            return notice, None
        self.retries += 1
        notice = notices.retry_attempt(
            failure,
            invocation_id=invocation_id,
            retry=self.retries,
            max_retries=self.policy.max_retries,
            delay_s=decision.delay_s,
            discard_partial=attempt.partial_text,
            timestamp=now,
        )
        return notice, decision.delay_s

    async def _wait(self, delay_s: float) -> None:
        async def sleep() -> None:
            await self.clock.sleep(delay_s)

        if not self.cancelled:
            await self._pump.run(sleep)
            self.on_phase("running")

    async def _close_open_calls(self, reason: resume.SealReason) -> None:
        """Seal what the turn leaves open; if that fails, the session's next message does it."""
        if self.invocation_id is None:
            return
        try:
            turn = await self._history.of_turn(self.invocation_id)
            if turn is not None:
                recorded = await self.ledger.of_turn(self.invocation_id) if self.ledger else None
                seals = resume.close_for_good(turn.events, reason, recorded)
                await self._history.append(turn.session, seals)
                if self.ledger is not None:
                    await self.ledger.close_turn(self.invocation_id)
        except Exception as error:
            log.warning("calls_left_open", invocation_id=self.invocation_id, exc_info=error)

    def _elapsed_s(self) -> float:
        return self.clock.now() - self._started


class _time_limit:
    """`asyncio.timeout` for what is left of a turn's time, raising our own error."""

    def __init__(self, timeout_s: float | None, elapsed_s: float) -> None:
        self._limit = timeout_s
        self._reason: Exception | None = None
        self._timeout = asyncio.timeout(
            None if timeout_s is None else max(0.0, timeout_s - elapsed_s)
        )

    def cut_off(self, reason: Exception) -> None:
        """End what is limited now, for another reason than its time."""
        self._reason = self._reason or reason
        self._timeout.reschedule(asyncio.get_running_loop().time())

    async def __aenter__(self) -> None:
        await self._timeout.__aenter__()

    async def __aexit__(self, *exc_info: Any) -> None:
        try:
            await self._timeout.__aexit__(*exc_info)
        except TimeoutError as error:
            if self._timeout.expired() and self._reason is not None:
                raise self._reason from None
            if self._timeout.expired():
                raise LimitExceededError(
                    f"The turn took longer than its limit of {self._limit:g} s.",
                    remedy="raise ODA_TURN__TIMEOUT_S or ask for less in one turn",
                ) from error
            raise
