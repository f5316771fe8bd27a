"""A turn's log as server-sent events."""

from collections.abc import AsyncIterator, Mapping

from starlette.responses import StreamingResponse

from oda.context import OdaContext
from oda.server.turn_frames import Frame, View, turn_frames

_HEARTBEAT = b": keep-alive\n\n"


def event_stream(
    oda: OdaContext, turn_id: str, *, after: int, view: View, headers: Mapping[str, str]
) -> StreamingResponse:
    """Stream a turn's log from after the entry numbered `after`; see `turn_frames`."""
    return StreamingResponse(
        _encoded(oda, turn_id, after, view),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no", **headers},
    )


async def _encoded(oda: OdaContext, turn_id: str, after: int, view: View) -> AsyncIterator[bytes]:
    async for frames in turn_frames(oda.turns, turn_id, after, view):
        yield b"".join(map(encode, frames)) or _HEARTBEAT


def encode(frame: Frame) -> bytes:
    """One frame: `id` if it has a number, `event` and one line of `data`."""
    number = b"" if frame.number is None else b"id: %d\n" % frame.number
    return b"%sevent: %s\ndata: %s\n\n" % (number, frame.kind.encode(), frame.json)
