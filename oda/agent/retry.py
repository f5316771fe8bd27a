"""Retry policy, built from tenacity's strategies."""

from dataclasses import dataclass
from functools import cached_property

from tenacity import RetryCallState, retry_base, stop_after_attempt, wait_exponential, wait_random
from tenacity.stop import stop_base
from tenacity.wait import wait_base

from oda.agent.failure import Failure
from oda.config.records import RetryRecord


@dataclass(frozen=True)
class Retry:
    """Decision to retry after `delay_s` seconds."""

    delay_s: float


@dataclass(frozen=True)
class GiveUp:
    """Decision not to retry: the failure is permanent, or the retries are exhausted."""

    retries_exhausted: bool


class RetryPolicy(RetryRecord):
    """Decides whether to retry a failed attempt, and after which delay."""

    def decide(
        self,
        failure: Failure,
        *,
        retries: int,
        elapsed_s: float,
        time_limit_s: float | None = None,
    ) -> Retry | GiveUp:
        """Decide whether to retry.

        A `Retry-After` longer than the computed delay is honoured, unless the wait would exceed the
        policy's time budget or `time_limit_s`.

        Args:
            failure: The failure of the last attempt.
            retries: Number of retries so far.
            elapsed_s: Seconds since the turn began.
            time_limit_s: The turn's own limit in seconds; None for no limit.
        """
        state = _call_state(failure, attempt=retries + 1)
        if not self._condition(state):
            return GiveUp(retries_exhausted=False)
        if self._stop(state):
            return GiveUp(retries_exhausted=True)
        delay = self._wait(state)
        for budget_s in (self.time_budget_s, time_limit_s):
            if budget_s is not None and elapsed_s + delay > budget_s:
                return GiveUp(retries_exhausted=True)
        return Retry(delay_s=delay)

    @cached_property
    def _condition(self) -> retry_base:
        return _retry_if_it_may_pass()

    @cached_property
    def _stop(self) -> stop_base:
        return stop_after_attempt(self.max_retries + 1)

    @cached_property
    def _wait(self) -> wait_base:
        wait: wait_base = wait_exponential(
            multiplier=self.initial_delay_s, exp_base=self.multiplier, max=self.max_delay_s
        )
        if self.jitter_s:
            wait = wait + wait_random(0, self.jitter_s)
        return _wait_at_least_retry_after(wait)


class _FailedAttempt(Exception):
    """Carries a failure through tenacity's call state."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class _retry_if_it_may_pass(retry_base):
    def __call__(self, retry_state: RetryCallState) -> bool:
        return _failure_of(retry_state).retryable


class _wait_at_least_retry_after(wait_base):
    def __init__(self, wait: wait_base) -> None:
        self.wait = wait

    def __call__(self, retry_state: RetryCallState) -> float:
        return max(self.wait(retry_state), _failure_of(retry_state).retry_after_s or 0.0)


def _call_state(failure: Failure, *, attempt: int) -> RetryCallState:
    state = RetryCallState(retry_object=None, fn=None, args=(), kwargs={})  # type: ignore[arg-type]
    state.attempt_number = attempt
    error = _FailedAttempt(failure)
    state.set_exception((_FailedAttempt, error, None))
    return state


def _failure_of(state: RetryCallState) -> Failure:
    assert state.outcome is not None
    error = state.outcome.exception()
    assert isinstance(error, _FailedAttempt)
    return error.failure
