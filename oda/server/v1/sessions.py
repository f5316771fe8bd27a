"""Conversations: create, read, list, delete, history, state, rewind, fork."""

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Body, Header, Query, Response
from pydantic_core import to_json

from oda.errors import StaleStateError
from oda.message.storable import storable
from oda.server.access import Context, User
from oda.server.client_state import change_state
from oda.server.openapi import problems, sends
from oda.server.problems import Refusal
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


@router.post(
    "", status_code=201, responses={201: sends("ETag", "Location"), **problems(404, 409, 415)}
)
async def create_session(
    app: AppName,
    oda: Context,
    user: User,
    response: Response,
    body: Annotated[CreateSession, Body(default_factory=CreateSession)],
) -> SessionResource:
    """Start a conversation."""
    refuse_client_keys(body.state or {})
    _check_size(body.state or {}, oda.settings.limits.state_bytes)
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
        sessions=[session_resource(one, busy=oda.sessions.is_busy(one)) for one in page.sessions],
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
    await oda.delete_session(session)


@router.get("/{sid}/events", responses=problems(404, 410))
async def list_session_events(
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
async def get_session_state(
    app: AppName, sid: SessionId, oda: Context, user: User, response: Response
) -> dict[str, Any]:
    """The state object itself."""
    session = await oda.sessions.current(app, user, sid)
    return _state(session.state.to_dict(), response)


@router.patch("/{sid}/state", responses={200: sends("ETag"), **problems(404, 409, 412, 413, 415)})
async def update_session_state(
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
    session = await oda.sessions.get(app, user, sid)

    def merged(current: dict[str, Any]) -> dict[str, Any]:
        if if_match is not None and not _names(if_match, etag(current)):
            raise StaleStateError(
                "The state has changed since it was read.", remedy="read it again"
            )
        values = {key: _merged(current.get(key), value) for key, value in patch.items()}
        _check_size({**current, **values}, oda.settings.limits.state_bytes)
        return {key: value for key, value in values.items() if value != current.get(key)}

    return _state(await change_state(session, patch, merged), response)


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
    for stored in await oda.turns.unfinished(session):
        if stored.turn.turn_id in taken_back:
            await oda.turns.cancel(stored.turn.turn_id, user)
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
    body: Annotated[ForkSession, Body(default_factory=ForkSession)],
) -> SessionResource:
    """Begin a new conversation with the history of this one up to and including a turn.

    State and artifacts are as they were then. Turns that have not ended are left out.
    """
    session = await oda.sessions.get(app, user, sid)
    made = await oda.sessions.fork(
        session,
        turn_id=body.turn_id,
        session_id=body.session_id,
        unfinished=[stored.turn.turn_id for stored in await oda.turns.unfinished(session)],
    )
    response.headers["Location"] = _path(made)
    return _with_etag(made, response)


def _path(session: OdaSession) -> str:
    return f"/v1/apps/{quote(session.app_name)}/sessions/{quote(session.session_id)}"


def _with_etag(session: OdaSession, response: Response) -> SessionResource:
    resource = session_resource(session, busy=session.busy)
    response.headers["ETag"] = etag(resource)
    return resource


def _state(state: dict[str, Any], response: Response) -> dict[str, Any]:
    response.headers["ETag"] = etag(state)
    return state


def _names(if_match: str, tag: str) -> bool:
    """Return whether a list of entity tags contains the given one."""
    return bool({"*", tag} & {one.strip() for one in if_match.split(",")})


def _check_size(state: dict[str, Any], most: int) -> None:
    if len(to_json(storable(state))) > most:
        raise Refusal(
            413,
            f"The state would be larger than {most} bytes.",
            remedy="set keys to null that are not needed, or keep files as artifacts",
        )


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
