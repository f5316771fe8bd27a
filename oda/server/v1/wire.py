"""Shapes of our resources on the wire, beside the records that are sent as they are."""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from google.adk.events import Event
from pydantic import BaseModel, ConfigDict, Field, field_validator

from oda.agent.description import AppDescription
from oda.agent.limits import Limits
from oda.message.json_integer import json_integer
from oda.message.protocol import ContentMessage, SpanEnd, SpanStart
from oda.public_network.urls import MAX_URL
from oda.server.idempotency import KeyField
from oda.server.openapi import DocumentedAs
from oda.server.socket_messages import RequestId
from oda.server.sse import LAST_NUMBER
from oda.server.v1.adk_event import AdkEvent
from oda.server.v1.user_message import Message
from oda.session.lane import OnBusy
from oda.session.listing import ListedSession
from oda.session.oda_session import OdaSession
from oda.turn.record import Turn
from oda.webhooks.notify import ALL_EVENTS, NotifyEvent

SentEvent = Annotated[dict[str, Any], DocumentedAs(AdkEvent)]
SentTurn = Annotated[dict[str, Any], DocumentedAs(Turn)]
SentMessage = Annotated[dict[str, Any], DocumentedAs(SpanStart | SpanEnd | ContentMessage)]

TurnId = Annotated[str, Field(max_length=128, pattern="^[!-~]+$")]
NewSessionId = Annotated[
    str, Field(min_length=1, max_length=128, json_schema_extra={"format": "id"})
]
"""See `check_id`."""
ClientState = Annotated[
    dict[str, Any],
    Field(json_schema_extra={"propertyNames": {"pattern": "^(?!user:|app:|temp:|_oda|_adk)"}}),
]
"""See `refuse_client_keys`."""


class Body(BaseModel):
    """Base of request bodies; unknown fields are refused, and nothing is taken for another type."""

    model_config = ConfigDict(extra="forbid", strict=True)


class AppList(BaseModel):
    apps: list[AppDescription]


class CreateSession(Body):
    session_id: NewSessionId | None = None
    state: ClientState | None = None


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


class RewindSession(Body):
    turn_id: Annotated[str, Field(max_length=128)]
    """This turn and all that followed it are taken back."""


class ForkSession(Body):
    turn_id: Annotated[str, Field(max_length=128)] | None = None
    """The last turn of the new session; by default the last that has ended."""
    session_id: NewSessionId | None = None
    """Id of the new session."""


class ArtifactResource(BaseModel):
    """The newest version of a file of the session, or of the user's if it begins with `user:`."""

    name: str
    version: int
    mime_type: str
    created_at: datetime


class ArtifactList(BaseModel):
    artifacts: list[ArtifactResource]


class StoredArtifact(BaseModel):
    """A version that has been uploaded."""

    name: str
    version: int
    mime_type: str
    size: int
    """In bytes."""


class EventList(BaseModel):
    events: list[SentEvent]
    next_after: str | None = None
    """Give it as `after` for the next page; null at the end."""


class ClientLimits(Limits):
    """Limits of one turn; those of the server hold as well."""

    model_config = ConfigDict(strict=True)

    @field_validator("model_calls", "tokens", mode="before")
    @classmethod
    def _integer(cls, value: Any) -> Any:
        return json_integer(value)


class TurnNotify(Body):
    """An address that is told of the turn, by a signed webhook."""

    url: Annotated[str, Field(min_length=1, max_length=MAX_URL)]
    """`http://…` or `https://…`, at a public address."""
    events: list[NotifyEvent] = Field(default=list(ALL_EVENTS), min_length=1, max_length=10)
    """What it is told: that the turn is final, that it waits for a person."""


class SubmitTurn(Body):
    """A message with its options."""

    message: Message
    agent: str | None = Field(None, min_length=1, max_length=128)
    on_busy: OnBusy = "queue"
    limits: ClientLimits | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    stream_tokens: bool | None = None
    """Partial texts in the stream; by default yes in a stream, no otherwise."""
    notify: TurnNotify | None = None
    """Who is told when the turn ends, or waits for a person."""


class TurnResult(BaseModel):
    """A turn that has ended."""

    turn: Turn
    reply: str
    events: list[SentEvent]


class CancelReceipt(Turn):
    """A turn that was to be cancelled, as it ended."""

    cancelled: bool
    """Whether the turn ended by cancellation, now or before."""


class TurnList(BaseModel):
    turns: list[Turn]
    next_cursor: str | None


class _Entry(BaseModel):
    id: int
    """Number of the entry in the turn's log, shared by all messages of one entry."""


class TurnEntry(_Entry):
    """The state of the turn at that time."""

    event: Literal["turn", "done"]
    data: SentTurn


class EventEntry(_Entry):
    """An event of the turn."""

    event: Literal["event"]
    data: SentEvent


class MessageEntry(_Entry):
    """A message of the message protocol."""

    event: Literal["span.start", "span.end", "content"]
    data: SentMessage


NumberedEntry = Annotated[TurnEntry | EventEntry | MessageEntry, Field(discriminator="event")]

TURN_EVENTS: Mapping[str, Any] = {
    "turn": Turn,
    "event": AdkEvent,
    "span.start": SpanStart,
    "span.end": SpanEnd,
    "content": ContentMessage,
    "done": Turn,
}
"""Types of the data in a turn's stream, by event name: events of ADK, or messages of the
protocol.
"""


class EntryList(BaseModel):
    entries: list[NumberedEntry]
    last: int
    """Number of the last entry there is."""
    done: bool


class InputResponse(Body):
    id: Annotated[str, Field(max_length=128)]
    confirmed: bool | None = None
    payload: Any = None


class AnswerInput(Body):
    responses: list[InputResponse] = Field(min_length=1, max_length=100)


class Command(Body):
    """Base of the messages of a WebSocket's client."""

    request_id: RequestId | None = None
    """Comes back with everything that is sent because of this message."""


class TurnCommand(Command, SubmitTurn):
    """A turn, as the body of the HTTP route; partial texts are sent unless they are not wanted."""

    idempotency_key: KeyField = None


class CancelCommand(Command):
    cancel: TurnId
    """Id of the turn to end."""


class InputCommand(Command, AnswerInput):
    input: TurnId
    """Id of the turn that waits for a person."""


class FollowCommand(Command):
    follow: TurnId
    """Id of the turn to follow."""
    after: int = Field(0, ge=0, le=LAST_NUMBER)
    """Number of the last entry seen."""


def session_resource(session: OdaSession | ListedSession, *, busy: bool) -> SessionResource:
    return SessionResource(
        app=session.app_name,
        user_id=session.user_id,
        session_id=session.session_id,
        created_at=datetime.fromtimestamp(session.created_at, UTC),
        updated_at=datetime.fromtimestamp(session.updated_at, UTC),
        busy=busy,
        turns=session.turns,
    )


def adk_event(event: Event) -> dict[str, Any]:
    return event.model_dump(mode="json", by_alias=True, exclude_none=True)


def etag(value: BaseModel | Mapping[str, Any]) -> str:
    """A strong validator for a JSON document."""
    data = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    text = json.dumps(data, sort_keys=True, ensure_ascii=False, default=str)
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'
