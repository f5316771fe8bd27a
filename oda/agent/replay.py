"""Which runs of agents are finished when a turn goes on, so that they are not made again.

A sequence, loop or parallel starts its agents again from the last checkpoint that ADK has stored of
it, and where ADK keeps none, inside a graph or behind a transfer, from the first. An agent that had
finished after that is skipped.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.events import Event

from oda.agent.agent_tree import agents_below, is_composite, speaks_for
from oda.agent.resume import ends_a_run, is_waiting

RunKey = tuple[str, str | None]
"""Name of an agent, and the branch on which it ran."""


def finished_runs(
    turn: Sequence[Event], root: object, *, from_checkpoints: bool
) -> dict[RunKey, list[bool]]:
    """The finished runs that ADK would make again, in order.

    Each is told by whether it asked the loop around it to end. `from_checkpoints` says whether ADK
    goes on from the checkpoints that are in the turn.
    """
    finished: dict[RunKey, list[bool]] = defaultdict(list)
    for agent in agents_below(root):
        parent = agent.parent_agent
        if not is_composite(parent):
            continue
        start = 1 + _last(turn, _is_checkpoint_of(parent)) if from_checkpoints else 0
        since = turn[start:]
        if isinstance(parent, ParallelAgent) and _last(since, _is_end_of(agent)) >= 0:
            continue  # ADK sees to that itself
        inside = {below.name for below in agents_below(agent)}
        escalated = False
        for event in since:
            if event.author not in inside:
                continue
            escalated = escalated or bool(event.actions.escalate)
            if _finishes(event, agent):
                finished[agent.name, event.branch].append(escalated)
                escalated = False
    return finished


def ended_in_earlier_round(turn: Sequence[Event], parallel: ParallelAgent) -> list[str]:
    """Agents of a parallel that ADK takes for ended, though it was an earlier round of a loop."""
    begun = _last(turn, _is_checkpoint_of(parallel), _is_end_of(parallel))
    return [
        agent.name for agent in parallel.sub_agents if 0 <= _last(turn, _is_end_of(agent)) < begun
    ]


def interrupted_nodes(turn: Iterable[Event], root: object) -> list[Event]:
    """Error events for the agents in a graph that ADK would wrongly take for finished.

    It does so when the last that it has of a node is a text or a change of state, and with each
    sequence, loop or parallel. A node that has a result is finished; a failed one is run again.
    """
    agents = {agent.name: agent for agent in agents_below(root)}
    last: dict[str, Event] = {}
    for event in turn:
        known = last.get(event.node_info.path)
        if (
            event.author != "user"
            and event.node_info.name in agents
            and not (known and _is_result(known))
        ):
            last[event.node_info.path] = event
    return [
        _interrupted(event)
        for event in last.values()
        if not (event.error_code or _is_result(event) or is_waiting(event))
        and (is_composite(agents[event.node_info.name]) or not _is_about_a_call(event))
    ]


def _interrupted(event: Event) -> Event:
    return Event(
        author=event.author,
        invocation_id=event.invocation_id,
        branch=event.branch,
        error_code="INTERRUPTED",
        error_message="The agent was interrupted.",
        node_info=event.node_info.model_copy(
            update={"output_for": None, "message_as_output": None}
        ),
        isolation_scope=event.isolation_scope,
    )


def _finishes(event: Event, agent: BaseAgent) -> bool:
    if isinstance(agent, LlmAgent):
        return ends_a_run(event) and not is_waiting(event) and speaks_for(agent, event.author)
    return _is_end_of(agent)(event)


def _last(turn: Sequence[Event], *tests: Callable[[Event], bool]) -> int:
    """Index of the last event that passes one of the tests; -1 if none does."""
    return max((i for i, event in enumerate(turn) if any(t(event) for t in tests)), default=-1)


def _is_checkpoint_of(agent: BaseAgent) -> Callable[[Event], bool]:
    return lambda event: event.author == agent.name and event.actions.agent_state is not None


def _is_end_of(agent: BaseAgent) -> Callable[[Event], bool]:
    return lambda event: event.author == agent.name and bool(event.actions.end_of_agent)


def _is_about_a_call(event: Event) -> bool:
    return bool(event.get_function_calls() or event.get_function_responses())


def _is_result(event: Event) -> bool:
    return (
        event.output is not None
        or bool(event.node_info.message_as_output)
        or event.actions.route is not None
        or event.actions.transfer_to_agent is not None
    )
