"""The events of a single agent in the running turn. Pure functions over ADK events."""

from collections.abc import Iterable, Sequence

from google.adk.events import Event

from oda.agent.resume import ends_a_run, events_of, has_content


def said_by(
    events: Iterable[Event], author: str, node_path: str, invocation_id: str
) -> list[Event]:
    """Return the events with content that an agent has produced in a turn, in one graph node."""
    return [
        event
        for event in events_of(events, invocation_id)
        if event.author == author and event.node_info.path == node_path and has_content(event)
    ]


def concludes(event: Event) -> bool:
    """Return whether an agent may end with this event: an answer, a question or a transfer."""
    return ends_a_run(event) or event.actions.transfer_to_agent is not None


def put_node_input_before_its_record(
    events: list[Event], node_path: str, invocation_id: str
) -> None:
    """Make an LLM agent in a graph node see what it already did in this turn.

    ADK appends the node's input to the in-memory history just before the agent starts. On a retry,
    the node's earlier events (calls and results) precede the input and would be left out of the
    prompt, so the agent would start over. Moving the input before them makes the agent continue.
    The input is not stored, and ADK removes it itself.
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
