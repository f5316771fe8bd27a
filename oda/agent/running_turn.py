"""The turn that runs in a session: what was asked, and what has come of it so far."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from google.adk.agents.invocation_context import new_invocation_context_id
from google.adk.agents.run_config import RunConfig
from google.adk.sessions import Session
from google.genai.types import Content

from oda.agent.failure import Failure
from oda.agent.limits import TurnLimits, Usage
from oda.agent.model.gate import stand_in
from oda.agent.pump import Pump
from oda.agent.replay import RunKey
from oda.agent.resume import Repeat
from oda.errors import LimitExceededError
from oda.message.content import answers_a_call
from oda.tools.ledger import ToolLedger

Phase = Literal["running", "retrying", "failed"]


@dataclass(frozen=True)
class TurnRequest:
    """A message for an agent, or the continuation of a turn that the session holds already."""

    message: Content | None = None
    """None to continue the turn `turn_id` from what is stored of it."""
    turn_id: str | None = None
    """ADK's invocation id; None for a new one."""
    may_be_stored: bool = True
    """Whether the message may be in the session already, under `turn_id`; it is stored once."""
    state_delta: dict[str, Any] | None = None
    """State changes that are stored with the message."""
    run_config: RunConfig = field(default_factory=RunConfig)
    limits: TurnLimits | None = None
    """None for those of the agent."""

    @property
    def resumes(self) -> bool:
        """Whether the session is searched for events of the turn before it starts."""
        return self.message is None or (self.may_be_stored and self.turn_id is not None)


@dataclass
class RunningTurn:
    """The state of one turn while it runs, over all its attempts."""

    request: TurnRequest = field(default_factory=TurnRequest)
    limits: TurnLimits = field(default_factory=TurnLimits)
    ledger: ToolLedger | None = None
    started_at: float = 0.0
    """Epoch seconds."""
    turn_id: str | None = field(init=False)
    """None only while ADK looks up which call the message answers."""
    phase: Phase = field(default="running", init=False)
    retries: int = field(default=0, init=False)
    failure: Failure | None = field(default=None, init=False)
    """The failure of the last attempt, if it failed."""
    cancelled: bool = field(default=False, init=False)
    message_stored: bool = field(default=False, init=False)
    """Whether the message is in the session, for certain."""
    ended: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    usage: Usage = field(default_factory=Usage)
    pump: Pump = field(default_factory=Pump, init=False)

    # What the plugin keeps between its callbacks:
    uses_cheaper_model: bool = field(init=False)
    complete: Callable[[Session], Awaitable[None]] | None = None
    """Loads the events that agents need besides the most recent ones; see `History.complete`."""
    repeats: list[Repeat] = field(default_factory=list)
    idempotent_tools: dict[str, frozenset[str]] = field(default_factory=dict)
    """Idempotent tools among those last offered to an agent, by its name."""
    call_ids: set[str] = field(default_factory=set)
    """Ids of all function calls in the attempt."""
    reported: set[str] = field(default_factory=set)
    """Error codes in answers of models."""
    finished: dict[RunKey, list[bool]] = field(default_factory=dict)
    """Runs of agents that are skipped, each once; see `finished_runs`."""
    raised: Exception | None = None
    """The plugin's own exception: on its way out ADK wraps it, and a parallel agent loses it."""
    said: dict[tuple[str, str], int] = field(default_factory=dict)
    """Number of events of an agent in the turn when it started, by its name and node path."""

    def __post_init__(self) -> None:
        self.uses_cheaper_model = self.limits.cheaper_from_start
        request = self.request
        if request.message is None or request.resumes:
            self.turn_id = request.turn_id
        elif answers_a_call(request.message):
            self.turn_id = None  # ADK finds the turn that asked
        else:
            self.turn_id = request.turn_id or new_invocation_context_id()

    def cancel(self) -> None:
        """End the turn as soon as possible, whatever it is doing."""
        self.cancelled = True
        self.pump.stop()

    def check_limits(self, *, replaceable: bool) -> None:
        """Refuse a further model call when a limit is used up and no cheaper model takes over.

        Args:
            replaceable: Whether another model can take the place of the called one.

        Raises:
            LimitExceededError: naming the limit and its value.
        """
        try:
            self.usage.check(self.limits)
        except LimitExceededError as error:
            if self.limits.cheaper_model is None or self.uses_cheaper_model or not replaceable:
                self.raised = error
                raise
            self.limits = self.limits.raised(2)
            self.uses_cheaper_model = True
        stand_in.set(self.limits.cheaper_model if self.uses_cheaper_model else None)
