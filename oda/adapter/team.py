"""Teams of agents: handing over between them until the user is to answer."""

from collections.abc import Iterable, Mapping
from contextlib import aclosing
from typing import Any

from pydantic import BaseModel, JsonValue

from oda.adapter.protocol import (
    Agent,
    AgentAction,
    AgentInput,
    AgentMessage,
    AgentOutput,
    AgentStream,
)
from oda.errors import ConfigurationError, LimitExceededError

USER = "user"
"""Name of the user as a speaker in the history."""

_HISTORY = 200
_GO_ON = frozenset({AgentAction.CONTINUE, AgentAction.HANDOFF})
_STAY = frozenset({AgentAction.WAIT_INPUT, AgentAction.REQUEST_CONFIRM, AgentAction.SWITCH_TASK})


class WorkflowState(BaseModel):
    """All that is known of a workflow between two inputs, as JSON. Applications extend it."""

    history: list[AgentMessage] = []
    """The latest whole messages of the user and of all agents, the oldest first."""
    agent_states: dict[str, dict[str, JsonValue]] = {}
    """The exported state of each agent, by its name."""
    current_agent: str | None = None
    """The agent that gets the next input; None for the first agent of the team."""


class AgentTeam:
    """Agents by name, one of which is active at a time.

    A team belongs to one session while an input is processed; between inputs, all of its state is
    in the workflow's state.

    Args:
        agents: The first one gets the first input.
        max_hops: Maximum number of times that agents continue without the user, per input.

    Raises:
        ConfigurationError: two agents have the same name.
    """

    def __init__(self, agents: Iterable[Agent] = (), *, max_hops: int = 10) -> None:
        self._agents: dict[str, Agent] = {}
        self._max_hops = max_hops
        for agent in agents:
            self.register_agent(agent)

    def register_agent(self, agent: Agent) -> None:
        """Add an agent.

        Raises:
            ConfigurationError: its name is taken, or that of the user.
        """
        if agent.name in self._agents or agent.name == USER:
            raise ConfigurationError(
                f"The name {agent.name!r} is taken in this team.", remedy="give the agent another"
            )
        self._agents[agent.name] = agent

    @property
    def agent_names(self) -> tuple[str, ...]:
        """In the order in which they were registered."""
        return tuple(self._agents)

    async def run(
        self, state: WorkflowState, input: AgentInput, *, agent: str | None = None
    ) -> AgentStream:
        """Process an input; the last item is the output of the agent that ends it.

        An agent that continues (`CONTINUE`) is given an empty input. An agent that is handed over
        to is given the text of the other's output or, if that is not text, of the user's input; the
        other's output is in its context as `handed_over`, its name as `handed_over_by`. After
        `FINISH` the next input goes to the first agent again.

        Args:
            state: Updated after each agent: its state, the messages, and the next agent.
            agent: The agent that gets the input; by default the current agent.

        Raises:
            ConfigurationError: there is no agent, or none of the name given by another.
            LimitExceededError: the agents have exceeded `max_hops`.
            Exception: an agent has failed; the state is that before it was called.
        """
        name = agent or state.current_agent
        said = [AgentMessage(agent=USER, content=input.content)] if input.content else []
        told, spoken = input, list[AgentMessage]()
        for _ in range(self._max_hops):
            chosen = self._chosen(name)
            chosen.load_state(state.agent_states.get(chosen.name, {}))
            output = AgentOutput()
            async with aclosing(chosen.stream(told, state)) as items:
                async for item in items:
                    if isinstance(item, AgentOutput):
                        output = item
                    else:
                        yield item
            spoken.extend(output.messages)
            self._record(state, chosen, output, [*said, *output.messages])
            if output.action not in _GO_ON:
                yield output.model_copy(update={"messages": tuple(spoken)})
                return
            name, told, said = state.current_agent, _passed_on(input, chosen.name, output), []
        raise LimitExceededError(
            f"The agents have gone on among themselves {self._max_hops} times.",
            remedy="have one of them wait or finish, or raise max_hops",
        )

    def _record(
        self,
        state: WorkflowState,
        agent: Agent,
        output: AgentOutput,
        said: Iterable[AgentMessage],
    ) -> None:
        next_name: str | None = None
        if output.action is AgentAction.HANDOFF:
            next_name = self._chosen(output.next_agent or "").name
        elif output.action in _STAY or output.action is AgentAction.CONTINUE:
            next_name = agent.name
        state.agent_states = {**state.agent_states, agent.name: agent.export_state()}
        state.history = [*state.history, *said][-_HISTORY:]
        state.current_agent = next_name

    def _chosen(self, name: str | None) -> Agent:
        if not self._agents:
            raise ConfigurationError("The team has no agents.", remedy="register one")
        if name is None:
            return next(iter(self._agents.values()))
        if name not in self._agents:
            raise ConfigurationError(
                f"The team has no agent {name!r}.", remedy=f"use one of {list(self._agents)}"
            )
        return self._agents[name]


def _passed_on(input: AgentInput, by: str, output: AgentOutput) -> AgentInput:
    """Return the input for the next agent.

    The answer to a question is only for the agent that asked.
    """
    context: Mapping[str, Any] = {
        key: value for key, value in input.context.items() if key not in ("confirmed", "payload")
    }
    if output.action is AgentAction.CONTINUE:
        return AgentInput(context=context)
    came_to = output.content
    text = came_to if isinstance(came_to, str) and came_to else input.content
    return AgentInput(
        content=text, context={**context, "handed_over": came_to, "handed_over_by": by}
    )
