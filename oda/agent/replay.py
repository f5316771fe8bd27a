"""Which runs of agents are finished when a turn goes on, so that they are not made again.

A sequence, loop or parallel starts its agents again from the last checkpoint that ADK has stored of
it, and where ADK stores none, inside a graph or behind a transfer, from the first. An agent whose
answer was stored after that is skipped.
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

from oda.agent.resume import is_error, says_something

RunKey = tuple[str, str | None]
"""Name of an agent, and the branch on which it ran."""


def agents_below(root: object) -> Iterator[BaseAgent]:
    """All agents of a tree, the root included, through graphs and sub-agents."""
    if isinstance(root, BaseAgent):
        yield root
    children = getattr(root, "sub_agents", None) or ()
    for child in (*children, *(getattr(getattr(root, "graph", None), "nodes", None) or ())):
        yield from agents_below(child)


def finished_runs(
    turn: Sequence[Event], root: object, *, from_checkpoints: bool
) -> dict[RunKey, list[Event]]:
    """The last events of the finished runs of LLM agents that would be made again, in order.

    `from_checkpoints` says whether ADK will go on from the checkpoints that are in the turn.
    """
    finished: dict[RunKey, list[Event]] = defaultdict(list)
    for agent in agents_below(root):
        parent = agent.parent_agent
        if not isinstance(agent, LlmAgent) or not _starts_again(parent):
            continue
        start = 1 + _last(turn, _is_checkpoint_of(parent.name)) if from_checkpoints else 0
        for index, event in enumerate(turn[start:], start):
            if event.author == agent.name and _ends_a_run(event):
                ended = _last(turn[index:], _is_end_of(agent.name)) >= 0
                if not (ended and isinstance(parent, ParallelAgent)):
                    finished[agent.name, event.branch].append(event)
    return finished


def ended_in_earlier_round(turn: Sequence[Event], parallel: ParallelAgent) -> list[str]:
    """Agents of a parallel that ADK takes for ended, though it was an earlier round of a loop."""
    begun = _last(turn, _is_checkpoint_of(parallel.name), _is_end_of(parallel.name))
    return [
        agent.name
        for agent in parallel.sub_agents
        if 0 <= _last(turn, _is_end_of(agent.name)) < begun
    ]


def interrupted_nodes(turn: Iterable[Event], root: object) -> list[Event]:
    """Error events for the agents in a graph that ADK would wrongly take for finished.

    It does so when the last that it has of a node is a text or a change of state. An agent node
    that has ended has a result on record; a failed one is run again.
    """
    agents = {agent.name for agent in agents_below(root)}
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
        Event(
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
        for event in last.values()
        if not (
            _is_result(event)
            or event.error_code
            or event.get_function_calls()
            or event.get_function_responses()
        )
    ]


def _starts_again(
    parent: BaseAgent | None,
) -> TypeGuard[SequentialAgent | LoopAgent | ParallelAgent]:
    return isinstance(parent, SequentialAgent | LoopAgent | ParallelAgent)


def _ends_a_run(event: Event) -> bool:
    return says_something(event) and not is_error(event) and event.is_final_response()


def _last(turn: Sequence[Event], *tests: Callable[[Event], bool]) -> int:
    """Index of the last event that passes one of the tests; -1 if none does."""
    return max((i for i, event in enumerate(turn) if any(t(event) for t in tests)), default=-1)


def _is_checkpoint_of(agent: str) -> Callable[[Event], bool]:
    return lambda event: event.author == agent and event.actions.agent_state is not None


def _is_end_of(agent: str) -> Callable[[Event], bool]:
    return lambda event: event.author == agent and bool(event.actions.end_of_agent)


def _is_result(event: Event) -> bool:
    return (
        event.output is not None
        or bool(event.node_info.message_as_output)
        or event.actions.route is not None
        or event.actions.transfer_to_agent is not None
    )
