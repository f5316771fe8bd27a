"""Shapes of our resources on the wire, beside the records that are sent as they are."""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from google.adk.events import Event
from pydantic import BaseModel, ConfigDict, Field

from oda.agent.description import AppDescription
from oda.agent.limits import TurnLimits
from oda.session.lane import OnBusy
from oda.session.oda_session import OdaSession
from oda.turn.record import Turn

AdkEvent = dict[str, Any]
"""An ADK event as ADK serialises it: camelCase, nulls left out."""


class Body(BaseModel):
    """Base of request bodies; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class AppList(BaseModel):
    apps: list[AppDescription]


class CreateSession(Body):
    session_id: str | None = None
    state: dict[str, Any] | None = None


class SessionResource(BaseModel):
    app: str
    user_id: str
    session_id: str
    created_at: datetime
    updated_at: datetime
    busy: bool
    turns: int
    """How many messages have been sent."""


class SessionList(BaseModel):
    sessions: list[SessionResource]
    next_cursor: str | None


class EventList(BaseModel):
    events: list[AdkEvent]
    next_after: str | None = None
    """Give it as `after` for the next page; null at the end."""


class SubmitTurn(Body):
    """A message and what its sender wants."""

    message: str | dict[str, Any]
    """A text, or `{"parts": […]}` in ADK's form."""
    agent: str | None = None
    on_busy: OnBusy = "queue"
    limits: TurnLimits | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    stream_tokens: bool | None = None
    """Partial texts in the stream; by default yes in a stream, no otherwise."""


class TurnResult(BaseModel):
    """A turn that has ended."""

    turn: Turn
    reply: str
    events: list[AdkEvent]


class TurnList(BaseModel):
    turns: list[Turn]
    next_cursor: str | None


class NumberedEntry(BaseModel):
    id: int
    event: Literal["turn", "event", "done"]
    data: dict[str, Any]


class EntryList(BaseModel):
    entries: list[NumberedEntry]
    last: int
    """Number of the last entry there is."""
    done: bool


class InputResponse(Body):
    id: str
    confirmed: bool | None = None
    payload: Any = None


class AnswerInput(Body):
    responses: list[InputResponse] = Field(min_length=1)


def session_resource(session: OdaSession) -> SessionResource:
    return SessionResource(
        app=session.app_name,
        user_id=session.user_id,
        session_id=session.session_id,
        created_at=datetime.fromtimestamp(session.created_at, UTC),
        updated_at=datetime.fromtimestamp(session.updated_at, UTC),
        busy=session.busy,
        turns=session.turns,
    )


def adk_event(event: Event) -> AdkEvent:
    return event.model_dump(mode="json", by_alias=True, exclude_none=True)


def etag(value: BaseModel | Mapping[str, Any]) -> str:
    """A strong validator for a JSON document."""
    data = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    text = json.dumps(data, sort_keys=True, ensure_ascii=False, default=str)
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'
