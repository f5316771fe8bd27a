"""Limits of a tool call."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ToolLimits:
    """Limits of the tool calls of an agent."""

    threads: int = 16
    """How many synchronous tools run at a time."""
    timeout_s: float | None = 300.0
    """Seconds of one call; one that takes longer is cut off, and its outcome is unknown."""
    result_chars: int = 100_000
    """Most characters of a result; a longer one is cut off and says so."""
