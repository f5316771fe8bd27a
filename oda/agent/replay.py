"""Agent trees, and the finished runs in them that a resumed turn must not repeat.

ADK restarts the agents of a sequence, loop or parallel from its last stored checkpoint, or from the
first agent where it stores none: inside a graph or after a transfer. Agents that finished after
that point are skipped.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeGuard

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.loop_agent import LoopAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.events import Event

from oda.agent.resume import ends_a_run, is_waiting

RunKey = tuple[str, str | None]
"""Name and branch of an agent's run."""


def finished_runs(
    turn: Sequence[Event], root: object, *, from_checkpoints: bool
) -> dict[RunKey, list[bool]]:
    """Return the finished runs that ADK would repeat, in order.

    Args:
        turn: The turn's events.
        root: The root agent.
        from_checkpoints: Whether ADK resumes from the checkpoints in the turn.

    Returns:
        For each run, whether it escalated to end the loop around it.
    """
    finished: dict[RunKey, list[bool]] = defaultdict(list)
    for agent in agents_below(root):
        parent = agent.parent_agent
        if not is_composite(parent):
            continue
        start = 1 + _last(turn, _is_checkpoint_of(parent)) if from_checkpoints else 0
        since = turn[start:]
        if isinstance(parent, ParallelAgent) and _last(since, _is_end_of(agent)) >= 0:
            continue  # ADK skips it itself
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
    """Return the agents of a parallel that ended in an earlier round of the loop around it.

    ADK considers them finished in the current round.
    """
    begun = _last(turn, _is_checkpoint_of(parallel), _is_end_of(parallel))
    return [
        agent.name for agent in parallel.sub_agents if 0 <= _last(turn, _is_end_of(agent)) < begun
    ]


def interrupted_nodes(turn: Iterable[Event], root: object) -> list[Event]:
    """Return error events for agents in a graph that ADK would wrongly consider finished.

    ADK does so if a node's last event is a text or a state change, and for each sequence, loop or
    parallel. An error event makes it run the node again.
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
    """Return the index of the last event that passes one of the tests, or -1."""
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


Composite = SequentialAgent | LoopAgent | ParallelAgent


def is_composite(node: object) -> TypeGuard[Composite]:
    """Return whether a node is one of ADK's workflow agents, which only run other agents."""
    return isinstance(node, Composite)


def agents_below(node: object) -> Iterator[BaseAgent]:
    """Yield all agents of a tree, including its root, through graphs and sub-agents."""
    if isinstance(node, BaseAgent):
        yield node
    graph = getattr(node, "graph", None)
    for child in (*getattr(node, "sub_agents", ()), *getattr(graph, "nodes", ())):
        yield from agents_below(child)


def speaks_for(root: object, author: str) -> bool:
    """Return whether an answer of the agent `author` is an answer of `root`.

    That is so if all agents from `author` up to `root` are LLM agents.
    """
    if not isinstance(root, LlmAgent):
        return False
    agent = root.find_agent(author)
    while isinstance(agent, LlmAgent) and agent is not root:
        agent = agent.parent_agent
    return agent is root
