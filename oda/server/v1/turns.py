"""Messages and what comes of them."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import JSONResponse
from pydantic_core import to_json

from oda.context import OdaContext
from oda.server.access import Context, User
from oda.server.audit import audit_answers
from oda.server.idempotency import KeyHeader, headers_of
from oda.server.message_view import MessageView
from oda.server.openapi import LARGE_BODY, problems, sends, streams
from oda.server.sse import TOLD, Seen, StreamedAs, WithPartials, event_stream, followed_log
from oda.server.turn_frames import View
from oda.server.v1.paths import AppName, SessionId, TurnId
from oda.server.v1.sessions import Cursor, Limit
from oda.server.v1.submission import to_submission
from oda.server.v1.wire import (
    TURN_EVENTS,
    AnswerInput,
    CancelReceipt,
    EntryList,
    SubmitTurn,
    TurnList,
    TurnResult,
)
from oda.turn.log import Entry
from oda.turn.record import Turn

router = APIRouter(tags=["turns"])

Accept = Annotated[str, Header(include_in_schema=False)]
_STREAM = streams("The end of the turn as JSON, or what happens in it as a stream", TURN_EVENTS)


@router.post(
    "/apps/{app}/sessions/{sid}/turns",
    response_model=TurnResult,
    openapi_extra=LARGE_BODY,
    responses={
        200: {**_STREAM, **sends("Location", sometimes=("Idempotent-Replayed",))},
        202: {
            "model": Turn,
            "description": "Accepted; it runs",
            **sends("Location", "Preference-Applied", sometimes=("Idempotent-Replayed",)),
        },
        **problems(404, 409, 415),
    },
)
async def submit_turn(
    app: AppName,
    sid: SessionId,
    body: SubmitTurn,
    oda: Context,
    user: User,
    accept: Accept = "",
    view: StreamedAs = "events",
    partials: WithPartials = True,
    prefer: Annotated[str, Header(description="`respond-async` for an answer at once")] = "",
    idempotency_key: KeyHeader = None,
) -> Response:
    """Send a message. The turn goes on whether or not the client stays."""
    session = await oda.sessions.get(app, user, sid)
    streamed = "text/event-stream" in accept
    submission = await to_submission(
        oda, session, body, streamed=streamed, idempotency_key=idempotency_key
    )
    accepted = await oda.turns.submit(session, submission)
    turn = accepted.turn
    headers = headers_of(accepted)
    if _wants_async(prefer):
        return JSONResponse(
            turn.model_dump(mode="json"),
            status_code=202,
            headers={**headers, "Preference-Applied": "respond-async"},
        )
    if streamed:
        return event_stream(
            oda, turn.turn_id, after=0, view=view, partials=partials, headers=headers
        )
    return await _result(oda, turn.turn_id, headers)


@router.get("/apps/{app}/sessions/{sid}/turns", responses=problems(404))
async def list_turns(
    app: AppName, sid: SessionId, oda: Context, user: User, limit: Limit = 50, cursor: Cursor = None
) -> TurnList:
    """The turns of a session, newest first."""
    session = await oda.sessions.get(app, user, sid)
    turns, next_cursor = await oda.turns.of_session(session, limit=limit, cursor=cursor)
    return TurnList(turns=list(turns), next_cursor=next_cursor)


@router.get("/turns/{tid}", responses=problems(404))
async def get_turn(tid: TurnId, oda: Context, user: User) -> Turn:
    return await oda.turns.get(tid, user)


@router.get(
    "/turns/{tid}/events",
    response_model=EntryList,
    responses={200: _STREAM, 204: TOLD, **problems(404)},
)
async def list_turn_events(
    tid: TurnId,
    oda: Context,
    user: User,
    after: Seen,
    accept: Accept = "",
    view: StreamedAs = "events",
    partials: WithPartials = True,
) -> Response:
    """Get the events of a turn; as a stream, future events as well."""
    turn = await oda.turns.get(tid, user)
    if "text/event-stream" in accept:
        return await followed_log(oda.turns, tid, after=after, view=view, partials=partials)
    entries = await oda.turns.entries(turn.turn_id, 0 if view == "messages" else after)
    listed = b",".join(await _listed(entries, after, view))
    last = max(after, entries[-1].number) if entries else after
    done = turn.final or any(entry.kind == "done" for entry in entries)
    return Response(
        b'{"entries":[%s],"last":%d,"done":%s}' % (listed, last, to_json(done)),
        media_type="application/json",
    )


async def _listed(entries: Sequence[Entry], after: int, view: View) -> list[bytes]:
    """Return the entries after a number as JSON; messages are built from all entries."""
    if view == "events":
        return [_numbered(entry, entry.kind, entry.json) for entry in entries]
    return [
        _numbered(entry, kind, data)
        async for entry, told in MessageView().of(entries)
        for kind, data in told
        if entry.number > after
    ]


def _numbered(entry: Entry, kind: str, data: bytes) -> bytes:
    return b'{"id":%d,"event":%s,"data":%s}' % (entry.number, to_json(kind), data)


@router.post("/turns/{tid}/cancel", responses=problems(404, 409))
async def cancel_turn(tid: TurnId, oda: Context, user: User) -> CancelReceipt:
    """End a turn; one that has ended stays as it is."""
    turn = await oda.turns.cancel(tid, user)
    return CancelReceipt(**turn.model_dump(), cancelled=turn.status == "cancelled")


@router.post(
    "/turns/{tid}/input",
    response_model=TurnResult,
    responses={200: _STREAM, **problems(404, 409, 415)},
)
async def answer_turn(
    tid: TurnId,
    body: AnswerInput,
    oda: Context,
    user: User,
    request: Request,
    accept: Accept = "",
    view: StreamedAs = "events",
    partials: WithPartials = True,
) -> Response:
    """Answer the question of a waiting turn, which then goes on."""
    audit_answers(request.scope, [(item.id, item.confirmed) for item in body.responses])
    answers = [(item.id, item.confirmed, item.payload) for item in body.responses]
    seen = await oda.turns.answer(tid, answers, user)
    if "text/event-stream" in accept:
        return event_stream(oda, tid, after=seen, view=view, partials=partials, headers={})
    return await _result(oda, tid, {})


async def _result(oda: OdaContext, turn_id: str, headers: dict[str, str]) -> Response:
    turn, events = await oda.turns.result(turn_id)
    return Response(
        b'{"turn":%s,"reply":%s,"events":[%s]}'
        % (turn.model_dump_json().encode(), to_json(turn.reply), b",".join(events)),
        media_type="application/json",
        headers=headers,
    )


def _wants_async(prefer: str) -> bool:
    return any(item.strip().lower() == "respond-async" for item in prefer.split(","))
