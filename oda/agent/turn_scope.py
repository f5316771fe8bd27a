"""What is known of a turn while it runs."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from google.adk.sessions import Session

from oda.agent.limits import TurnLimits, Usage
from oda.agent.model.in_place import stand_in
from oda.agent.replay import RunKey
from oda.agent.resume import Repeat
from oda.errors import LimitExceededError
from oda.tools.ledger import ToolLedger


@dataclass
class TurnScope:
    """What the plugin knows of the turn that runs in a session."""

    limits: TurnLimits = field(default_factory=TurnLimits)
    ledger: ToolLedger | None = None
    usage: Usage = field(default_factory=Usage)
    cheaper: bool = False
    """Whether the cheaper model has taken over."""
    invocation_id: str | None = None
    """Chosen before the turn begins; None only while ADK looks up which call a message answers."""
    complete: Callable[[Session], Awaitable[None]] | None = None
    """Loads what agents need besides the session's most recent events; see `History.complete`."""
    begun: bool = False
    """Whether a run has come so far that its message is stored."""
    repeats: list[Repeat] = field(default_factory=list)
    idempotent_tools: dict[str, frozenset[str]] = field(default_factory=dict)
    """By agent name: the tools it was last offered that are declared idempotent."""
    call_ids: set[str] = field(default_factory=set)
    """Of the function calls that models have asked for in the attempt."""
    reported: set[str] = field(default_factory=set)
    """Error codes with which models have answered."""
    finished: dict[RunKey, list[bool]] = field(default_factory=dict)
    """Runs that are skipped, each once; see `finished_runs`."""
    failure: Exception | None = None
    """What the plugin has raised; on its way out ADK wraps it, and a parallel loses it."""
    said: dict[tuple[str, str], int] = field(default_factory=dict)
    """By agent name and node: how many events it had in the turn when it was started."""

    def __post_init__(self) -> None:
        self.cheaper = self.limits.cheaper_from_start

    def check_limits(self, *, replaceable: bool) -> None:
        """Refuse a further model call when a limit is used up and no cheaper model takes over.

        Args:
            replaceable: Whether the called model can give way to another.

        Raises:
            LimitExceededError: naming the limit and its value.
        """
        try:
            self.usage.check(self.limits)
        except LimitExceededError as error:
            if self.limits.cheaper_model is None or self.cheaper or not replaceable:
                self.failure = error
                raise
            self.limits = self.limits.raised(2)
            self.cheaper = True
        stand_in.set(self.limits.cheaper_model if self.cheaper else None)
