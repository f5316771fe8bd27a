"""Messages and what comes of them."""

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import JSONResponse

from oda.agent.limits import TurnLimits
from oda.context import OdaContext
from oda.errors import InvalidRequestError
from oda.message.content import parse_content
from oda.server.access import Context, User
from oda.server.sse import event_stream
from oda.server.v1.sessions import Limit
from oda.server.v1.wire import (
    AnswerInput,
    EntryList,
    NumberedEntry,
    SubmitTurn,
    TurnList,
    TurnResult,
    adk_event,
)
from oda.turn.in_process import Submission
from oda.turn.record import Turn

router = APIRouter(tags=["turns"])

Accept = Annotated[str, Header(include_in_schema=False)]
_STREAM = {
    "description": "The end of the turn as JSON, or its events as a stream",
    "content": {"text/event-stream": {"schema": {"type": "string"}}},
}


@router.post(
    "/apps/{app}/sessions/{sid}/turns",
    response_model=TurnResult,
    responses={200: _STREAM, 202: {"model": Turn, "description": "Accepted; it runs"}},
)
async def submit_turn(
    app: str,
    sid: str,
    body: SubmitTurn,
    oda: Context,
    user: User,
    accept: Accept = "",
    prefer: Annotated[str, Header(description="`respond-async` for an answer at once")] = "",
) -> Response:
    """Send a message. The turn goes on whether or not the client stays."""
    session = await oda.sessions.get(app, user, sid)
    streamed = "text/event-stream" in accept
    tokens = streamed if body.stream_tokens is None else body.stream_tokens
    turn = await oda.turns.submit(
        session,
        Submission(
            message=parse_content(body.message),
            agent=body.agent,
            on_busy=body.on_busy,
            limits=_within(oda, body.limits),
            metadata=body.metadata,
            stream_tokens=tokens,
        ),
    )
    where = {"Location": f"/v1/turns/{turn.turn_id}"}
    if _wants_async(prefer):
        return JSONResponse(
            turn.model_dump(mode="json"),
            status_code=202,
            headers={**where, "Preference-Applied": "respond-async"},
        )
    if streamed:
        log = oda.turns.log_of(turn.turn_id)
        return event_stream(log, after=0, headers=where)
    return await _result(oda, turn.turn_id, where)


@router.get("/apps/{app}/sessions/{sid}/turns")
async def list_turns(
    app: str, sid: str, oda: Context, user: User, limit: Limit = 50, cursor: str | None = None
) -> TurnList:
    """The turns of a session, newest first."""
    turns = oda.turns.of_session(await oda.sessions.get(app, user, sid))
    if cursor is not None:
        position = next((i for i, turn in enumerate(turns) if turn.turn_id == cursor), None)
        if position is None:
            raise InvalidRequestError("The cursor is not valid.", remedy="use next_cursor")
        turns = turns[position + 1 :]
    page = turns[:limit]
    return TurnList(turns=page, next_cursor=page[-1].turn_id if len(turns) > limit else None)


@router.get("/turns/{tid}")
async def get_turn(tid: str, oda: Context, user: User) -> Turn:
    return oda.turns.get(tid, user)


@router.get("/turns/{tid}/events", response_model=EntryList, responses={200: _STREAM})
async def get_turn_events(
    tid: str,
    oda: Context,
    user: User,
    accept: Accept = "",
    after: Annotated[int, Query(ge=0, description="Number of the last entry seen.")] = 0,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """What has happened in a turn; as a stream, also what is still to come."""
    log = oda.turns.log_of(tid, user)
    if last_event_id is not None:
        if not last_event_id.isdecimal():
            raise InvalidRequestError("Last-Event-ID: must be a number of this turn.")
        after = int(last_event_id)
    if "text/event-stream" in accept:
        return event_stream(log, after=after, headers={})
    entries = EntryList(
        entries=[
            NumberedEntry(
                id=entry.number,
                event=entry.kind,
                data=entry.data.model_dump(mode="json")
                if isinstance(entry.data, Turn)
                else adk_event(entry.data),
            )
            for entry in log.read(after)
        ],
        last=log.last,
        done=log.closed,
    )
    return JSONResponse(entries.model_dump(mode="json"))


@router.post("/turns/{tid}/cancel")
async def cancel_turn(tid: str, oda: Context, user: User) -> Turn:
    """End a turn; one that has ended stays as it is."""
    return await oda.turns.cancel(tid, user)


@router.post(
    "/turns/{tid}/input",
    response_model=TurnResult,
    responses={200: _STREAM},
)
async def answer_turn(
    tid: str, body: AnswerInput, oda: Context, user: User, accept: Accept = ""
) -> Response:
    """Answer what a waiting turn has asked; it goes on."""
    log = oda.turns.log_of(tid, user)
    seen = log.last
    answers = [(item.id, item.confirmed, item.payload) for item in body.responses]
    await oda.turns.answer(tid, answers, user)
    if "text/event-stream" in accept:
        return event_stream(log, after=seen, headers={})
    return await _result(oda, tid, {})


async def _result(oda: OdaContext, turn_id: str, headers: dict[str, str]) -> Response:
    turn = await oda.turns.wait(turn_id)
    result = TurnResult(
        turn=turn,
        reply=turn.reply,
        events=[adk_event(event) for event in oda.turns.log_of(turn_id).events()],
    )
    return JSONResponse(result.model_dump(mode="json"), headers=headers)


def _wants_async(prefer: str) -> bool:
    return any(item.strip().lower() == "respond-async" for item in prefer.split(","))


def _within(oda: OdaContext, asked: TurnLimits | None) -> TurnLimits | None:
    """A client may lower the limits of the settings, not raise them."""
    if asked is None:
        return None
    allowed = oda.agents.limits().model_dump()
    wanted: dict[str, Any] = asked.model_dump(exclude_unset=True, exclude_none=True)
    for name, value in wanted.items():
        if allowed[name] is None or value < allowed[name]:
            allowed[name] = value
    return TurnLimits.model_validate(allowed)
