"""Loop over the attempts of a turn, with waits in between, until an answer or a final notice."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from functools import partial
from typing import Any

from google.adk.events import Event

from oda.agent import notices, resume
from oda.agent.adk_roots import prepare_runner
from oda.agent.attempt import Attempt, BoundRunner
from oda.agent.failure import Failure, classify
from oda.agent.limits import TurnLimits
from oda.agent.retry import GiveUp, Retry, RetryPolicy
from oda.agent.running_turn import RunningTurn, TurnRequest
from oda.clock import Clock
from oda.errors import LimitExceededError
from oda.telemetry import get_logger
from oda.tools.ledger import ToolLedger

log = get_logger(__name__)


class TurnLoop:
    """Runs the turns of one session.

    Args:
        bound: The Runner; ODA adds two plugins to it.
        policy: When to retry and how long to wait.
        limits: Limits of a turn whose request has none.
        clock: Time and sleep.
        ledger: Records tool calls.
    """

    def __init__(
        self,
        bound: BoundRunner,
        policy: RetryPolicy,
        limits: TurnLimits,
        clock: Clock,
        ledger: ToolLedger | None = None,
    ) -> None:
        self._bound = bound
        self._policy = policy
        self._limits = limits
        self._clock = clock
        self._ledger = ledger

    def start(self, request: TurnRequest) -> RunningTurn:
        """Return the turn that `events` runs."""
        limits = request.limits or self._limits
        turn = RunningTurn(request, limits, self._ledger, started_at=self._clock.now())
        turn.may_retry = partial(self._may_retry, turn)
        return turn

    async def events(self, turn: RunningTurn) -> AsyncGenerator[Event, None]:
        """Run a turn to its end, and yield the events for the client.

        If a resumed turn has already ended in the session, its last events are yielded again and
        nothing is run.
        """
        plugin = prepare_runner(self._bound.runner)
        resuming = turn.request.resumes
        with plugin.watch(self._bound.history.key, turn):
            while not turn.cancelled:
                attempt = Attempt(self._bound, turn, resuming=resuming)
                limit = _TimeLimit(turn.limits.timeout_s, self._elapsed_s(turn))
                pumped = turn.pump.events(partial(attempt.events, limit.cut_off), within=limit)
                with self._record_failure(turn):
                    async with aclosing(pumped) as events:
                        async for event in events:
                            if event.error_code == "INVOCATION_ABORTED":
                                turn.cancelled = True
                            else:
                                attempt.shows(event)
                                yield event
                if turn.failure is None or turn.cancelled:
                    break
                notice, delay_s = self._decide(turn, turn.failure, attempt)
                if delay_s is None:
                    await self._close_open_calls(turn, "failed")
                    turn.phase = "failed"
                    yield notice
                    return
                turn.phase = "retrying"
                yield notice
                await self._wait(turn, delay_s)
                resuming = True
            if turn.cancelled:
                await self._close_open_calls(turn, "cancelled")
                yield notices.cancelled(
                    invocation_id=turn.turn_id or "", timestamp=self._clock.now()
                )

    @contextmanager
    def _record_failure(self, turn: RunningTurn) -> Iterator[None]:
        """Classify and log an attempt's exception, and store it as the turn's failure."""
        turn.failure = None
        try:
            yield
        except Exception as error:
            turn.failure = classify(error, now=self._clock.now())
            log.warning(
                "attempt_failed",
                code=turn.failure.code,
                retryable=turn.failure.retryable,
                invocation_id=turn.turn_id,
                reason=turn.failure.message,
                exc_info=error if turn.failure.code == "programming_error" else None,
            )

    def _may_retry(self, turn: RunningTurn, error: Exception) -> bool:
        failure = classify(error, now=self._clock.now())
        return isinstance(self._decision(turn, failure), Retry)

    def _decision(self, turn: RunningTurn, failure: Failure) -> Retry | GiveUp:
        return self._policy.decide(
            failure,
            retries=turn.retries,
            elapsed_s=self._elapsed_s(turn),
            time_limit_s=turn.limits.timeout_s,
        )

    def _decide(
        self, turn: RunningTurn, failure: Failure, attempt: Attempt
    ) -> tuple[Event, float | None]:
        """Return the notice for the client and the delay before a retry, None to give up."""
        decision = self._decision(turn, failure)
        turn_id, now = turn.turn_id or "", self._clock.now()
        if isinstance(decision, GiveUp):
            notice = notices.gave_up(
                failure,
                invocation_id=turn_id,
                retries=turn.retries,
                retries_exhausted=decision.retries_exhausted,
                discard_partial=attempt.partial_text,
                timestamp=now,
            )
            return notice, None
        turn.retries += 1
        notice = notices.retry_attempt(
            failure,
            invocation_id=turn_id,
            retry=turn.retries,
            max_retries=self._policy.max_retries,
            delay_s=decision.delay_s,
            discard_partial=attempt.partial_text,
            timestamp=now,
        )
        return notice, decision.delay_s

    async def _wait(self, turn: RunningTurn, delay_s: float) -> None:
        if not turn.cancelled:
            await turn.pump.run(partial(self._clock.sleep, delay_s))
            turn.phase = "running"

    async def _close_open_calls(self, turn: RunningTurn, reason: resume.SealReason) -> None:
        """Seal the turn's open calls; on failure, the session's next message will seal them."""
        if turn.turn_id is None:
            return
        try:
            stored = await self._bound.history.of_turn(turn.turn_id)
            if stored is not None:
                ledger = turn.ledger
                recorded = await ledger.of_turn(turn.turn_id) if ledger else None
                seals = resume.close_for_good(stored.events, reason, recorded)
                await self._bound.history.append(stored.session, seals)
                if ledger is not None:
                    await ledger.close_turn(turn.turn_id)
        except Exception as error:
            log.warning("calls_left_open", invocation_id=turn.turn_id, exc_info=error)

    def _elapsed_s(self, turn: RunningTurn) -> float:
        return self._clock.now() - turn.started_at


class _TimeLimit:
    """`asyncio.timeout` for the rest of a turn's time, raising a `LimitExceededError`."""

    def __init__(self, timeout_s: float | None, elapsed_s: float) -> None:
        self._limit = timeout_s
        self._reason: Exception | None = None
        self._timeout = asyncio.timeout(
            None if timeout_s is None else max(0.0, timeout_s - elapsed_s)
        )

    def cut_off(self, reason: Exception) -> None:
        """Time out now, raising `reason` instead of a `LimitExceededError`."""
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
