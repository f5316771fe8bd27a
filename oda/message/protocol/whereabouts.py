"""Position of an event: the agents and nodes in which it occurred, outermost first."""

from collections.abc import Sequence
from dataclasses import dataclass

from google.adk.events import Event


@dataclass(frozen=True, slots=True)
class Place:
    """One agent or node at work."""

    key: str
    """The same for all events of this run of it."""
    name: str
    line: str | None = None
    """Tasks on the same line replace each other; None for a task that ends only by its own end."""


class Whereabouts:
    """Determines the positions of events. ADK identifies them in three ways.

    - The path `root@1/node@2` of graphs and transfers; the first element is the root.
    - The author alone, in sequences, loops and parallels; its caller is known from an earlier
      event's `current_sub_agent`, or precedes it in the branch.
    - Both, for such an agent inside a node.
    """

    def __init__(self) -> None:
        self._root: str | None = None
        self._callers: dict[str, str] = {}

    def of(self, event: Event) -> Sequence[Place]:
        """The places inside the turn, the root left out."""
        path = event.node_info.path or ""
        names = [segment.rsplit("@", 1)[0] for segment in path.split("/")] if path else []
        if self._root is None:
            self._root = names[0] if names else event.author
        self._learn(event)
        keys = ["/".join(path.split("/")[: n + 1]) for n in range(len(names))]
        places = [Place(key, name) for key, name in zip(keys, names, strict=True)][1:]
        if event.author not in (*names, self._root):
            places += self._called(path, event)
        return places

    def _learn(self, event: Event) -> None:
        called = (event.actions.agent_state or {}).get("current_sub_agent")
        if isinstance(called, str) and called:
            self._callers[called] = event.author
        *callers, last = (event.branch or "").split(".")
        if callers and last == event.author:
            self._callers.setdefault(last, callers[-1])

    def _called(self, path: str, event: Event) -> list[Place]:
        """The author and those that called it, up to the root or the node of the path."""
        names = [event.author]
        while (caller := self._callers.get(names[0])) and caller not in (*names, self._root):
            names.insert(0, caller)
        branch = (event.branch or "").split(".")
        places, line = [], f"{path}:"
        for name in names:
            depth = branch.index(name) if name in branch else None
            key = f"{line}>{name}" if depth is None else f"{path}:{'.'.join(branch[: depth + 1])}"
            places.append(Place(key, name, None if depth else line))
            line = key
        return places
