"""Requests to and responses of an orchestrator, on the wire."""

from typing import Annotated, Any, Literal, Self

from google.genai.types import Content, Part
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from oda.message.storable import storable_text
from oda.orchestration.response import Response
from oda.server.idempotency import KeyField
from oda.server.orchestrator.media import Data, WebAddress, kind_of
from oda.server.socket_messages import RequestId
from oda.server.v1.wire import NewSessionId, TurnId
from oda.turn.record import TurnError

_MOST_PARTS = 20


class _Sent(BaseModel):
    """Base of what clients send; fields that are not known are ignored."""

    model_config = ConfigDict(strict=True, ser_json_bytes="base64")


def _storable(value: object) -> object:
    return storable_text(value) if isinstance(value, str) else value


class TextInput(_Sent):
    """Typed text."""

    type: Literal["text"]
    text: Annotated[str, BeforeValidator(_storable), Field(max_length=100_000)]

    def part(self) -> Part | None:
        return Part(text=self.text) if self.text.strip() else None


def _either_data_or_url(schema: dict[str, Any]) -> None:
    """One of the two is there, and is not null."""
    properties = schema["properties"]
    for name in ("data", "url"):
        properties[name] = properties[name]["anyOf"][0]
    # no `oneOf`, which generators of clients take for a choice of two types
    schema |= {
        "if": {"required": ["data"]},
        "then": {"not": {"required": ["url"]}},
        "else": {"required": ["url"]},
    }


class ImageInput(_Sent):
    """A picture: its data, or where it is."""

    model_config = ConfigDict(json_schema_extra=_either_data_or_url)

    type: Literal["image"]
    data: Data | None = None
    url: WebAddress | None = None
    mime_type: Annotated[str | None, Field(pattern="^image/", max_length=255)] = None
    """Media type; by default detected from the data."""

    @model_validator(mode="after")
    def _is_somewhere(self) -> Self:
        if (self.data is None) == (self.url is None):
            raise PydanticCustomError("image", "an image needs either data or url")
        return self

    def part(self) -> Part:
        if self.data is not None:
            kind = self.mime_type or kind_of(self.data, default="image/jpeg")
            return Part.from_bytes(data=self.data, mime_type=kind)
        return Part.from_uri(file_uri=self.url or "", mime_type=self.mime_type or "image/*")


class AudioInput(_Sent):
    """Recorded speech."""

    type: Literal["audio"]
    data: Data
    mime_type: Annotated[str | None, Field(pattern="^audio/", max_length=255)] = None
    """Media type; by default detected from the data."""

    def part(self) -> Part:
        kind = self.mime_type or kind_of(self.data, default="audio/wav")
        return Part.from_bytes(data=self.data, mime_type=kind)


AnyInput = Annotated[TextInput | ImageInput | AudioInput, Field(discriminator="type")]


def _listed(value: object) -> object:
    return value if isinstance(value, list) else [value]


Inputs = Annotated[
    list[AnyInput],
    BeforeValidator(
        _listed,
        json_schema_input_type=AnyInput
        | Annotated[list[AnyInput], Field(min_length=1, max_length=_MOST_PARTS)],
    ),
    Field(min_length=1, max_length=_MOST_PARTS),
]
"""One part, or several in their order."""


class ProcessRequest(_Sent):
    """A message to an orchestrator."""

    user_id: Annotated[
        str | None, Field(min_length=1, max_length=128, json_schema_extra={"format": "id"})
    ] = None
    """The user, on an open server; with a credential, that of the credential, or left out."""
    session_id: NewSessionId | None = None
    """Id of the conversation; a missing one is started, by default under a new id."""
    input: Inputs

    def content(self) -> Content | None:
        """Return the message for the turn; None if it is empty."""
        parts = [part for one in self.input if (part := one.part()) is not None]
        return Content(role="user", parts=parts) if parts else None

    def identity(self) -> dict[str, Any]:
        """Return the fields that make two requests different, as JSON."""
        return self.model_dump(mode="json", include=set(ProcessRequest.model_fields))


class ProcessCommand(ProcessRequest):
    """The same as a message of a WebSocket."""

    request_id: RequestId | None = None
    """Comes back with everything that is sent because of this message."""
    idempotency_key: KeyField = None


class FollowCommand(_Sent):
    """Asks for what comes of a turn that was sent before, maybe over another WebSocket."""

    user_id: str | None = None
    session_id: NewSessionId
    follow: TurnId
    request_id: RequestId | None = None


class TurnResponse(Response):
    """The response to a message."""

    turn_id: str | None = None
    """For `/v1/turns/{tid}`; null for an empty message, which starts no turn."""


class _Progress(BaseModel):
    turn_id: str
    session_id: str


class TurnAccepted(_Progress):
    """The turn is stored: it goes on even if the client leaves, and can be followed."""

    kind: Literal["accepted"] = "accepted"


class StepEnded(_Progress):
    """A step has given its answer."""

    kind: Literal["step"] = "step"
    step: str
    attempts: int
    fell_back: str | None = None
    """Why its fallback has answered."""


class Words(_Progress):
    """A piece of the reply while it is being written; the response takes the place of all pieces.

    After a `retry` the reply begins anew.
    """

    kind: Literal["words"] = "words"
    text: str


class Retrying(_Progress):
    """The turn has failed and will soon resume after the last completed step."""

    kind: Literal["retry"] = "retry"
    attempt: int
    max_retries: int
    delay_s: float
    error: TurnError


Progress = TurnAccepted | StepEnded | Words | Retrying
