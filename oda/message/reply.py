"""The answer of a turn, for callers that want no events."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from google.adk.events import Event


@dataclass(frozen=True)
class Reply:
    """The result of a turn. `str(reply)` is its text."""

    text: str
    """The answer; empty when the turn failed, was cancelled, or waits for a person."""
    status: str
    """`succeeded`, `failed`, `cancelled` or `waiting_input`."""
    events: Sequence[Event]
    """Everything the turn yielded, in order, without partial texts."""
    invocation_id: str | None = None
    error: dict[str, Any] | None = None
    """`{code, message, retryable}` of a failed turn."""

    @property
    def ok(self) -> bool:
        return self.status == "succeeded"

    def __str__(self) -> str:
        return self.text
