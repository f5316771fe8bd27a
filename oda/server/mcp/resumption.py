"""Streams that a client takes up again where they broke, from the log of their turn.

The id of an event on such a stream says which turn's log it comes from and how far, and which
request waits for its end. So any node can go on with the stream, also after a restart.
"""

import base64
import json
from dataclasses import dataclass, replace
from typing import Any, Self

from mcp.server.streamable_http import EventCallback, EventId, EventMessage, EventStore, StreamId
from mcp.types import (
    CallToolResult,
    ElicitRequest,
    InputRequiredResult,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    ProgressToken,
    RequestId,
)
from mcp_types import methods

from oda.errors import InvalidRequestError
from oda.server.mcp.following import Wire, outcome
from oda.server.mcp.questions import Question, form_of
from oda.server.mcp.visit import Begun, Visit
from oda.turn.record import Turn

_ASKED = "oda"
"""Begins the ids of our own requests."""


@dataclass(frozen=True)
class Mark:
    """A place on the stream of a request that waits for a turn."""

    turn_id: str
    number: int
    """Number of the last entry of the log that the client has heard of."""
    request_id: RequestId
    token: ProgressToken | None

    @property
    def event_id(self) -> str:
        fields = [self.turn_id, self.number, self.request_id, self.token]
        return base64.urlsafe_b64encode(json.dumps(fields).encode()).decode().rstrip("=")

    @classmethod
    def of(cls, event_id: str) -> Self:
        """Decode the id of an event.

        Raises:
            InvalidRequestError: it is none of ours.
        """
        try:
            padded = event_id + "=" * (-len(event_id) % 4)
            turn_id, number, request_id, token = json.loads(base64.urlsafe_b64decode(padded))
        except (ValueError, TypeError) as error:
            raise InvalidRequestError("Last-Event-ID: it is none of this server's.") from error
        if not (
            isinstance(turn_id, str)
            and type(number) is int
            and type(request_id) in (str, int)
            and (token is None or type(token) in (str, int))
        ):
            raise InvalidRequestError("Last-Event-ID: it is none of this server's.")
        return cls(turn_id, number, request_id, token)


class TurnStream(EventStore):
    """The stream of one request, whose events are those of a turn's log."""

    def __init__(self, visit: Visit, mark: Mark, version: str) -> None:
        self._visit = visit
        self._mark = mark
        self._version = version

    async def store_event(self, stream_id: StreamId, message: JSONRPCMessage | None) -> EventId:
        if isinstance(message, JSONRPCNotification):
            reached = int((message.params or {}).get("progress", 0))
            self._mark = replace(self._mark, number=max(self._mark.number, reached))
        return self._mark.event_id

    async def replay_events_after(
        self, last_event_id: EventId, send_callback: EventCallback
    ) -> StreamId | None:
        mark = self._mark
        wire = _Again(self, mark, send_callback)
        begun = Begun(mark.turn_id, after=mark.number)
        result = await outcome(self._visit, begun, wire)
        await wire.send(
            JSONRPCResponse(jsonrpc="2.0", id=mark.request_id, result=self._dumped(result))
        )
        return None

    def _dumped(self, result: CallToolResult | InputRequiredResult) -> dict[str, Any]:
        dumped = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        return dict(methods.serialize_server_result("tools/call", self._version, dumped))


class _Again(Wire):
    """A stream that was taken up again."""

    def __init__(self, stream: TurnStream, mark: Mark, send: EventCallback) -> None:
        self._stream = stream
        self._mark = mark
        self._send = send

    async def send(self, message: JSONRPCMessage) -> None:
        event_id = await self._stream.store_event("", message)
        await self._send(EventMessage(message, event_id))

    async def progress(self, at: float, message: str) -> None:
        if self._mark.token is None:
            return
        params = {"progressToken": self._mark.token, "progress": at, "message": message}
        await self.send(
            JSONRPCNotification(jsonrpc="2.0", method="notifications/progress", params=params)
        )

    async def elicit(self, turn: Turn, question: Question) -> bool:
        peer = self._stream._visit.peer
        if peer is None or not peer.elicits:
            return False
        await self.send(elicitation(turn, question))
        return True

    def handed_back(self, turn: Turn) -> InputRequiredResult | None:
        return None


def elicitation(turn: Turn, question: Question) -> JSONRPCRequest:
    """Return the request that asks a client's user; its id says which question it is."""
    request = ElicitRequest(params=form_of(question))
    return JSONRPCRequest(
        jsonrpc="2.0",
        id=f"{_ASKED}:{turn.turn_id}:{question.id}",
        method=request.method,
        params=request.params.model_dump(by_alias=True, mode="json", exclude_none=True),
    )


def asked_by(request_id: object) -> tuple[str, str] | None:
    """Return the turn and the question of a request of ours; None for another's."""
    parts = request_id.split(":", 2) if isinstance(request_id, str) else []
    return (parts[1], parts[2]) if len(parts) == 3 and parts[0] == _ASKED else None
