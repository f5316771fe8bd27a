"""What is sent to the client of a WebSocket."""

import asyncio
from contextlib import suppress

from fastapi import WebSocket
from pydantic_core import to_json
from starlette.websockets import WebSocketDisconnect

from oda.server.problems import problem_of
from oda.server.turn_frames import Frame
from oda.server.v1.wire import RequestId

_CLOSE_WITHIN_S = 1.0
_TRY_AGAIN_LATER = 1013


class HangUp(Exception):
    """Raised when a WebSocket is to be closed from this side."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class SocketClient:
    """Sends to a client one message at a time, each when it has room for it.

    All methods may be used by many tasks at once; they wait for each other in their order.

    Args:
        stall_s: How long the client may leave everything unread.

    Raises (those that send):
        HangUp: the client has not read for that long.
        WebSocketDisconnect: it has left.
    """

    def __init__(self, websocket: WebSocket, *, stall_s: float) -> None:
        self._websocket = websocket
        self._stall_s = stall_s
        self._sending = asyncio.Lock()

    async def send_frame(
        self, frame: Frame, turn_id: str, request_id: RequestId | None = None
    ) -> None:
        number = b"" if frame.number is None else b'"id":%d,' % frame.number
        asked = b"" if request_id is None else b'"request_id":%s,' % to_json(request_id)
        head = b'%s"event":"%s","turn_id":%s' % (number, frame.kind.encode(), to_json(turn_id))
        await self._send(b'{%s,%s"data":%s}' % (head, asked, frame.json))

    async def send_problem(
        self, error: Exception, request_id: RequestId | None = None, turn_id: str | None = None
    ) -> None:
        """Tell of an error, as HTTP would."""
        problem = problem_of(self._websocket, error).model_dump(exclude_none=True)
        message = {"event": "error", "data": problem, "turn_id": turn_id, "request_id": request_id}
        await self._send(to_json({k: v for k, v in message.items() if v is not None}))

    async def close(self, hang_up: HangUp) -> None:
        """Close the socket; nothing is sent after that."""
        with suppress(TimeoutError, WebSocketDisconnect):
            async with asyncio.timeout(_CLOSE_WITHIN_S):
                await self._websocket.close(hang_up.code, hang_up.reason)

    async def _send(self, message: bytes) -> None:
        async with self._sending:
            try:
                async with asyncio.timeout(self._stall_s):
                    await self._websocket.send_text(message.decode())
            except TimeoutError:
                raise HangUp(_TRY_AGAIN_LATER, "Nothing was read for too long.") from None
