"""A step: one unit of work for a scene, stateless and callable from anywhere.

A step defines its request and response, its time limit, its retries, and its fallback. In an
orchestrator each call is a node of ADK's graph, so that a turn that fails later resumes after it;
over HTTP it is called directly.
"""

import asyncio
import inspect
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, get_type_hints

from pydantic import BaseModel

from oda.agent.failure import Failure, classify
from oda.agent.model.structured import MISSHAPEN
from oda.agent.retry import Retry, RetryPolicy
from oda.clock import Clock, SystemClock
from oda.errors import ConfigurationError
from oda.orchestration.model_access import StepContext
from oda.telemetry import get_logger

log = get_logger(__name__)

Req = TypeVar("Req", bound=BaseModel)
Res = TypeVar("Res", bound=BaseModel)

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")

ONCE_MORE = RetryPolicy(max_retries=1, initial_delay_s=0.2, max_delay_s=2.0, time_budget_s=5.0)
"""Default policy of steps: someone waits for the answer, so no retry starts late or waits
for long.
"""


@dataclass(frozen=True)
class Outcome(Generic[Res]):
    """The response of a step, with its attempts and failure."""

    response: Res
    attempts: int
    failure: Failure | None = None
    """Why the fallback has answered; None when the step itself has."""


@dataclass(frozen=True, kw_only=True)
class Step(Generic[Req, Res]):
    """A unit of work.

    Args:
        name: Lower-case words joined by dashes; the last part of its HTTP path.
        timeout_s: Time limit for all attempts together.
        retry: When to try again; None leaves it to the turn, which goes on at this step by its own
            policy. A step that is called by itself is then tried once.
        fallback: Answers when the last attempt has failed; without one the failure is raised, and a
            turn retries from this step by its own policy.
        takes_files: Whether its request may contain files, so that it may be large.
    """

    name: str
    request: type[Req]
    response: type[Res]
    run: Callable[[Req, StepContext], Awaitable[Res]]
    timeout_s: float = 30.0
    retry: RetryPolicy | None = ONCE_MORE
    fallback: Callable[[Req, StepContext, Exception], Res] | None = None
    takes_files: bool = False
    clock: Clock = field(default_factory=SystemClock, repr=False)

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ConfigurationError(
                f"{self.name!r} is no name for a step", remedy="use small letters and dashes"
            )

    @property
    def summary(self) -> str:
        """The first line of its documentation."""
        return (inspect.getdoc(self.run) or self.name).partition("\n")[0]

    async def __call__(self, request: Req, context: StepContext) -> Outcome[Res]:
        """Do it.

        Raises:
            TimeoutError: it took longer than `timeout_s` and has no fallback.
            Exception: it has failed and has no fallback.
        """
        began, attempts = self.clock.now(), 0
        limit = asyncio.timeout(self.timeout_s)
        try:
            async with limit:
                while True:
                    attempts += 1
                    try:
                        return Outcome(await self.run(request, context), attempts)
                    except Exception as error:
                        delay_s = self._delay_before_retry(error, attempts, began)
                        if delay_s is None or limit.expired():
                            raise
                    await self.clock.sleep(delay_s)
        except Exception as error:
            why = self._too_slow() if limit.expired() else error
            if self.fallback is None or self._is_left_to_turn(why, context):
                raise why from error.__cause__
            failure = classify(why, now=self.clock.now())
            log.warning(
                "step_fell_back",
                step=self.name,
                code=failure.code,
                reason=failure.message,
                exc_info=error if failure.code == "programming_error" else None,
            )
            return Outcome(self.fallback(request, context, why), attempts, failure)

    def _is_left_to_turn(self, error: Exception, context: StepContext) -> bool:
        turn = context.turn
        return self.retry is None and turn is not None and turn.may_retry(error)

    def _too_slow(self) -> TimeoutError:
        return TimeoutError(f"The step {self.name!r} took longer than {self.timeout_s:g} s.")

    def _delay_before_retry(self, error: Exception, attempts: int, began: float) -> float | None:
        if self.retry is None:
            return None
        now = self.clock.now()
        failure = classify(error, now=now)
        if self.fallback is not None and failure.error_type == MISSHAPEN:
            return None  # the model was told what was wrong, and has done it again
        decision = self.retry.decide(
            failure,
            retries=attempts - 1,
            elapsed_s=now - began,
            time_limit_s=self.timeout_s,
        )
        return decision.delay_s if isinstance(decision, Retry) else None


RunStep = Callable[[Step[Any, Any], BaseModel], Awaitable[BaseModel]]
"""Runs a step for a turn."""


def step(
    name: str,
    *,
    timeout_s: float = 30.0,
    retry: RetryPolicy | None = ONCE_MORE,
    fallback: Callable[[Any, StepContext, Exception], Any] | None = None,
    takes_files: bool = False,
) -> Callable[[Callable[[Req, StepContext], Awaitable[Res]]], Step[Req, Res]]:
    """Make a step of `async def name(request: Model, context: StepContext) -> Model`."""

    def made(run: Callable[[Req, StepContext], Awaitable[Res]]) -> Step[Req, Res]:
        hints = get_type_hints(run)
        request = hints[next(iter(inspect.signature(run).parameters))]
        return Step(
            name=name,
            request=request,
            response=hints["return"],
            run=run,
            timeout_s=timeout_s,
            retry=retry,
            fallback=fallback,
            takes_files=takes_files,
        )

    return made
