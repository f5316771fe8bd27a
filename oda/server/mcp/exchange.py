"""One exchange over HTTP with an MCP client, by the transports of the `mcp` package.

A client of protocol version 2026-07-28 says everything in each request. For those that shake hands
first, `Peer` is what they have said, and a question to their user is a request on the stream that
waits, whose answer may come to any node.
"""

import logging
from typing import Any

import anyio
from anyio.abc import TaskStatus
from mcp.server import Server
from mcp.server.connection import Connection
from mcp.server.runner import serve_connection
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher, progress_token_from_params
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.shared.transport_context import TransportContext
from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from oda.server.mcp.peer import Peer
from oda.server.mcp.questions import Question
from oda.server.mcp.resumption import Mark, TurnStream, elicitation
from oda.server.mcp.server import make_server
from oda.server.mcp.visit import Visit
from oda.turn.record import Turn

_RETRY_MS = 5000
"""When a client comes back to a stream that broke; a server that restarts is there by then."""

for _noisy in ("streamable_http", "streamable_http_manager"):
    logging.getLogger(f"mcp.server.{_noisy}").setLevel(logging.WARNING)


class Exchange(Response):
    """Answers a request that has been checked."""

    def __init__(self, visit: Visit, body: bytes, version: str, *, shakes_hands: bool) -> None:
        super().__init__()
        self._visit = visit
        self._body_sent = body
        self._version = version
        self._shakes_hands = shakes_hands

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        receive = _again(self._body_sent, receive)
        if self._shakes_hands:
            await _with_peer(self._visit, self._version, scope, receive, send)
        else:
            manager = StreamableHTTPSessionManager(make_server(self._visit), stateless=True)
            async with manager.run():
                await manager.handle_request(scope, receive, send)


async def _with_peer(
    visit: Visit, version: str, scope: Scope, receive: Receive, send: Send
) -> None:
    """Answer a request of a client that has shaken hands, or does so now."""
    stream = _stream_of(visit, version)
    request_id = visit.message.get("id")
    transport = StreamableHTTPServerTransport(
        mcp_session_id=None,
        is_json_response_enabled=stream is None and visit.call is None,
        event_store=stream,
        retry_interval=_RETRY_MS,
    )
    if visit.message.get("method") == "initialize":
        send = _naming(Peer.greeted(visit.message.get("params") or {}), send)

    async def run(*, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        async with transport.connect() as (read, write):

            async def elicit(turn: Turn, question: Question) -> bool:
                if visit.peer is None or not visit.peer.elicits:
                    return False
                related = ServerMessageMetadata(related_request_id=request_id)
                await write.send(SessionMessage(elicitation(turn, question), metadata=related))
                return True

            server: Server[Any] = make_server(visit, elicit)
            dispatcher: JSONRPCDispatcher[TransportContext] = JSONRPCDispatcher(
                read,
                write,
                inline_methods=frozenset({"initialize"}),
                transport_builder=lambda _: TransportContext(
                    kind="streamable-http", can_send_request=False
                ),
            )
            task_status.started()
            connection = Connection.from_envelope(version, None, None)
            await serve_connection(server, dispatcher, connection=connection, lifespan_state={})

    async with anyio.create_task_group() as tasks:
        await tasks.start(run)
        try:
            await transport.handle_request(scope, receive, send)
        finally:
            with anyio.CancelScope(shield=True):
                await transport.terminate()
            tasks.cancel_scope.cancel()


def _stream_of(visit: Visit, version: str) -> TurnStream | None:
    """Return the stream of a request that waits for a turn, new or taken up again."""
    if (event_id := visit.request.headers.get("last-event-id")) and not visit.message:
        return TurnStream(visit, Mark.of(event_id), version)
    if visit.begun is None:
        return None
    token = progress_token_from_params(visit.call)
    mark = Mark(visit.begun.turn_id, visit.begun.after, visit.message["id"], token)
    return TurnStream(visit, mark, version)


def _naming(peer: Peer, send: Send) -> Send:
    """Send the id of a new session along."""

    async def send_named(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == 200:
            MutableHeaders(scope=message)["Mcp-Session-Id"] = peer.session_id
        await send(message)

    return send_named


def _again(body: bytes, receive: Receive) -> Receive:
    """Receive a body that has been read, then what comes after it."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return first.pop() if first else await receive()

    return receive_again
