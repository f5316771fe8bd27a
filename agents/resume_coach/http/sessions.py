"""`/api/resume-coach/sessions`: begin, talk, look, compare."""

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Header, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from mcp_tools.resume import InvalidDocumentError, ResumeError, diff, load_resume
from mcp_tools.resume.comparison import html_diff, text_diff
from oda import OdaSession
from oda.message.language import language_of
from oda.server import (
    AppConversations,
    Conversations,
    Refusal,
    leads_to,
    page_headers,
    problem_responses,
    sse_response,
    streams,
)
from oda.telemetry import current_trace_id

from ..acts import Act, understand
from ..agent import LONGEST_MESSAGE
from ..messages import Answer, Start
from ..state import CoachState
from ..view import View, view_of
from .turns import COACHING_EVENTS, TurnReader, coach_state

router_prefix = "/api/resume-coach/sessions"
router = APIRouter(prefix=router_prefix, tags=["resume_coach"])

SessionId = Annotated[
    str, Path(max_length=128, json_schema_extra={"format": "id"}, description="Of the coaching")
]
Accept = Annotated[str, Header(include_in_schema=False)]
_STREAM = streams("The view, or a stream of what the agents say that ends with it", COACHING_EVENTS)
_COACHING = leads_to(
    *("get_coaching", "send_coaching_message", "get_coaching_diff"),
    session_id="$response.body#/session_id",
)
_DIFF: dict[str, Any] = {
    "description": "What has changed since the beginning; JSON is a JSON Patch",
    "content": {kind: {"schema": {"type": "string"}} for kind in ("text/plain", "text/html")},
}


BEGUN: dict[str, Any] = {**_STREAM, "links": _COACHING}


class Words(BaseModel):
    """A message in words."""

    model_config = ConfigDict(extra="forbid", strict=True)

    message: Annotated[str, Field(max_length=4000, json_schema_extra={"pattern": r"\S"})]


@router.post(
    "",
    status_code=201,
    response_model=View,
    responses={201: BEGUN, **problem_responses(409, 413, 415)},
)
async def start_coaching(
    body: Start, conversations: Conversations, accept: Accept = ""
) -> Response:
    """Begin with a resume and what is wanted of it: the plan, and the first task's opening."""
    return await begin(body, conversations, accept)


@router.post(
    "/{session_id}/messages",
    response_model=View,
    responses={200: _STREAM, **problem_responses(404, 409, 415)},
)
async def send_coaching_message(
    session_id: SessionId, body: Words | Answer, conversations: Conversations, accept: Accept = ""
) -> Response:
    """Say something, or answer the draft: `confirm`, maybe with `edits` of its values."""
    session = await conversations.get(session_id)
    _check_answerable(begun(session), body)
    text = body.message if isinstance(body, Words) else body.as_text()
    return await _answer(conversations, session, text, accept, {}, status=200)


@router.get("/{session_id}", responses=problem_responses(404, 409))
async def get_coaching(session_id: SessionId, conversations: Conversations) -> View:
    """The coaching as it is."""
    session = await conversations.get(session_id)
    trace_id = current_trace_id() or ""
    return view_of(begun(session), session_id=session.session_id, trace_id=trace_id)


@router.get(
    "/{session_id}/diff", response_model=None, responses={200: _DIFF, **problem_responses(404, 409)}
)
async def get_coaching_diff(
    session_id: SessionId,
    conversations: Conversations,
    format: Annotated[Literal["json", "text", "html"], Query()] = "json",
) -> Response:
    """The changes since the beginning."""
    state = begun(await conversations.get(session_id))
    if format == "text":
        return Response(text_diff(state.original, state.resume), media_type="text/plain")
    if format == "html":
        page = html_diff(state.original, state.resume, language=state.language)
        return Response(page, media_type="text/html", headers=page_headers("diff.html"))
    patch = diff(state.original, state.resume)
    content = json.dumps(patch, ensure_ascii=False).encode()
    return Response(content, media_type="application/json")


async def begin(
    start: Start, conversations: AppConversations, accept: str, notes: Sequence[str] = ()
) -> Response:
    """Begin a coaching, and answer with its view.

    Args:
        notes: What was not understood of the file that it begins with.

    Raises:
        Refusal: it is too long, or its resume is invalid.
    """
    text = _checked(start.model_copy(update={"notes": [*notes]}))
    session = await conversations.begin()
    here = {"Location": f"{router.prefix}/{quote(session.session_id)}"}
    return await _answer(conversations, session, text, accept, here, status=201)


async def _answer(
    conversations: AppConversations,
    session: OdaSession,
    text: str,
    accept: str,
    headers: dict[str, str],
    *,
    status: int,
) -> Response:
    if (asking := await conversations.asking(session)) is not None:
        read = await conversations.answer(asking, text)
        reader = TurnReader(conversations, asking, after=read)
    else:
        reader = TurnReader(conversations, await conversations.submit(session, text))
    if "text/event-stream" in accept:
        streamed = sse_response(reader.frames(), headers)
        streamed.status_code = status
        return streamed
    view = await reader.view()
    content = view.model_dump_json()
    return Response(content, status, headers, media_type="application/json")


def _checked(start: Start) -> str:
    """Return the first message.

    Raises:
        Refusal: it is too long, or its resume is invalid.
    """
    text = start.as_text()
    if len(text) > LONGEST_MESSAGE:
        raise Refusal(413, f"Resume and intent have more than {LONGEST_MESSAGE} characters.")
    try:
        load_resume(start.resume)
    except ResumeError as error:
        where = error.details.get("path") if isinstance(error, InvalidDocumentError) else None
        message = error.message(language_of(start.intent))
        field = f"resume.{where}" if where else "resume"
        errors = [{"field": field, "message": message}]
        raise Refusal(422, message, code=error.code, errors=errors) from error
    return text


def begun(session: OdaSession) -> CoachState:
    """Return the coaching of a session.

    Raises:
        Refusal: it has none yet.
    """
    state = coach_state(session.state.to_dict())
    if state is None:
        raise Refusal(
            409,
            "This session has no resume yet.",
            code="not_begun",
            remedy=f"begin one with POST {router.prefix}",
        )
    return state


def _check_answerable(state: CoachState, body: Words | Answer) -> None:
    if isinstance(body, Answer) and state.draft is None:
        raise Refusal(
            409,
            "No draft waits for a confirmation.",
            code="nothing_to_confirm",
            remedy="answer with a message",
        )
    still = (Act.BACKTRACK, Act.REQUEST)
    goes_on = isinstance(body, Words) and understand(body.message).act in still
    if state.finished and not goes_on:
        raise Refusal(
            409,
            "All tasks are done or skipped.",
            code="session_finished",
            remedy="go back to a task with 'back to …', or begin another session",
        )
