"""Conversations: create, read, list, delete, history, state, rewind, fork."""

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Body, Header, Query, Response

from oda.context import OdaContext
from oda.errors import InvalidRequestError, StaleStateError
from oda.server.access import Context, User
from oda.server.openapi import Responses, problems, sends
from oda.server.v1.paths import AppName, SessionId
from oda.server.v1.wire import (
    ClientState,
    CreateSession,
    EventList,
    ForkSession,
    RewindSession,
    SessionList,
    SessionResource,
    adk_event,
    etag,
    session_resource,
)
from oda.session.oda_session import OdaSession
from oda.session.state import refuse_client_keys
from oda.turn.record import Turn

router = APIRouter(prefix="/apps/{app}/sessions", tags=["sessions"])

Limit = Annotated[int, Query(ge=1, le=200)]
Cursor = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=4096,
        description="`next_cursor` of the page before.",
    ),
]

_CREATED: Responses = {201: sends("ETag", "Location"), **problems(404, 409, 415)}
_NEWEST_TURNS = 200
"""Among these are all that run or wait for their time; fewer may wait in a session."""
_PATCH_WAIT_S = 3.0
"""How long a change of the state waits for a running turn."""


@router.post(
    "", status_code=201, responses={201: sends("ETag", "Location"), **problems(404, 409, 415)}
)
async def create_session(
    app: AppName,
    oda: Context,
    user: User,
    response: Response,
    body: CreateSession | None = None,
) -> SessionResource:
    """Start a conversation."""
    body = body or CreateSession()
    refuse_client_keys(body.state or {})
    session = await oda.sessions.create(app, user, body.session_id, state=body.state)
    response.headers["Location"] = _path(session)
    return _with_etag(session, response)


@router.get("", responses=problems(404))
async def list_sessions(
    app: AppName, oda: Context, user: User, limit: Limit = 50, cursor: Cursor = None
) -> SessionList:
    """The user's conversations, the most recently used first."""
    page = await oda.sessions.list(app, user, limit=limit, cursor=cursor)
    return SessionList(
        sessions=[session_resource(oda.sessions.live(stored)) for stored in page.sessions],
        next_cursor=page.next_cursor,
    )


@router.get("/{sid}", responses={200: sends("ETag"), **problems(404)})
async def get_session(
    app: AppName, sid: SessionId, oda: Context, user: User, response: Response
) -> SessionResource:
    return _with_etag(await oda.sessions.current(app, user, sid), response)


@router.delete("/{sid}", status_code=204, responses=problems(404, 409))
async def delete_session(app: AppName, sid: SessionId, oda: Context, user: User) -> None:
    """Remove a conversation; a running turn is cancelled first."""
    session = await oda.sessions.get(app, user, sid)
    await oda.turns.cancel_all(session)
    await oda.delete_session(session)


@router.get("/{sid}/events", responses=problems(404, 410))
async def get_events(
    app: AppName,
    sid: SessionId,
    oda: Context,
    user: User,
    after: Annotated[
        str | None, Query(max_length=128, description="Id of the last event already seen.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> EventList:
    """The history as it holds now, oldest first; an `after` that was rewound is 410."""
    events = await (await oda.sessions.get(app, user, sid)).history(after=after)
    page = events[:limit]
    return EventList(
        events=[adk_event(event) for event in page],
        next_after=page[-1].id if len(events) > limit else None,
    )


@router.get("/{sid}/state", responses={200: sends("ETag"), **problems(404)})
async def get_state(
    app: AppName, sid: SessionId, oda: Context, user: User, response: Response
) -> dict[str, Any]:
    """The state object itself."""
    session = await oda.sessions.current(app, user, sid)
    return _state(session.state.to_dict(), response)


@router.patch("/{sid}/state", responses={200: sends("ETag"), **problems(404, 409, 412, 415)})
async def patch_state(
    app: AppName,
    sid: SessionId,
    oda: Context,
    user: User,
    response: Response,
    patch: Annotated[ClientState, Body(description="JSON Merge Patch (RFC 7396).")],
    if_match: Annotated[str | None, Header()] = None,
) -> dict[str, Any]:
    """Change the state; with `If-Match`, only if it is still the one that was read.

    While a turn runs this waits for its end, but not for long: then it is 409 `session_busy`.
    """
    refuse_client_keys(patch)
    session = await oda.sessions.get(app, user, sid)

    def merged(current: dict[str, Any]) -> dict[str, Any]:
        if if_match is not None and not _names(if_match, etag(current)):
            raise StaleStateError(
                "The state has changed since it was read.", remedy="read it again"
            )
        values = {key: _merged(current.get(key), value) for key, value in patch.items()}
        return {key: value for key, value in values.items() if value != current.get(key)}

    try:
        state = await session.revise(merged, within_s=_PATCH_WAIT_S)
    except ValueError as error:
        raise InvalidRequestError(f"{error}.") from error
    return _state(state, response)


@router.post("/{sid}/rewind", responses={200: sends("ETag"), **problems(404, 409, 415)})
async def rewind_session(
    app: AppName, sid: SessionId, body: RewindSession, oda: Context, user: User, response: Response
) -> SessionResource:
    """Go back to before a turn, with the session's own state and what agents made of artifacts.

    What is the user's or the app's stays, and so do uploads. 409 while a turn runs or is queued;
    one that waits for a person ends as cancelled.
    """
    session = await oda.sessions.get(app, user, sid)
    taken_back = await session.rewind(body.turn_id, on_busy="reject")
    for turn in await _unfinished(oda, session):
        if turn.turn_id in taken_back:
            await oda.turns.cancel(turn.turn_id, user)
    return _with_etag(session, response)


@router.post(
    "/{sid}/fork",
    status_code=201,
    responses={201: sends("ETag", "Location"), **problems(404, 409, 415)},
)
async def fork_session(
    app: AppName,
    sid: SessionId,
    oda: Context,
    user: User,
    response: Response,
    body: ForkSession | None = None,
) -> SessionResource:
    """Begin a new conversation with the history of this one up to and including a turn.

    State and artifacts are as they were then. Turns that have not ended are left out.
    """
    body = body or ForkSession()
    session = await oda.sessions.get(app, user, sid)
    made = await oda.sessions.fork(
        session,
        turn_id=body.turn_id,
        session_id=body.session_id,
        unfinished=[turn.turn_id for turn in await _unfinished(oda, session)],
    )
    response.headers["Location"] = _path(made)
    return _with_etag(made, response)


async def _unfinished(oda: OdaContext, session: OdaSession) -> list[Turn]:
    newest, _ = await oda.turns.of_session(session, limit=_NEWEST_TURNS)
    return [turn for turn in newest if not turn.final]


def _path(session: OdaSession) -> str:
    return f"/v1/apps/{quote(session.app_name)}/sessions/{quote(session.session_id)}"


def _with_etag(session: OdaSession, response: Response) -> SessionResource:
    resource = session_resource(session)
    response.headers["ETag"] = etag(resource)
    return resource


def _state(state: dict[str, Any], response: Response) -> dict[str, Any]:
    response.headers["ETag"] = etag(state)
    return state


def _names(if_match: str, tag: str) -> bool:
    """Whether a list of validators has this one."""
    return bool({"*", tag} & {one.strip() for one in if_match.split(",")})


def _merged(target: Any, patch: Any) -> Any:
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), value)
    return result
