"""What an engine tells of its turns to whoever counts them."""

from typing import Protocol

from oda.turn.record import Turn


class TurnObserver(Protocol):
    """Is called on the event loop, in the order of what happens to a turn; it must not wait."""

    def accepted(self, turn: Turn) -> None:
        """A turn waits to be run: it is new, or what it asked has been answered."""
        ...

    def started(self, turn: Turn) -> None:
        """It runs."""
        ...

    def ended(self, turn: Turn) -> None:
        """It runs no more: it is final, or waits for a person, as its status says."""
        ...

    def left(self, turn: Turn) -> None:
        """It has not ended, but this node runs it no more: another has it, or will."""
        ...

    def recovered(self, turn: Turn) -> None:
        """This node goes on with a turn whose node died; `accepted` is not called for it."""
        ...

    def outcome_unknown(self, turn: Turn, tool: str) -> None:
        """A call of a tool was cut off, and nobody knows what it has done."""
        ...


class Unobserved:
    """Counts nothing."""

    def accepted(self, turn: Turn) -> None: ...

    def started(self, turn: Turn) -> None: ...

    def ended(self, turn: Turn) -> None: ...

    def left(self, turn: Turn) -> None: ...

    def recovered(self, turn: Turn) -> None: ...

    def outcome_unknown(self, turn: Turn, tool: str) -> None: ...
