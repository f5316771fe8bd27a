"""A response as it happens, and as it is."""

from collections.abc import AsyncIterator, Mapping

from openai.types.responses import Response as OpenAIResponse
from openai.types.responses import ResponseStreamEvent
from pydantic import BaseModel
from starlette.responses import Response, StreamingResponse

from oda.context import OdaContext
from oda.errors import TurnNotFoundError
from oda.server.openai.encoder import ResponseEncoder
from oda.server.openai.ids import ResponseId, ResponseNotFoundError
from oda.turn.record import Turn

_HEARTBEAT = b": keep-alive\n\n"
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


async def turn_of(oda: OdaContext, response_id: ResponseId, user: str) -> Turn:
    """Return the record of a response's turn.

    Raises:
        ResponseNotFoundError: the user has no such response.
    """
    try:
        return await oda.turns.get(response_id.turn_id, user)
    except TurnNotFoundError as error:
        raise ResponseNotFoundError(f"There is no response {str(response_id)!r}.") from error


async def current(oda: OdaContext, response_id: ResponseId) -> OpenAIResponse:
    """Return a response as it is now.

    Raises:
        ResponseNotFoundError: there is no such response.
    """
    encoder = ResponseEncoder(response_id)
    for entry in await oda.turns.entries(response_id.turn_id):
        encoder.feed(entry)
    if not (encoder.exists and encoder.begun):
        raise ResponseNotFoundError(f"There is no response {str(response_id)!r}.")
    return encoder.response


def streamed(
    oda: OdaContext,
    response_id: ResponseId,
    *,
    seen: int = -1,
    headers: Mapping[str, str] | None = None,
) -> StreamingResponse:
    """Stream the events of a response after the sequence number that its reader has."""
    return StreamingResponse(
        _events(oda, response_id, seen),
        media_type="text/event-stream",
        headers={**_HEADERS, **(headers or {})},
    )


async def _events(oda: OdaContext, response_id: ResponseId, seen: int) -> AsyncIterator[bytes]:
    encoder = ResponseEncoder(response_id, seen=seen)
    follower = oda.turns.follow(response_id.turn_id, 0, previews=True)
    while not (encoder.ended or follower.ended):
        try:
            items = await follower.read()
        except TurnNotFoundError:  # deleted meanwhile
            return
        told = [event for item in items for event in encoder.feed(item)]
        if told or not items:
            yield b"".join(map(_encoded, told)) or _HEARTBEAT


def _encoded(event: ResponseStreamEvent) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (event.type.encode(), as_bytes(event))


def answer(told: BaseModel, headers: Mapping[str, str] | None = None) -> Response:
    """Send an object of the protocol."""
    return Response(as_bytes(told), media_type="application/json", headers=headers)


def as_bytes(told: BaseModel) -> bytes:
    return told.model_dump_json(by_alias=True, exclude_unset=True).encode()
