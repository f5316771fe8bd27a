"""A message to the resume's agent."""

from typing import Annotated

from fastapi import APIRouter, Header, Response

from oda.server import Conversations, problem_responses, sse_response

from ..dialogue.understanding.message import language_of
from .models import ChatRequest, ChatResponse
from .opening import open_session
from .refusals import refusal
from .reply import conflict_in, response_to
from .streaming import frames

router = APIRouter()

_STREAM = {
    "description": "What the message has led to, or the same as a stream that ends with it",
    "content": {"text/event-stream": {"schema": {"type": "string"}}},
}


@router.post(
    "", response_model=ChatResponse, responses={200: _STREAM, **problem_responses(404, 409, 415)}
)
async def chat(
    body: ChatRequest,
    conversations: Conversations,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response:
    """Talk about a resume: read and edit it in conversation, in Chinese or English.

    The turn goes on whether or not the client stays; it is `GET /v1/turns/{tid}` of `Location`.
    A turn that fails is a 200 whose type is `error`.
    """
    opened = await open_session(conversations, body)
    is_streamed = "text/event-stream" in accept
    turn = await conversations.submit(
        opened.session,
        body.message,
        state_delta=opened.state_delta,
        stream_tokens=is_streamed,
    )
    headers = {"Location": f"/v1/turns/{turn.turn_id}"}
    if is_streamed:
        return sse_response(frames(conversations, body, opened, turn), headers)
    turn = await conversations.ended(turn)
    response = await response_to(conversations, body, opened, turn)
    if conflict := conflict_in(response, body, opened, turn):
        raise refusal(conflict, language_of(body.message), field="expected_version")
    return Response(response.model_dump_json(), media_type="application/json", headers=headers)
