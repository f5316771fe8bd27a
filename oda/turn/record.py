"""The record of a turn, as clients see it."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from oda.agent.outcome import OpenQuestion

TurnStatus = Literal["queued", "running", "waiting_input", "succeeded", "failed", "cancelled"]

FINAL: frozenset[TurnStatus] = frozenset({"succeeded", "failed", "cancelled"})
ENDED: frozenset[TurnStatus] = FINAL | {"waiting_input"}
"""Final states, and that of a turn that waits for an answer."""


class TurnError(BaseModel):
    """Why a turn failed."""

    model_config = ConfigDict(frozen=True)

    code: str
    message: str
    retryable: bool
    """Whether the same message may succeed later."""


class TurnUsage(BaseModel):
    """Usage of a turn over all its attempts."""

    model_config = ConfigDict(frozen=True)

    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """None when no price is known."""


class Turn(BaseModel):
    """A user message and its outcome; immutable."""

    model_config = ConfigDict(frozen=True)

    turn_id: str
    app: str
    user_id: str
    session_id: str
    agent: str
    agent_version: str | None = None
    """Version of the app's definition in the process that accepted the turn."""
    pinned: bool = False
    """Whether only a process with that version runs it."""
    status: TurnStatus = "queued"
    attempts: int = 0
    reply: str = ""
    error: TurnError | None = None
    usage: TurnUsage = TurnUsage()
    pending_input: list[OpenQuestion] = []
    """Questions to a person that are not answered yet."""
    metadata: dict[str, Any] = {}
    """Metadata that the client submitted."""
    trace_id: str | None = None
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None

    @property
    def final(self) -> bool:
        """Whether the turn is in a final state."""
        return self.status in FINAL

    @property
    def ended(self) -> bool:
        """Whether the turn is final, or waits for a person."""
        return self.status in ENDED
