"""The tasks of a turn: what sub-agents and the nodes of graphs do."""

from collections.abc import Sequence

from google.adk.events import Event

from oda.message.protocol.open_spans import OpenSpans, cut_off
from oda.message.protocol.steps import Steps
from oda.message.protocol.whereabouts import Place, Whereabouts


class Tasks:
    """Writes tasks: each begins with the first thing it tells.

    It ends when ADK says that the agent or node has ended, when it hands over, or when the next
    one in its line begins; else with the turn.
    """

    def __init__(self, spans: OpenSpans, steps: Steps) -> None:
        self._spans = spans
        self._steps = steps
        self._whereabouts = Whereabouts()
        self._open: dict[str, tuple[Place, str]] = {}
        """The span of each open place, by its key."""
        self._run: str | None = None
        """Run id of the root agent; a new run begins when a sub-agent hands back to it."""
        self._leaving: str | None = None
        """Key of the place that has handed over."""

    def arrive(self, event: Event) -> Sequence[Place]:
        """Learn from an event where it happened, and end what that shows to be over."""
        places = self._whereabouts.of(event)
        here = {place.key for place in places}
        run = (event.node_info.path or "").split("/")[0] or None
        if run and self._run and run != self._run:
            for key in [key for key in self._open if key.startswith(f"{self._run}/")]:
                self._end(key)
        self._run = run or self._run
        if self._leaving is not None and self._leaving not in here:
            self._end(self._leaving)
            self._leaving = None
        return places

    def inside(self, places: Sequence[Place], root: str) -> str:
        """The span of a place; tasks are begun as needed."""
        parent = root
        for place in places:
            known = self._open.get(place.key)
            if known is not None and self._spans.is_open(known[1]):
                parent = known[1]
                continue
            self._end_line(place)
            parent = self._spans.start("TASK", place.name, inside=parent, agent=place.name)
            self._open[place.key] = place, parent
        return parent

    def leave(self, event: Event, places: Sequence[Place]) -> None:
        """End the tasks that end with an event."""
        if not places or event.partial:
            return
        last = places[-1]
        if event.actions.transfer_to_agent:
            self._leaving = last.key
        if event.actions.end_of_agent and last.name == event.author:
            self._end(last.key)
        for path in event.node_info.output_for or ():
            self._end(path)

    def _end_line(self, place: Place) -> None:
        if place.line is not None:
            for key in [key for key, (other, _) in self._open.items() if other.line == place.line]:
                self._end(key)

    def _end(self, key: str) -> None:
        """End a task, unless a tool call in it awaits a person."""
        if key not in self._open:
            return
        span_id = self._open[key][1]
        if self._steps.awaits_person(self._spans.with_all_inside(span_id)):
            return
        del self._open[key]
        self._spans.end(span_id, cut_off)
