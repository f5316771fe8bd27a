"""What a request of an MCP client is answered with."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from mcp.server.streamable_http import check_accept_headers
from mcp.shared.inbound import InboundModernRoute, classify_inbound_request
from mcp.types import DEFAULT_NEGOTIATED_VERSION
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from sqlalchemy.exc import SQLAlchemyError

from oda.agent.model.gate import ModelGate, current_gate
from oda.context import OdaContext
from oda.errors import ConflictError, OdaError
from oda.server.conversations import AppConversations
from oda.server.mcp.exchange import Exchange
from oda.server.mcp.peer import Peer
from oda.server.mcp.questions import answer_of, question_of
from oda.server.mcp.resumption import Mark, asked_by
from oda.server.mcp.server import code_of
from oda.server.mcp.visit import Dismissed, Visit
from oda.server.problems import problem_of


async def respond(
    app: str, request: Request, oda: OdaContext, user_id: str, dismissed: Dismissed
) -> Response:
    """Begin what a request asks for, and return what streams its end; or refuse it."""
    body = await request.body()
    message = _message(body)
    try:
        definition = await oda.definitions.load(app)
        conversations = AppConversations(oda, app, user_id)
        peer = Peer.of(request.headers.get("mcp-session-id"))
        visit = Visit(request, oda, conversations, definition, peer, dismissed, message)
        version = request.headers.get("mcp-protocol-version")
        shakes_hands = version is None or version in HANDSHAKE_PROTOCOL_VERSIONS
        if shakes_hands and request.method == "GET":
            event_id = request.headers.get("last-event-id")
            if event_id is None:
                return Response(status_code=405, headers={"Allow": "POST"})
            await conversations.turn(Mark.of(event_id).turn_id)
        if shakes_hands and request.method == "POST" and await _is_answer(visit):
            return Response(status_code=202)
        if _is_served(request, message, shakes_hands=shakes_hands):
            await visit.begin()
    except (OdaError, RequestValidationError, SQLAlchemyError) as error:
        return _refused(request, error, message.get("id"))
    if oda.days.limited:
        current_gate.set(ModelGate(oda.days, user_id))
    return Exchange(visit, body, version or DEFAULT_NEGOTIATED_VERSION, shakes_hands=shakes_hands)


def _message(body: bytes) -> Mapping[str, Any]:
    """Return a JSON-RPC message; empty for anything else, of which the transport tells."""
    try:
        message = json.loads(body)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def _is_served(request: Request, message: Mapping[str, Any], *, shakes_hands: bool) -> bool:
    """Return whether the transport will take a message, so that a turn may begin."""
    if request.method != "POST" or message.get("jsonrpc") != "2.0":
        return False
    if type(message.get("id")) not in (str, int) or not all(check_accept_headers(request)):
        return False
    if shakes_hands:
        kind = request.headers.get("content-type", "").partition(";")[0].strip()
        return kind == "application/json"
    verdict = classify_inbound_request(dict(message), headers=dict(request.headers))
    return isinstance(verdict, InboundModernRoute)


async def _is_answer(visit: Visit) -> bool:
    """Give a turn what a client's user has answered, if that is what a message says.

    Raises:
        TurnNotFoundError: the user has no such turn with this app.
    """
    message = visit.message
    asked = None if "method" in message else asked_by(message.get("id"))
    if asked is None:
        return False
    turn = await visit.conversations.turn(asked[0])
    question = next((one for one in turn.pending_input if one["id"] == asked[1]), None)
    if question is None:
        return True
    result = message.get("result")
    answer = answer_of(question_of(question), result if isinstance(result, Mapping) else {})
    if answer is None:
        visit.dismissed[asked] = True
        return True
    with suppress(ConflictError):  # answered meanwhile in another way
        await visit.answered(turn, [answer])
    return True


def _refused(request: Request, error: Exception, request_id: object) -> Response:
    problem = problem_of(request, error)
    told = {
        "code": code_of(problem.status),
        "message": problem.detail,
        "data": problem.model_dump(exclude_none=True),
    }
    named = request_id if isinstance(request_id, str | int) else None
    later = {} if problem.retry_after is None else {"Retry-After": str(problem.retry_after)}
    return Response(
        json.dumps({"jsonrpc": "2.0", "id": named, "error": told}),
        status_code=problem.status,
        headers=later,
        media_type="application/json",
    )
