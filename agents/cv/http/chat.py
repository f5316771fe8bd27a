"""A message to the resume's agent."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Header, Response

from oda import OdaSession
from oda.server import AppConversations, Conversations, problem_responses, sse_response, streams
from oda.session.artifacts import ANY_TYPE

from ..dialogue.understanding.message import language_of
from ..files import plain_name
from ..memory import ATTACHED_KEY
from .models import CHAT_EVENTS, RESUME, ChatRequest, ChatResponse
from .opening import open_session
from .refusals import refusal
from .reply import conflict_in, read_turn, response_to
from .streaming import frames

router = APIRouter()

_STREAM = streams(
    "What the message has led to, or the same as a stream that ends with it", CHAT_EVENTS
)


@router.post(
    "",
    response_model=ChatResponse,
    responses={200: {**_STREAM, "links": RESUME}, **problem_responses(404, 409, 415)},
)
async def send_cv_message(
    body: ChatRequest,
    conversations: Conversations,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response:
    """Talk about a resume: read and edit it in conversation, in Chinese or English.

    The turn goes on whether or not the client stays; it is `GET /v1/turns/{tid}` of `Location`.
    A turn that fails is a 200 whose type is `error`.
    """
    return await answered(conversations, body, accept)


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that comes with a message."""

    name: str
    media_type: str
    content: bytes


async def answered(
    conversations: AppConversations,
    body: ChatRequest,
    accept: str,
    uploads: Sequence[Upload] = (),
) -> Response:
    """Run the turn of a message with its files; answer as the client accepts it.

    Raises:
        Refusal: the document is invalid, or another version than expected; nothing has been done.
        InvalidRequestError: a file cannot have its name.
    """
    opened = await open_session(conversations, body)
    names = [*body.files, *[await _kept(opened.session, upload) for upload in uploads]]
    is_streamed = "text/event-stream" in accept
    turn = await conversations.submit(
        opened.session,
        body.message,
        state_delta={**opened.state_delta, ATTACHED_KEY: names},
        stream_tokens=is_streamed,
    )
    headers = {"Location": f"/v1/turns/{turn.turn_id}"}
    if is_streamed:
        return sse_response(frames(conversations, body, opened, turn), headers)
    turn, said = await read_turn(conversations, turn)
    response = await response_to(conversations, body, opened, turn, said)
    if conflict := conflict_in(response, body, opened, turn):
        raise refusal(conflict, language_of(body.message), field="expected_version")
    return Response(response.model_dump_json(), media_type="application/json", headers=headers)


async def _kept(session: OdaSession, upload: Upload) -> str:
    name = plain_name(upload.name) or "attachment"
    await session.artifacts.save(name, upload.media_type or ANY_TYPE, upload.content)
    return name
