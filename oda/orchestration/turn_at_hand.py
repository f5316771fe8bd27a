"""A message, and all that is known when it comes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from google.adk.events import Event
from google.genai.types import Content

from oda.orchestration.step import RunStep


@dataclass(frozen=True)
class TurnAtHand:
    """A message, and the session as it was before."""

    message: Content | None
    state: Mapping[str, Any]
    events: Sequence[Event]
    user_id: str
    session_id: str
    now: datetime
    """When the message was stored, in the user's time zone."""
    run_step: RunStep
