"""Migration of Redis sessions stored by ADK's own service or in an earlier layout of ODA."""

import json
import uuid
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from google.adk.sessions import Session

from oda.session.redis_keys import SessionKeys, sessions_key
from oda.session.redis_sessions import Pipe, add_session, set_fields
from oda.telemetry import get_logger

if TYPE_CHECKING:
    from redis.asyncio import Redis

log = get_logger(__name__)

_ADK_PREFIX = "adk:session:"
_APP_STATE = f"{_ADK_PREFIX}app_state:"
_USER_STATE = f"{_ADK_PREFIX}user_state:"
_UNORDERED = "oda:sessions:"
_KEYS_AT_ONCE = 1000


async def adopt_adk_sessions(client: "Redis") -> None:
    """Convert sessions of ADK's `RedisSessionService` to the layout of `RedisSessions`.

    Existing sessions are not overwritten. ADK's sessions and state expire; converted ones do not.
    Unreadable sessions are left in place and logged.
    """
    async for key in client.scan_iter(f"{_ADK_PREFIX}*", count=_KEYS_AT_ONCE, _type="string"):
        try:
            await client.transaction(partial(_move, key), key)
        except ValueError as error:
            log.warning("session_not_adopted", key=key, error=str(error))
    async for key in client.scan_iter(f"{_UNORDERED}*", count=_KEYS_AT_ONCE, _type="set"):
        await client.transaction(partial(_order, key), key)


async def _order(key: str, pipe: Pipe) -> None:
    """Convert a user's plain set of sessions to one sorted by time."""
    app_name, user_id = map(unquote, key.removeprefix(_UNORDERED).split(":"))
    session_ids = await pipe.smembers(key)
    times = {
        one: await pipe.hget(SessionKeys(app_name, user_id, one).session, "update_time")
        for one in session_ids
    }
    pipe.multi()
    for session_id, time in times.items():
        if time is not None:
            pipe.zadd(sessions_key(app_name, user_id), {session_id: float(time)}, nx=True)
    pipe.delete(key)


async def _move(key: str, pipe: Pipe) -> None:
    stored = await pipe.get(key)
    if stored is None:  # another node has converted it
        return
    if key.startswith(_APP_STATE):
        shared = SessionKeys(key.removeprefix(_APP_STATE), "", "").app_state
        _move_state(pipe, shared, json.loads(stored))
    elif key.startswith(_USER_STATE):
        app_name, _, user_id = key.removeprefix(_USER_STATE).partition(":")
        _move_state(pipe, SessionKeys(app_name, user_id, "").user_state, json.loads(stored))
    else:
        await _move_session(pipe, Session.model_validate_json(stored))
    pipe.delete(key)


def _move_state(pipe: Pipe, shared: str, state: Mapping[str, Any]) -> None:
    pipe.multi()
    for name, value in state.items():
        pipe.hsetnx(shared, name, json.dumps(value))


async def _move_session(pipe: Pipe, session: Session) -> None:
    keys = SessionKeys(session.app_name, session.user_id, session.id)
    known = await pipe.exists(keys.session)
    pipe.multi()
    if known:
        return
    add_session(pipe, keys, revision=uuid.uuid4().hex, update_time=session.last_update_time)
    set_fields(pipe, keys.fields(session.state))
    if session.events:
        pipe.rpush(keys.events, *(e.model_dump_json(exclude_none=True) for e in session.events))
        pipe.sadd(keys.event_ids, *(e.id for e in session.events))
