"""`/v1/responses`: turns, in OpenAI's words."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import JSONResponse

from oda.server.access import Context, User
from oda.server.audit import audit_answers
from oda.server.idempotency import KeyHeader
from oda.server.openai.begin import begin
from oda.server.openai.ids import ResponseId
from oda.server.openai.input_items import input_items
from oda.server.openai.request import (
    CreateResponse,
    read_input,
    refuse_what_we_cannot,
    refused,
)
from oda.server.openai.stream import answer, current, streamed, turn_of
from oda.server.openapi import LARGE_BODY

router = APIRouter(prefix="/responses", include_in_schema=False)

Id = Annotated[str, Path(max_length=128)]


@router.post("", openapi_extra=LARGE_BODY)
async def create_response(
    body: CreateResponse,
    oda: Context,
    user: User,
    request: Request,
    idempotency_key: KeyHeader = None,
) -> Response:
    """Send a message, or the answer to a question of an earlier response."""
    refuse_what_we_cannot(body)
    audit_answers(
        request.scope,
        [(one.to.question, one.approved) for one in read_input(body.input).answers],
    )
    begun = await begin(oda, user, body, idempotency_key)
    headers = {"Idempotent-Replayed": "true"} if begun.replayed else {}
    if body.stream:
        return streamed(oda, begun.id, headers=headers)
    if not body.background:
        await oda.turns.wait(begun.id.turn_id)
    return answer(await current(oda, begun.id), headers)


@router.get("/{response_id}")
async def retrieve_response(
    response_id: Id,
    oda: Context,
    user: User,
    stream: bool = False,
    starting_after: Annotated[int | None, Query(ge=0, le=2**62)] = None,
) -> Response:
    """A response as it is, or its events after a sequence number."""
    found = ResponseId.parse(response_id)
    await turn_of(oda, found, user)
    now = await current(oda, found)
    if stream:
        return streamed(oda, found, seen=-1 if starting_after is None else starting_after)
    return answer(now)


@router.post("/{response_id}/cancel")
async def cancel_response(response_id: Id, oda: Context, user: User) -> Response:
    """End a response; one that has ended stays as it is."""
    found = ResponseId.parse(response_id)
    await turn_of(oda, found, user)
    await current(oda, found)
    await oda.turns.cancel(found.turn_id, user)
    return answer(await current(oda, found))


@router.delete("/{response_id}")
async def delete_response(response_id: Id, oda: Context, user: User) -> Response:
    """Forget a response's turn; a conversation that has no other turn goes with it."""
    found = ResponseId.parse(response_id)
    turn = await turn_of(oda, found, user)
    await current(oda, found)
    await oda.turns.cancel(found.turn_id, user)
    session = await oda.sessions.get(turn.app, user, turn.session_id)
    turns, _ = await oda.turns.of_session(session, limit=2)
    if [one.turn_id for one in turns] == [turn.turn_id]:
        await oda.delete_session(session)
    else:
        await oda.turns.forget(turn.turn_id)
    return JSONResponse({"id": response_id, "object": "response", "deleted": True})


@router.get("/{response_id}/input_items")
async def list_input_items(
    response_id: Id,
    oda: Context,
    user: User,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    order: Literal["asc", "desc"] = "desc",
    after: str | None = None,
) -> dict[str, Any]:
    """What a response was asked."""
    found = ResponseId.parse(response_id)
    turn = await turn_of(oda, found, user)
    await current(oda, found)
    items = await input_items(oda, found, turn)
    if order == "desc":
        items.reverse()
    if after is not None:
        places = [number for number, item in enumerate(items) if item["id"] == after]
        if not places:
            raise refused("there is no such item", "after")
        items = items[places[0] + 1 :]
    page = items[:limit]
    return {
        "object": "list",
        "data": page,
        "first_id": page[0]["id"] if page else "",
        "last_id": page[-1]["id"] if page else "",
        "has_more": len(items) > limit,
    }
