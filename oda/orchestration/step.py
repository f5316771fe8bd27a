"""A step: one thing that is done for a scene. It keeps no state, and can be called from anywhere.

A step knows what it takes and gives, how long it may take, how it is tried again, and what stands
in for it when it fails. In an orchestrator each call is a node of ADK's graph, so that a turn that
fails later goes on behind it; over HTTP it is called directly.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, get_type_hints

from pydantic import BaseModel

from oda.agent.failure import Failure, classify
from oda.agent.retry import Retry, RetryPolicy
from oda.clock import Clock, SystemClock
from oda.orchestration.model_access import StepContext
from oda.telemetry import get_logger

log = get_logger(__name__)

Req = TypeVar("Req", bound=BaseModel)
Res = TypeVar("Res", bound=BaseModel)

ONCE_MORE = RetryPolicy(max_retries=1, initial_delay_s=0.2, max_delay_s=2.0)
"""Of steps by default: somebody is waiting for the answer."""


@dataclass(frozen=True)
class Outcome(Generic[Res]):
    """What a step has answered, and how it came to that."""

    response: Res
    attempts: int
    failure: Failure | None = None
    """Why the fallback has answered; None when the step itself has."""


@dataclass(frozen=True, kw_only=True)
class Step(Generic[Req, Res]):
    """One thing that can be done.

    Args:
        name: In words with dashes; the last part of its HTTP path.
        timeout_s: For all attempts together.
        fallback: Answers when the last attempt has failed; without one the failure is raised, and
            a turn tries again at this step by its own policy.
    """

    name: str
    request: type[Req]
    response: type[Res]
    run: Callable[[Req, StepContext], Awaitable[Res]]
    timeout_s: float = 30.0
    retry: RetryPolicy = ONCE_MORE
    fallback: Callable[[Req, StepContext, Exception], Res] | None = None
    clock: Clock = field(default_factory=SystemClock, repr=False)

    @property
    def summary(self) -> str:
        """The first line of its documentation."""
        return (inspect.getdoc(self.run) or self.name).partition("\n")[0]

    async def __call__(self, request: Req, context: StepContext) -> Outcome[Res]:
        """Do it.

        Raises:
            Exception: it has failed and has no fallback.
        """
        began, attempts = self.clock.now(), 0
        try:
            async with asyncio.timeout(self.timeout_s):
                while True:
                    attempts += 1
                    try:
                        return Outcome(await self.run(request, context), attempts)
                    except Exception as error:
                        elapsed = self.clock.now() - began
                        failure = classify(error, now=self.clock.now())
                        decision = self.retry.decide(
                            failure, retries=attempts - 1, elapsed_s=elapsed
                        )
                        if not isinstance(decision, Retry):
                            raise
                        await self.clock.sleep(decision.delay_s)
        except Exception as error:
            if self.fallback is None:
                raise
            failure = classify(error, now=self.clock.now())
            log.warning("step_fell_back", step=self.name, code=failure.code, reason=failure.message)
            return Outcome(self.fallback(request, context, error), attempts, failure)


RunStep = Callable[[Step[Any, Any], BaseModel], Awaitable[BaseModel]]
"""Runs a step for a turn."""


def step(
    name: str,
    *,
    timeout_s: float = 30.0,
    retry: RetryPolicy = ONCE_MORE,
    fallback: Callable[[Any, StepContext, Exception], Any] | None = None,
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
        )

    return made
