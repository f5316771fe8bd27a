"""What is known of a turn while it runs."""

from dataclasses import dataclass, field

from oda.agent.limits import TurnLimits, Usage
from oda.agent.replay import RunKey
from oda.agent.resume import Repeat


@dataclass
class TurnScope:
    """What the plugin knows of the turn that runs in a session."""

    limits: TurnLimits = field(default_factory=TurnLimits)
    usage: Usage = field(default_factory=Usage)
    invocation_id: str | None = None
    """Chosen before the turn begins; None only while ADK looks up which call a message answers."""
    begun: bool = False
    """Whether a run has come so far that its message is stored."""
    repeats: list[Repeat] = field(default_factory=list)
    idempotent_tools: dict[str, frozenset[str]] = field(default_factory=dict)
    """By agent name: the tools it was last offered that are declared idempotent."""
    reported: set[str] = field(default_factory=set)
    """Error codes with which models have answered."""
    finished: dict[RunKey, list[bool]] = field(default_factory=dict)
    """Runs that are skipped, each once; see `finished_runs`."""
    failure: Exception | None = None
    """What the plugin has raised; on its way out ADK wraps it, and a parallel loses it."""
    said: dict[tuple[str, str], int] = field(default_factory=dict)
    """By agent name and node: how many events it had in the turn when it was started."""
