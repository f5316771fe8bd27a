"""What the history of the running turn holds of one agent. Pure functions over ADK events."""

from collections.abc import Iterable, Sequence

from google.adk.events import Event

from oda.agent.resume import ends_a_run, events_of, has_content


def said_by(
    events: Iterable[Event], author: str, node_path: str, invocation_id: str
) -> list[Event]:
    """What an agent has said in the turn, in one node if it stands in a graph."""
    return [
        event
        for event in events_of(events, invocation_id)
        if event.author == author and event.node_info.path == node_path and has_content(event)
    ]


def concludes(event: Event) -> bool:
    """Whether an agent may end with this event: an answer, a question, or another's turn."""
    return ends_a_run(event) or event.actions.transfer_to_agent is not None


def put_node_input_before_its_record(
    events: list[Event], node_path: str, invocation_id: str
) -> None:
    """Let an LLM agent in a graph node see what it already did in this turn.

    ADK appends the node's input to the in-memory history just before the agent starts, so after a
    failure the record of the node (its calls and their results) stands before the input and is
    left out of the prompt: the agent would begin again. Moved in front of that record, the input
    is followed by it, and the agent goes on. The input is not stored, and ADK removes it itself.
    """
    if not events or not node_path:
        return
    node_input = events[-1]
    if node_input.author != "user" or node_input.node_info.path != node_path:
        return
    first = _first_of_node(events[:-1], node_path, invocation_id)
    if first is not None:
        events.insert(first, events.pop())


def _first_of_node(events: Sequence[Event], node_path: str, invocation_id: str) -> int | None:
    return next(
        (
            index
            for index, event in enumerate(events)
            if event.invocation_id == invocation_id and event.node_info.path == node_path
        ),
        None,
    )
