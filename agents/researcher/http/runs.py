"""`/api/articles` and `/api/articles/runs`: order an article, and follow its progress."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel

from oda.agent.resume import events_of
from oda.agent.run_limits import rounds_of
from oda.server import (
    LARGE_BODY,
    TOLD,
    TURN_EVENTS,
    AppConversations,
    Conversations,
    KeyHeader,
    Seen,
    StreamedAs,
    WithPartials,
    leads_to,
    problem_responses,
    streams,
)
from oda.server.workspaces import WorkspaceFile
from oda.turn.admission import Accepted
from oda.turn.record import Turn, TurnError, TurnStatus
from oda.workspace.workspaces import current_workspaces

from ..articles.store import published
from ..request import LONGEST_PROMPT, MOST_FILES
from .commission import ROUTE, commission
from .orders import ArticleOrder, read_order

router = APIRouter(tags=["articles"])

RunId = Annotated[str, Path(max_length=128, description="As it was given when it was ordered")]

_FORM = {
    "type": "object",
    "required": ["template"],
    "properties": {
        "template": {"type": "string", "maxLength": 64},
        "prompt": {"type": "string", "maxLength": LONGEST_PROMPT},
        "options": {"type": "string", "maxLength": 2**20, "description": "A JSON object"},
        "session_id": {"type": "string", "maxLength": 128},
        "files": {
            "type": "array",
            "maxItems": MOST_FILES,
            "items": {"type": "string", "format": "binary"},
        },
    },
}
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": ArticleOrder.model_json_schema()},
            "multipart/form-data": {"schema": _FORM},
        },
    },
    **LARGE_BODY,
}
RUN = leads_to(
    "get_article_run",
    "follow_article_run",
    "cancel_article_run",
    "get_workspace_files",
    run_id="$response.body#/run_id",
)
_STREAM = streams("The log of the run, as of any turn", TURN_EVENTS)


class RunAccepted(BaseModel):
    """A run that has been accepted."""

    run_id: str
    session_id: str
    turn_id: str
    """The run is this turn."""


class Run(BaseModel):
    """A run as it is."""

    run_id: str
    session_id: str
    status: TurnStatus
    """Status of the turn."""
    rounds: int
    """Number of model calls so far."""
    files: list[WorkspaceFile]
    """Files in the run's workspace."""
    article_id: str | None
    error: TurnError | None


@router.post(
    "",
    status_code=202,
    response_model=RunAccepted,
    openapi_extra=_BODY,
    responses={202: {"links": RUN}, **problem_responses(400, 413, 415, 429)},
)
async def order_article(
    request: Request,
    response: Response,
    conversations: Conversations,
    idempotency_key: KeyHeader = None,
) -> RunAccepted:
    """Order an article from a template; the run goes on whether or not the client stays."""
    order, uploads = await read_order(request)
    accepted = await commission(conversations, order, uploads, key=idempotency_key)
    return accepted_run(accepted, response)


@router.get("/runs/{run_id}", responses=problem_responses(404))
async def get_article_run(run_id: RunId, conversations: Conversations) -> Run:
    """A run: how far it is, what is in its workspace, and its article."""
    return await _run(conversations, await conversations.turn(run_id))


@router.get(
    "/runs/{run_id}/events",
    response_class=Response,
    responses={200: _STREAM, 204: TOLD, **problem_responses(404)},
)
async def follow_article_run(
    run_id: RunId,
    conversations: Conversations,
    seen: Seen,
    view: StreamedAs = "events",
    partials: WithPartials = True,
) -> Response:
    """Get the events of a run after the last entry seen."""
    turn = await conversations.turn(run_id)
    return await conversations.followed_log(turn, after=seen, view=view, partials=partials)


@router.post("/runs/{run_id}/cancel", responses=problem_responses(404, 409))
async def cancel_article_run(run_id: RunId, conversations: Conversations) -> Run:
    """End a run; what it has written so far stays in its workspace."""
    turn = await conversations.cancel(await conversations.turn(run_id))
    return await _run(conversations, turn)


def accepted_run(accepted: Accepted, response: Response) -> RunAccepted:
    """Return what a client is told of an accepted run; the headers say where it is."""
    turn = accepted.turn
    response.headers["Location"] = f"{ROUTE}/runs/{turn.turn_id}"
    if accepted.replayed:
        response.headers["Idempotent-Replayed"] = "true"
    return RunAccepted(run_id=turn.turn_id, session_id=turn.session_id, turn_id=turn.turn_id)


async def _run(conversations: AppConversations, turn: Turn) -> Run:
    session = await conversations.get(turn.session_id)
    article = await published.of_run(conversations.user_id, turn.turn_id)
    return Run(
        run_id=turn.turn_id,
        session_id=turn.session_id,
        status=turn.status,
        rounds=rounds_of(list(events_of(await session.history(), turn.turn_id))),
        files=await _files(turn),
        article_id=article and article.id,
        error=turn.error,
    )


async def _files(turn: Turn) -> list[WorkspaceFile]:
    workspace = await current_workspaces().find(turn.session_id, turn.turn_id)
    if workspace is None:
        return []
    async with workspace:
        return [WorkspaceFile.of(info) for info in await workspace.list()]
