"""Messages received on a WebSocket: JSON objects, validated like the bodies of HTTP requests."""

import json
from typing import Annotated, Any, TypeVar

from fastapi.exceptions import WebSocketRequestValidationError
from pydantic import BaseModel, ConfigDict, Field, Strict, ValidationError

from oda.errors import MalformedError
from oda.server.json_limits import find_json_fault
from oda.settings import LimitSettings

RequestId = Annotated[str, Strict(), Field(max_length=255)] | Annotated[int, Strict()]

AnyModel = TypeVar("AnyModel", bound=BaseModel)


class Envelope(BaseModel):
    """The fields of a message that are read before it is validated."""

    model_config = ConfigDict(extra="ignore")

    request_id: RequestId | None = None


async def read_message(text: str | None, limits: LimitSettings) -> dict[str, Any]:
    """The fields of a message.

    Args:
        text: None for a binary message.

    Raises:
        MalformedError: it is no JSON object.
    """
    if text is None:
        raise MalformedError("Messages must be text, not binary.")
    encoded = text.encode()
    if fault := await find_json_fault(encoded, limits):
        raise MalformedError(fault.replace("The body", "The message"))
    try:
        fields = json.loads(encoded)
    except ValueError:
        raise MalformedError("The message is not valid JSON.") from None
    if not isinstance(fields, dict):
        raise MalformedError("A message must be a JSON object.")
    return fields


def valid(model: type[AnyModel], fields: dict[str, Any]) -> AnyModel:
    """Validate the fields of a message.

    Raises:
        WebSocketRequestValidationError: the fields are invalid.
    """
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        wrong = error.errors(include_context=False, include_input=False, include_url=False)
        raise WebSocketRequestValidationError(
            [{**one, "loc": ("message", *one["loc"])} for one in wrong]
        ) from None
