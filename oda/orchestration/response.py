"""The answer of a scene, and the response to a client."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from oda.orchestration.classification import Classification

ContentKind = Literal["text", "voice", "card"]

RESPONSE_KEY = "oda_response"
"""Metadata of the event that answers a turn."""
TRACE_KEY = "oda_orchestration"
"""Metadata of the same event: how it came to that."""


class Problem(BaseModel):
    """A failure and its remedy."""

    model_config = ConfigDict(frozen=True)

    code: str
    message: str
    remedy: str | None = None


class Question(BaseModel):
    """A question that a turn waits for."""

    model_config = ConfigDict(frozen=True)

    message: str
    payload: JsonValue = None
    """The subject of the question, such as a draft."""
    response_schema: Mapping[str, JsonValue] | None = None
    """The shape of answers that are not just words, as a JSON Schema."""


class Reply(BaseModel):
    """The answer of a workflow in a turn.

    Clients see everything but `data`, which replaces the scene's stored data.
    """

    model_config = ConfigDict(frozen=True)

    text: str
    phase: str | None = None
    """The phase that comes next; None leaves it as it is."""
    data: Mapping[str, JsonValue] | None = None
    """The scene's new data; None leaves it unchanged."""
    user: Mapping[str, JsonValue] = {}
    """What is to be kept of the user in all sessions, by names without `user:`."""
    card: Mapping[str, JsonValue] | None = None
    """Turns the content into a card: title, items, or other data that the client can show."""
    suggested_actions: tuple[str, ...] = ()
    """Messages that would make sense next."""
    device_actions: tuple[Mapping[str, JsonValue], ...] = ()
    """Events for the client's device, such as `{"type": "dance"}`; only passed on."""
    problem: Problem | None = None
    """Makes the turn one without success."""
    asks: Question | None = None
    """Makes the turn wait; the answer is the scene's next message (see `asking.py`)."""
    means: Classification | None = None
    """What the message means after all, where the scene has found out more than was known: it is
    decided on anew, and this reply is dropped."""
    leaves: bool = False
    """Whether the scene has ended, so that the default scene becomes active."""


class Content(BaseModel):
    """`{type, text, …}`; a card has the fields that its scene gives it."""

    model_config = ConfigDict(extra="allow")

    type: ContentKind
    text: str


class Response(BaseModel):
    """The response of a turn to a client, whatever scene has answered."""

    success: bool
    content: Content
    trace_id: str | None = None
    session_id: str
    scene: str
    phase: str
    suggested_actions: list[str] = []
    need_tts: bool = False
    """Whether the text should be spoken: the user has spoken, too."""
    device_actions: list[dict[str, JsonValue]] = []
    error: Problem | None = None
    processing_time_ms: Annotated[float, Field(ge=0)] = 0.0
    timestamp: datetime


def content_of(reply: Reply, *, spoken: bool) -> Content:
    """The content of a reply; what was asked by voice is answered by voice."""
    if reply.card is not None:
        fields: dict[str, Any] = {**reply.card, "type": "card", "text": reply.text}
        return Content.model_validate(fields)
    return Content(type="voice" if spoken else "text", text=reply.text)
