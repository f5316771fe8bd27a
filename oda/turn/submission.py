"""Requests to an engine, in a form that can be stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from google.genai.types import Content
from pydantic import BaseModel, ConfigDict

from oda.agent.limits import TurnLimits
from oda.session.lane import OnBusy
from oda.session.user_storage import json_size
from oda.tools.client_tools import ClientTool


class TurnInput(BaseModel):
    """Input of a turn, stored with it so that any node can run it."""

    model_config = ConfigDict(frozen=True)

    message: Content
    stream_tokens: bool = False
    """Whether to stream partial text."""
    limits: TurnLimits | None = None
    state_delta: dict[str, Any] | None = None
    """State changes to store with the message."""
    client_tools: tuple[ClientTool, ...] = ()
    """Tools that the client runs."""
    context: str | None = None
    """What the agents' instructions are told in this turn only."""
    grants: int = 0
    """How many times a person has granted the limits again."""
    is_drawn: bool = False
    """Whether each call is drawn from the user's day; else the usage is added at the end."""
    goes_beyond_day: bool = False
    """Whether a person has agreed to exceed the daily limits."""

    @property
    def size(self) -> int:
        """Size of the message and the state changes in bytes, with files as bytes of JSON."""
        parts = self.message.parts or []
        files = sum(len(part.inline_data.data or b"") for part in parts if part.inline_data)
        others = [part.model_copy(update={"inline_data": None}) for part in parts]
        said = [part.model_dump(mode="json", exclude_none=True) for part in others]
        tools = [tool.model_dump() for tool in self.client_tools]
        brought = [tools, self.context] if tools or self.context else []
        return 4 * files // 3 + json_size([said, self.state_delta or {}, *brought])

    def stored(self) -> dict[str, Any]:
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)


@dataclass(frozen=True)
class IdempotencyKey:
    """A client's key of a request: the same key and body mean the same turn."""

    key: str
    route: str
    body_hash: str


@dataclass(frozen=True)
class Brought:
    """What a client brings with an answer, besides the answer itself."""

    state_delta: Mapping[str, Any] | None = None
    client_tools: Sequence[ClientTool] = ()
    context: str | None = None
    key: IdempotencyKey | None = None


@dataclass(frozen=True)
class Submission:
    """A message to a session, with the options of its sender."""

    message: Content
    agent: str | None = None
    on_busy: OnBusy = "queue"
    limits: TurnLimits | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    stream_tokens: bool = False
    """Whether to stream partial text."""
    state_delta: Mapping[str, Any] | None = None
    client_tools: Sequence[ClientTool] = ()
    """Tools that the client runs: a call of one ends the run, and its result is an answer."""
    context: str | None = None
    """What the agents' instructions are told in this turn only."""
    key: IdempotencyKey | None = None
    turns_at_once: int | None = None
    """Maximum number of unfinished turns of the user; None for no limit."""

    @property
    def input(self) -> TurnInput:
        return TurnInput(
            message=self.message,
            stream_tokens=self.stream_tokens,
            limits=self.limits,
            state_delta=dict(self.state_delta) if self.state_delta else None,
            client_tools=tuple(self.client_tools),
            context=self.context,
        )
