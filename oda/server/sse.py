"""Server-sent events: the log of a turn, or other data sent in pieces."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Annotated

from fastapi import Depends, Header, Query
from starlette.responses import Response, StreamingResponse

from oda.context import OdaContext
from oda.server.turn_frames import Frame, View, turn_frames
from oda.turn.engine import TurnEngine

LAST_NUMBER = 2**53 - 1
"""Largest number of an entry: more than JSON can tell apart, no log has."""

StreamedAs = Annotated[
    View, Query(description="ADK events, or spans and content of the message protocol.")
]

WithPartials = Annotated[
    bool, Query(alias="partials", description="Whether text is sent while it is being written.")
]

TOLD = {"description": "The turn is final, and its last entry has been seen"}
"""Documentation of 204 for routes that answer with `followed_log`."""

SENT_AS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""Headers of a stream."""

_HEARTBEAT = b": keep-alive\n\n"


def _seen(
    after: Annotated[
        int, Query(ge=0, le=LAST_NUMBER, description="Number of the last entry seen.")
    ] = 0,
    last_event_id: Annotated[
        str | None, Header(pattern="^[0-9]{1,18}$", description="The same, as browsers send it.")
    ] = None,
) -> int:
    return after if last_event_id is None else int(last_event_id)


Seen = Annotated[int, Depends(_seen)]
"""Number of the last entry of a log that a client has seen."""


def event_stream(
    oda: OdaContext,
    turn_id: str,
    *,
    after: int,
    view: View,
    partials: bool,
    headers: Mapping[str, str],
) -> StreamingResponse:
    """Stream a turn's log from after the entry numbered `after`; see `turn_frames`."""
    frames = turn_frames(oda.turns, turn_id, after, view, previews=partials)
    return sse_response(frames, headers)


async def followed_log(
    turns: TurnEngine, turn_id: str, *, after: int, view: View, partials: bool
) -> Response:
    """Stream a turn's log to a client that reconnects after the last entry it has seen.

    If that was the last entry of a final turn, the answer is 204: a browser's `EventSource`
    reconnects whenever a stream ends, and only stops then.
    """
    if await turns.is_told(turn_id, after):
        return Response(status_code=204)
    return sse_response(turn_frames(turns, turn_id, after, view, previews=partials), {})


def sse_response(
    frames: AsyncIterator[Sequence[Frame]], headers: Mapping[str, str]
) -> StreamingResponse:
    """Stream frames as they come; no frame at all is sent as a heartbeat."""
    return StreamingResponse(
        _encoded(frames),
        media_type="text/event-stream",
        headers={**SENT_AS, **headers},
    )


async def _encoded(frames: AsyncIterator[Sequence[Frame]]) -> AsyncIterator[bytes]:
    async for some in frames:
        yield b"".join(map(encode, some)) or _HEARTBEAT


def encode(frame: Frame) -> bytes:
    """One frame: `id` if it has a number, `event` and one line of `data`."""
    number = b"" if frame.number is None else b"id: %d\n" % frame.number
    return b"%sevent: %s\ndata: %s\n\n" % (number, frame.kind.encode(), frame.json)
