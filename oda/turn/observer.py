"""Notifications of an engine about its turns, for metrics."""

from typing import Protocol

from oda.turn.record import Turn


class TurnObserver(Protocol):
    """Called on the event loop, in the order of events of a turn; must not block."""

    def accepted(self, turn: Turn) -> None:
        """A turn is queued: it is new, or its question was answered."""
        ...

    def started(self, turn: Turn) -> None:
        """A turn starts."""
        ...

    def ended(self, turn: Turn) -> None:
        """A turn is final, or waits for a person."""
        ...

    def left(self, turn: Turn) -> None:
        """This node no longer runs the turn, which has not ended."""
        ...

    def recovered(self, turn: Turn) -> None:
        """This node takes over a turn, for which `accepted` is not called."""
        ...

    def outcome_unknown(self, turn: Turn, tool: str) -> None:
        """A tool call was cut off, with unknown outcome."""
        ...


class Unobserved:
    """Ignores all notifications."""

    def accepted(self, turn: Turn) -> None: ...

    def started(self, turn: Turn) -> None: ...

    def ended(self, turn: Turn) -> None: ...

    def left(self, turn: Turn) -> None: ...

    def recovered(self, turn: Turn) -> None: ...

    def outcome_unknown(self, turn: Turn, tool: str) -> None: ...
