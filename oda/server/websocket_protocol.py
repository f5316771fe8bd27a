"""uvicorn's WebSocket, in which a client that does not read cannot hold anything for ever."""

from asyncio.transports import BaseTransport
from typing import Any

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from oda.server.http_protocol import limit_send_buffer

PING_INTERVAL_S = 15.0
PING_TIMEOUT_S = 60.0
"""Long, since a ping waits behind all that a slow client has not read yet."""

_LINGER_S = 2.0
"""How long a client may read on when the server stops."""


class BoundedClose(WebSocketsSansIOProtocol):
    """Says why it closes also to a client that does not read now, and cuts it off soon after."""

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)
        limit_send_buffer(transport)

    async def send(self, message: Any) -> None:
        if message["type"] in ("websocket.send", "websocket.close") and self.close_sent:
            raise ClientDisconnected
        if message["type"] == "websocket.close" and self.handshake_complete:
            self.writable.set()
            self._cut_off_after(self.close_timeout)
        await super().send(message)

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self._cut_off_after(self.close_timeout)

    def shutdown(self) -> None:
        super().shutdown()
        self._cut_off_after(_LINGER_S)

    def _cut_off_after(self, seconds: float) -> None:
        self.loop.call_later(seconds, self.transport.abort)
