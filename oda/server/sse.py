"""A turn's log as server-sent events."""

import asyncio
from collections.abc import AsyncIterator

from starlette.responses import StreamingResponse

from oda.turn.log import Entry, TurnLog

HEARTBEAT_S = 15.0
_HEARTBEAT = b": keep-alive\n\n"


def event_stream(log: TurnLog, *, after: int, headers: dict[str, str]) -> StreamingResponse:
    """Stream a log from after the entry numbered `after` to its end."""
    return StreamingResponse(
        _frames(log, after),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no", **headers},
    )


async def _frames(log: TurnLog, position: int) -> AsyncIterator[bytes]:
    while True:
        entries = log.read(position)
        if entries:
            yield b"".join(map(encode, entries))
            position = entries[-1].number
        if log.closed and position >= log.last:
            return
        if not entries:
            try:
                await asyncio.wait_for(log.changed(position), HEARTBEAT_S)
            except TimeoutError:
                yield _HEARTBEAT


def encode(entry: Entry) -> bytes:
    """One entry as a frame: `id`, `event` and one line of `data`."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (entry.number, entry.kind.encode(), entry.json)
