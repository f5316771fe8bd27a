"""The sending side of a WebSocket."""

import asyncio
from contextlib import suppress

from fastapi import WebSocket
from starlette.websockets import WebSocketDisconnect

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

    Many tasks may send at once; they wait for each other in their order.

    Args:
        stall_s: How long the client may leave everything unread.
    """

    def __init__(self, websocket: WebSocket, *, stall_s: float) -> None:
        self._websocket = websocket
        self._stall_s = stall_s
        self._sending = asyncio.Lock()

    async def send(self, message: bytes) -> None:
        """Send JSON.

        Raises:
            HangUp: the client has not read for too long.
            WebSocketDisconnect: it has left.
        """
        async with self._sending:
            try:
                async with asyncio.timeout(self._stall_s):
                    await self._websocket.send_text(message.decode())
            except TimeoutError:
                raise HangUp(_TRY_AGAIN_LATER, "Nothing was read for too long.") from None

    async def close(self, hang_up: HangUp) -> None:
        """Close the socket; nothing is sent after that."""
        with suppress(TimeoutError, WebSocketDisconnect):
            async with asyncio.timeout(_CLOSE_WITHIN_S):
                await self._websocket.close(hang_up.code, hang_up.reason)
