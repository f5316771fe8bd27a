"""`POST …/process`: a message to an orchestrator, answered as JSON or as a stream."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Annotated

from fastapi import APIRouter, Header, Request, Response

from oda.clock import Clock
from oda.orchestration.orchestrator import Orchestrator
from oda.server.access import user_for
from oda.server.conversations import Conversations
from oda.server.idempotency import KeyHeader
from oda.server.openapi import LARGE_BODY, leads_to, problems, sends, streams
from oda.server.orchestrator.talk import Begun, Talk
from oda.server.orchestrator.wire import ProcessRequest, Progress, TurnResponse
from oda.server.sse import sse_response
from oda.server.turn_frames import Frame

_ANSWER = {
    **streams(
        "The response; as a stream `progress` several times, then `response`",
        {"progress": Progress, "response": TurnResponse},
    ),
    **sends(sometimes=("Location", "Idempotent-Replayed")),
    "links": leads_to("get_turn", "list_turn_events", tid="$response.body#/turn_id"),
}


def process_router(orchestrator: Orchestrator, clock: Clock) -> APIRouter:
    """The route of an orchestrator's messages."""
    router = APIRouter()

    @router.post(
        "/process",
        response_model=TurnResponse,
        openapi_extra=LARGE_BODY,
        responses={200: _ANSWER, **problems(404, 415)},
    )
    async def send_message(
        body: ProcessRequest,
        request: Request,
        conversations: Conversations,
        accept: Annotated[str, Header(include_in_schema=False)] = "",
        idempotency_key: KeyHeader = None,
    ) -> Response:
        """Send a message to the orchestrator.

        The turn goes on whether or not the client stays; it is `GET /v1/turns/{tid}` of `Location`.
        A message that is rejected and a turn that fails are answered with 200 and `success: false`.
        """
        user_id = user_for(request, body.user_id)
        talk = Talk(orchestrator, conversations.of_user(user_id), clock)
        begun = await talk.begin(body, idempotency_key)
        if "text/event-stream" in accept:
            return sse_response(_frames(talk, begun), begun.headers)
        response = await talk.response(begun)
        return Response(
            response.model_dump_json(), media_type="application/json", headers=begun.headers
        )

    return router


async def _frames(talk: Talk, begun: Begun) -> AsyncGenerator[Sequence[Frame], None]:
    async with aclosing(talk.happenings(begun)) as happenings:
        async for item in happenings:
            if item is None:
                yield ()
            else:
                kind = "response" if isinstance(item, TurnResponse) else "progress"
                yield [Frame(None, kind, item.model_dump_json().encode())]
