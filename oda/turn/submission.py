"""Requests to an engine, in a form that can be stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from google.genai.types import Content
from pydantic import BaseModel, ConfigDict

from oda.agent.limits import TurnLimits
from oda.session.lane import OnBusy
from oda.session.user_storage import json_size
from oda.webhooks.notify import Notify


class TurnInput(BaseModel):
    """Input of a turn, stored with it so that any node can run it."""

    model_config = ConfigDict(frozen=True)

    message: Content
    stream_tokens: bool = False
    """Whether to stream partial text."""
    limits: TurnLimits | None = None
    state_delta: dict[str, Any] | None = None
    """State changes to store with the message."""
    grants: int = 0
    """How many times a person has granted the limits again."""
    is_drawn: bool = False
    """Whether each call is drawn from the user's day; else the usage is added at the end."""
    goes_beyond_day: bool = False
    """Whether a person has agreed to exceed the daily limits."""
    notify: tuple[Notify, ...] = ()
    """Who is told when the turn ends or waits."""

    @property
    def size(self) -> int:
        """Size of the message and the state changes in bytes, with files as bytes of JSON."""
        parts = self.message.parts or []
        files = sum(len(part.inline_data.data or b"") for part in parts if part.inline_data)
        others = [part.model_copy(update={"inline_data": None}) for part in parts]
        said = [part.model_dump(mode="json", exclude_none=True) for part in others]
        return 4 * files // 3 + json_size([said, self.state_delta or {}])

    def stored(self) -> dict[str, Any]:
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)


@dataclass(frozen=True)
class IdempotencyKey:
    """A client's key of a request: the same key and body mean the same turn."""

    key: str
    route: str
    body_hash: str


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
    key: IdempotencyKey | None = None
    turns_at_once: int | None = None
    """Maximum number of unfinished turns of the user; None for no limit."""
    notify: tuple[Notify, ...] = ()
    """Who is told when the turn ends or waits."""

    @property
    def input(self) -> TurnInput:
        return TurnInput(
            message=self.message,
            stream_tokens=self.stream_tokens,
            limits=self.limits,
            state_delta=dict(self.state_delta) if self.state_delta else None,
            notify=self.notify,
        )
