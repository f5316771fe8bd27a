"""A running turn: its request and its state so far."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from google.adk.agents.invocation_context import new_invocation_context_id
from google.adk.agents.run_config import RunConfig
from google.adk.sessions import Session
from google.genai.types import Content

from oda.agent.failure import Failure
from oda.agent.limits import TurnLimits, Usage
from oda.agent.model.gate import calls_left, stand_in
from oda.agent.pump import Pump
from oda.agent.replay import RunKey
from oda.agent.resume import Repeat
from oda.errors import LimitExceededError
from oda.message.content import answers_a_call
from oda.tools.client_tools import ClientTool
from oda.tools.ledger import ToolLedger

Phase = Literal["running", "retrying", "failed"]


@dataclass(frozen=True)
class TurnRequest:
    """A message for an agent, or the continuation of a stored turn."""

    message: Content | None = None
    """None to resume the turn `turn_id` from its stored events."""
    turn_id: str | None = None
    """ADK's invocation id; None for a new one."""
    may_be_stored: bool = True
    """Whether the message may already be stored under `turn_id`; it is stored only once."""
    state_delta: dict[str, Any] | None = None
    """State changes to store with the message."""
    run_config: RunConfig = field(default_factory=RunConfig)
    limits: TurnLimits | None = None
    """None for the agent's limits."""
    client_tools: Sequence[ClientTool] = ()
    """Tools that the client runs; offered to the models beside the agents' own."""
    context: str | None = None
    """What the agents' instructions are told in this turn only."""

    @property
    def resumes(self) -> bool:
        """Whether the session is searched for events of the turn before it starts."""
        return self.message is None or (self.may_be_stored and self.turn_id is not None)


@dataclass
class RunningTurn:
    """State of a turn while it runs, across all its attempts."""

    request: TurnRequest = field(default_factory=TurnRequest)
    limits: TurnLimits = field(default_factory=TurnLimits)
    ledger: ToolLedger | None = None
    started_at: float = 0.0
    """Epoch seconds."""
    turn_id: str | None = field(init=False)
    """None only until ADK finds the turn whose call the message answers."""
    phase: Phase = field(default="running", init=False)
    retries: int = field(default=0, init=False)
    failure: Failure | None = field(default=None, init=False)
    """The failure of the last attempt, if it failed."""
    cancelled: bool = field(default=False, init=False)
    message_stored: bool = field(default=False, init=False)
    """Whether the message is known to be stored."""
    ended: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    usage: Usage = field(default_factory=Usage)
    pump: Pump = field(default_factory=Pump, init=False)

    # State of the plugin between its callbacks
    uses_cheaper_model: bool = field(init=False)
    may_retry: Callable[[Exception], bool] = field(default=lambda _: False, repr=False)
    """Whether the turn would be tried again if its attempt failed with an error now."""
    complete: Callable[[Session], Awaitable[None]] | None = None
    """Loads the events that agents need besides the most recent ones; see `History.complete`."""
    repeats: list[Repeat] = field(default_factory=list)
    idempotent_tools: dict[str, frozenset[str]] = field(default_factory=dict)
    """Idempotent tools among those last offered to an agent, by its name."""
    offered: dict[str, frozenset[str]] = field(default_factory=dict)
    """Tools of the client among those last offered to an agent, by its name."""
    call_ids: set[str] = field(default_factory=set)
    """Ids of all function calls in the attempt."""
    reported: set[str] = field(default_factory=set)
    """Error codes that models have reported."""
    finished: dict[RunKey, list[bool]] = field(default_factory=dict)
    """Runs of agents to skip, once each; see `finished_runs`."""
    raised: Exception | None = None
    """Exception raised by the plugin, kept because ADK wraps it and a parallel agent loses it."""
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
        """Check that a further model call is allowed, switching to the cheaper model if possible.

        Args:
            replaceable: Whether the called model can be replaced by another.

        Raises:
            LimitExceededError: a limit is used up; the message names it.
        """
        try:
            self.usage.check(self.limits)
        except LimitExceededError as error:
            if self.limits.cheaper_model is None or self.uses_cheaper_model or not replaceable:
                self.raised = error
                raise
            self.limits = self.limits.raised(2)
            self.uses_cheaper_model = True
        limit = self.limits.model_calls
        calls_left.set(None if limit is None else limit - self.usage.model_calls)
        stand_in.set(self.limits.cheaper_model if self.uses_cheaper_model else None)
