"""`POST …/<step>`: each step of an orchestrator by itself, without a session."""

from collections.abc import Awaitable, Callable
from math import ceil
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from oda.agent.failure import Failure, classify
from oda.clock import Clock, utc
from oda.errors import OdaError
from oda.orchestration.model_access import StepContext
from oda.orchestration.orchestrator import Orchestrator
from oda.orchestration.rules import OrchestrationRules
from oda.orchestration.state import user_time_zone
from oda.orchestration.step import Step
from oda.server.conversations import AppConversations, Conversations
from oda.server.openapi import LARGE_BODY, problems
from oda.server.problems import Refusal

AnyStep = Step[Any, Any]


def steps_router(orchestrator: Orchestrator, clock: Clock) -> APIRouter:
    """A route for each step, with its models."""
    router = APIRouter()
    for step in orchestrator.steps:
        router.add_api_route(
            f"/{step.name}",
            _endpoint(step, orchestrator.leader.rules, clock),
            methods=["POST"],
            name=step.name.replace("-", "_"),
            summary=step.summary,
            response_model=step.response,
            openapi_extra=LARGE_BODY if step.takes_files else None,
            responses=problems(415, 501, 502),
        )
    return router


def _endpoint(
    step: AnyStep, rules: OrchestrationRules, clock: Clock
) -> Callable[..., Awaitable[BaseModel]]:
    """Calls a step; the annotation of `body` gives FastAPI the step's request model."""

    async def call(body: BaseModel, conversations: Conversations) -> BaseModel:
        return await call_step(step, body, conversations, rules, clock)

    call.__annotations__["body"] = step.request
    return call


async def call_step(
    step: AnyStep,
    body: BaseModel,
    conversations: AppConversations,
    rules: OrchestrationRules,
    clock: Clock,
) -> BaseModel:
    """Call a step by itself.

    Raises:
        Refusal: it has failed: 503 if it may succeed later, else 502.
    """
    context = await _context(conversations, rules, clock)
    try:
        answer: BaseModel = (await step(body, context)).response
    except OdaError:
        raise
    except Exception as error:
        failure = classify(error, now=clock.now())
        if failure.code == "programming_error":
            raise
        raise _refusal(failure) from error
    return answer


async def _context(
    conversations: AppConversations, rules: OrchestrationRules, clock: Clock
) -> StepContext:
    zone = user_time_zone(await conversations.user_state(), rules)
    return StepContext(user_id=conversations.user_id, now=utc(clock).astimezone(zone))


def _refusal(failure: Failure) -> Refusal:
    """Return 503 for temporary failures, 502 for others."""
    wait = failure.retry_after_s
    return Refusal(
        503 if failure.retryable else 502,
        failure.message,
        code=failure.code,
        details={} if wait is None else {"retry_after": max(1, ceil(wait))},
    )
