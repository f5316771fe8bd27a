"""A team of agents as a step: on record, metered, and gone on behind when a turn fails later."""

from collections.abc import Callable
from contextlib import aclosing
from typing import Generic, TypeVar

from pydantic import BaseModel

from oda.adapter.protocol import AgentInput, AgentOutput
from oda.adapter.team import AgentTeam, WorkflowState
from oda.adapter.usage import metered
from oda.agent.retry import RetryPolicy
from oda.message.storable import storable
from oda.orchestration.model_access import StepContext
from oda.orchestration.step import ONCE_MORE, Step

S = TypeVar("S", bound=WorkflowState)


class TeamRequest(BaseModel, Generic[S]):
    """The state of a workflow, and an input."""

    state: S
    input: AgentInput
    agent: str | None = None
    """Name of the agent that gets the input; by default the current agent."""


class TeamResponse(BaseModel, Generic[S]):
    """The workflow as it is then, and what it came to; the content of the output is JSON."""

    state: S
    output: AgentOutput


def team_step(
    name: str,
    team: Callable[[StepContext], AgentTeam],
    state: type[S],
    *,
    timeout_s: float = 120.0,
    retry: RetryPolicy = ONCE_MORE,
    fallback: Callable[[TeamRequest[S], StepContext, Exception], TeamResponse[S]] | None = None,
) -> Step[TeamRequest[S], TeamResponse[S]]:
    """Make a step in which a team works on one input until the user is to say something.

    A scene keeps the state between two turns in its data. A step that fails has changed nothing; it
    is retried from its beginning, so agents may be asked twice, and their tools called twice.
    Messages of agents are reported as they arrive (`StepContext.tell`), and are part of the output
    as well.

    Args:
        team: Builds a team for one input; its agents may call models through the context.
        state: The model of the workflow's state.
        timeout_s: Time limit for all agents and attempts together.
    """

    async def run(request: TeamRequest[S], context: StepContext) -> TeamResponse[S]:
        changed = request.state.model_copy(deep=True)
        whose = {"user_id": context.user_id, "session_id": context.session_id}
        told = request.input.model_copy(update={"context": {**request.input.context, **whose}})
        output = AgentOutput()
        with metered(context):
            async with aclosing(team(context).run(changed, told, agent=request.agent)) as items:
                async for item in items:
                    if isinstance(item, AgentOutput):
                        output = item
                    else:
                        context.tell({"message": item.model_dump(mode="json")})
        told_as_json = output.model_copy(update={"content": storable(output.content)})
        return TeamResponse[S](state=changed, output=told_as_json)

    run.__doc__ = f"Have the agents of {name!r} work on an input."
    return Step(
        name=name,
        request=TeamRequest[state],  # type: ignore[valid-type]
        response=TeamResponse[state],  # type: ignore[valid-type]
        run=run,
        timeout_s=timeout_s,
        retry=retry,
        fallback=fallback,
    )
