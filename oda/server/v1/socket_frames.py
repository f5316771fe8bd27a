"""Frames sent to the client of a session's WebSocket, as JSON."""

from fastapi import WebSocket
from pydantic_core import to_json

from oda.server.problems import problem_of
from oda.server.socket_messages import RequestId
from oda.server.turn_frames import Frame


def frame_message(frame: Frame, turn_id: str, request_id: RequestId | None) -> bytes:
    """`{"id"?, "event", "turn_id", "request_id"?, "data"}`"""
    number = b"" if frame.number is None else b'"id":%d,' % frame.number
    asked = b"" if request_id is None else b'"request_id":%s,' % to_json(request_id)
    head = b'%s"event":"%s","turn_id":%s' % (number, frame.kind.encode(), to_json(turn_id))
    return b'{%s,%s"data":%s}' % (head, asked, frame.json)


def problem_message(
    websocket: WebSocket, error: Exception, request_id: RequestId | None, turn_id: str | None
) -> bytes:
    """`{"event": "error", "data", "turn_id"?, "request_id"?}`"""
    problem = problem_of(websocket, error).model_dump(exclude_none=True)
    message = {"event": "error", "data": problem, "turn_id": turn_id, "request_id": request_id}
    return to_json({k: v for k, v in message.items() if v is not None})
