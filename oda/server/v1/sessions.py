"""Conversations: create, read, list, delete, history, state."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Header, Query, Request, Response

from oda.errors import InvalidRequestError, StaleStateError
from oda.server.access import Context, User
from oda.server.v1.wire import (
    CreateSession,
    EventList,
    SessionList,
    SessionResource,
    adk_event,
    etag,
    session_resource,
)
from oda.session.oda_session import OdaSession

router = APIRouter(prefix="/apps/{app}/sessions", tags=["sessions"])

Limit = Annotated[int, Query(ge=1, le=200)]


@router.post("", status_code=201)
async def create_session(
    app: str,
    oda: Context,
    user: User,
    request: Request,
    response: Response,
    body: CreateSession | None = None,
) -> SessionResource:
    """Start a conversation."""
    body = body or CreateSession()
    session = await oda.sessions.create(app, user, body.session_id, state=body.state)
    response.headers["Location"] = f"{request.url.path}/{session.session_id}"
    return _with_etag(session, response)


@router.get("")
async def list_sessions(
    app: str, oda: Context, user: User, limit: Limit = 50, cursor: str | None = None
) -> SessionList:
    """The user's conversations, the most recently used first."""
    page = await oda.sessions.list(app, user, limit=limit, cursor=cursor)
    return SessionList(
        sessions=[session_resource(oda.sessions.live(stored)) for stored in page.sessions],
        next_cursor=page.next_cursor,
    )


@router.get("/{sid}")
async def get_session(
    app: str, sid: str, oda: Context, user: User, response: Response
) -> SessionResource:
    return _with_etag(await oda.sessions.get(app, user, sid), response)


@router.delete("/{sid}", status_code=204)
async def delete_session(app: str, sid: str, oda: Context, user: User) -> None:
    """Remove a conversation; a running turn is cancelled first."""
    session = await oda.sessions.get(app, user, sid)
    await oda.turns.cancel_all(session)
    await oda.sessions.delete(app, user, sid)


@router.get("/{sid}/events")
async def get_events(
    app: str,
    sid: str,
    oda: Context,
    user: User,
    after: Annotated[str | None, Query(description="Id of the last event already seen.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> EventList:
    """The history, oldest first."""
    events = await (await oda.sessions.get(app, user, sid)).history()
    if after is not None:
        position = next((i for i, event in enumerate(events) if event.id == after), None)
        if position is None:
            raise InvalidRequestError(f"after: there is no event {after!r} in this session.")
        events = events[position + 1 :]
    page = events[:limit]
    return EventList(
        events=[adk_event(event) for event in page],
        next_after=page[-1].id if len(events) > limit else None,
    )


@router.get("/{sid}/state")
async def get_state(
    app: str, sid: str, oda: Context, user: User, response: Response
) -> dict[str, Any]:
    """The state object itself."""
    return _state(await oda.sessions.get(app, user, sid), response)


@router.patch("/{sid}/state")
async def patch_state(
    app: str,
    sid: str,
    oda: Context,
    user: User,
    response: Response,
    patch: Annotated[dict[str, Any], Body(description="JSON Merge Patch (RFC 7396).")],
    if_match: Annotated[str | None, Header()] = None,
) -> dict[str, Any]:
    """Change the state; with `If-Match`, only if it is still the one that was read."""
    session = await oda.sessions.get(app, user, sid)
    current = session.state.to_dict()
    if if_match not in (None, "*", etag(current)):
        raise StaleStateError("The state has changed since it was read.", remedy="read it again")
    try:
        await session.state.update(
            {key: _merged(current.get(key), value) for key, value in patch.items()}
        )
    except ValueError as error:
        raise InvalidRequestError(f"{error}.") from error
    return _state(session, response)


def _with_etag(session: OdaSession, response: Response) -> SessionResource:
    resource = session_resource(session)
    response.headers["ETag"] = etag(resource)
    return resource


def _state(session: OdaSession, response: Response) -> dict[str, Any]:
    state = session.state.to_dict()
    response.headers["ETag"] = etag(state)
    return state


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
