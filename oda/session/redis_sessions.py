"""Sessions in Redis with the guarantees of sessions in a database."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from weakref import WeakValueDictionary

from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events import Event
from google.adk.platform.time import get_time
from google.adk.sessions import Session
from google.adk.sessions.base_session_service import (
    BaseSessionService,
    GetSessionConfig,
    ListSessionsResponse,
)
from tenacity import (
    AsyncRetrying,
    retry_if_exception,
    stop_after_attempt,
    stop_never,
    wait_exponential,
)

from oda.errors import ConfigurationError, SessionsUnavailableError
from oda.session.listing import ListedSession, Position
from oda.session.live_history import current_fence
from oda.session.past_state import META
from oda.session.redis_keys import (
    SessionKeys,
    app_state_key,
    sessions_key,
    user_state_key,
    users_key,
)

if TYPE_CHECKING:
    from redis.asyncio import Redis

Pipe = Any
"""A Redis pipeline. Its methods have imprecise types or none, hence `Any`."""

_CONNECTIONS = 32
_PATIENCE_S = 4.0
"""Time for a connection, a place in the pool, or an answer."""

_AGAIN_S = wait_exponential(multiplier=0.1, max=2.0)

P = ParamSpec("P")
T = TypeVar("T")


@asynccontextmanager
async def open_redis(url: str) -> AsyncIterator["Redis"]:
    """Open a client with a bounded pool; connections are opened on first use.

    Raises:
        ConfigurationError: the URL is malformed, or redis is not installed.
    """
    try:
        from redis.asyncio import BlockingConnectionPool, Redis
    except ImportError as error:
        raise ConfigurationError(
            "sessions in Redis need the extra 'redis'", remedy="install oda[redis]"
        ) from error
    try:
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=_CONNECTIONS,
            timeout=_PATIENCE_S,
            socket_timeout=_PATIENCE_S,
            socket_connect_timeout=_PATIENCE_S,
            decode_responses=True,
        )
    except ValueError as error:
        raise ConfigurationError(
            f"sessions in Redis cannot be used: {error}", remedy="correct ODA_SESSION_SERVICE"
        ) from error
    async with Redis.from_pool(pool) as client:
        yield client


def _reached(
    method: Callable[P, Coroutine[Any, Any, T]],
) -> Callable[P, Coroutine[Any, Any, T]]:
    """Have a method raise `SessionsUnavailableError` if Redis cannot be reached."""

    @wraps(method)
    async def reach(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await method(*args, **kwargs)
        except Exception as error:
            if not _is_away(error):
                raise
            raise SessionsUnavailableError(
                f"The sessions in Redis cannot be reached: {error}",
                remedy="check ODA_SESSION_SERVICE and that the server is running",
            ) from error

    return reach


def _is_away(error: BaseException) -> bool:
    from redis.exceptions import ConnectionError, ReadOnlyError, TimeoutError

    return isinstance(error, ConnectionError | TimeoutError | ReadOnlyError)


class RedisSessions(BaseSessionService):
    """Session service in which each write is one transaction, of constant cost.

    ADK's own service stores a session, and the `user:` and `app:` state, as one value each. It
    rewrites them on each change, so concurrent writes get lost, and accepts stale writes.
    """

    def __init__(self, client: "Redis") -> None:
        """Use a client that decodes responses; the caller closes it."""
        self._client: Any = client
        self._appending: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @_reached
    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Store a new session.

        Raises:
            AlreadyExistsError: the id is taken; nothing is stored.
        """
        keys = SessionKeys(app_name, user_id, session_id or uuid.uuid4().hex)
        fields = keys.fields(state or {})
        revision = uuid.uuid4().hex

        async def create(pipe: Pipe) -> None:
            known = await pipe.hget(keys.session, "revision")
            if known not in (None, revision):
                raise AlreadyExistsError(f"There is a session {keys.session_id!r} already.")
            pipe.multi()
            add_session(pipe, keys, revision=revision, update_time=get_time())
            set_fields(pipe, fields)

        await self._client.transaction(create, keys.session)
        created = await self.get_session(
            app_name=app_name, user_id=user_id, session_id=keys.session_id
        )
        if created is None:
            raise SessionNotFoundError(f"The session {keys.session_id!r} was deleted at once.")
        return created

    @_reached
    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        """Return a session, read atomically; only the events that `config` asks for are read."""
        keys = SessionKeys(app_name, user_id, session_id)
        window = config.num_recent_events if config else None
        async with self._client.pipeline() as pipe:
            for key in (keys.session, keys.state, keys.user_state, keys.app_state):
                pipe.hgetall(key)
            if window != 0:
                pipe.lrange(keys.events, -(window or 0), -1)
            session, own, users, apps, *events = await pipe.execute()
        if not session:
            return None
        found = _session(keys, session, _merge_states(own, users, apps))
        found.events = [Event.model_validate_json(text) for text in (events[0] if events else ())]
        if config and config.after_timestamp is not None:
            found.events = [e for e in found.events if e.timestamp >= config.after_timestamp]
        return found

    @_reached
    async def list_sessions(
        self, *, app_name: str, user_id: str | None = None
    ) -> ListSessionsResponse:
        """Return the sessions of one or all users without events, least recently updated first."""
        async with self._client.pipeline(transaction=False) as pipe:
            users = [user_id] if user_id is not None else await self._users(app_name)
            for user in users:
                pipe.zrange(sessions_key(app_name, user), 0, -1)
                pipe.hgetall(user_state_key(app_name, user))
            pipe.hgetall(app_state_key(app_name))
            *of_users, apps = await pipe.execute()
            ids, states = of_users[::2], of_users[1::2]
            listed = [
                (SessionKeys(app_name, user, session_id), state)
                for user, its, state in zip(users, ids, states, strict=True)
                for session_id in its
            ]
            for keys, _ in listed:
                pipe.hgetall(keys.session)
                pipe.hgetall(keys.state)
            stored = await pipe.execute()
        sessions = [
            _session(keys, session, _merge_states(own, state, apps))
            for (keys, state), session, own in zip(listed, stored[::2], stored[1::2], strict=True)
            if session
        ]
        sessions.sort(key=lambda session: (session.last_update_time, session.user_id, session.id))
        return ListSessionsResponse(sessions=sessions)

    @_reached
    async def list_page(
        self, *, app_name: str, user_id: str, limit: int, behind: Position | None
    ) -> Sequence[ListedSession]:
        """Return a page; only one field of each session's state is read."""
        of_user = sessions_key(app_name, user_id)
        async with self._client.pipeline(transaction=False) as pipe:
            if behind is None:
                pipe.zrevrange(of_user, 0, limit - 1, withscores=True)
            else:
                time = repr(behind.updated_at)
                pipe.zrevrangebyscore(of_user, time, time, withscores=True)
                pipe.zrevrangebyscore(
                    of_user, f"({time}", "-inf", start=0, num=limit, withscores=True
                )
            found = [
                Position(time, session_id)
                for part in await pipe.execute()
                for session_id, time in part
            ]
            page = [one for one in found if behind is None or one < behind][:limit]
            for one in page:
                pipe.hget(SessionKeys(app_name, user_id, one.session_id).state, META)
            metas = await pipe.execute()
        return [
            ListedSession.of(
                *(app_name, user_id, one.session_id, one.updated_at), meta and json.loads(meta)
            )
            for one, meta in zip(page, metas, strict=True)
        ]

    @_reached
    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        keys = SessionKeys(app_name, user_id, session_id)
        async with self._client.pipeline() as pipe:
            pipe.unlink(*keys.all_of_the_session)
            pipe.zrem(sessions_key(app_name, user_id), session_id)
            await pipe.execute()

    @_reached
    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        stored = await self._client.hgetall(user_state_key(app_name, user_id))
        return _decode_state("", stored)

    @_reached
    async def append_event(self, session: Session, event: Event) -> Event:
        """Store an event and its state changes atomically.

        In a turn it waits for a Redis that is away: what the event tells may have been paid for.

        Raises:
            SessionNotFoundError: the session has been deleted.
            StaleSessionError: the session has changed since `session` was read, or has an event
                with that id.
            ValueError: a state value cannot be stored.
        """
        if event.partial:
            return event
        keys = SessionKeys(session.app_name, session.user_id, session.id)
        fields = keys.fields(event.actions.state_delta)
        of_user = sessions_key(session.app_name, session.user_id)
        text = _event_json(event)
        revision = uuid.uuid4().hex

        async def append(pipe: Pipe) -> None:
            known = await pipe.hget(keys.session, "revision")
            if known == revision:  # already stored, before the connection was lost
                return
            if known is None:
                raise SessionNotFoundError(f"There is no session {session.id!r}.")
            if known != session._storage_update_marker:
                raise StaleSessionError("The session has changed since it was read; read it again.")
            if await pipe.sismember(keys.event_ids, event.id):
                raise StaleSessionError(f"The event {event.id!r} is stored already.")
            pipe.multi()
            pipe.hset(
                keys.session,
                mapping={"revision": revision, "update_time": repr(event.timestamp)},
            )
            pipe.zadd(of_user, {session.id: event.timestamp})
            pipe.rpush(keys.events, text)
            pipe.sadd(keys.event_ids, event.id)
            set_fields(pipe, fields)

        in_turn = current_fence.get() is not None
        attempts = AsyncRetrying(
            retry=retry_if_exception(_is_away),
            wait=_AGAIN_S,
            stop=stop_never if in_turn else stop_after_attempt(1),
            reraise=True,
        )
        lock = self._appending.setdefault(keys.session, asyncio.Lock())
        async with lock:
            await attempts(self._client.transaction, append, keys.session)
            session._storage_update_marker = revision
        session.last_update_time = event.timestamp
        return await super().append_event(session, event)

    async def _users(self, app_name: str) -> list[str]:
        return sorted(await self._client.smembers(users_key(app_name)))


def add_session(pipe: Pipe, keys: SessionKeys, *, revision: str, update_time: float) -> None:
    """Add a session without state and events; `update_time` is in epoch seconds."""
    pipe.hset(keys.session, mapping={"revision": revision, "update_time": repr(update_time)})
    pipe.zadd(sessions_key(keys.app_name, keys.user_id), {keys.session_id: update_time})
    pipe.sadd(users_key(keys.app_name), keys.user_id)


def set_fields(pipe: Pipe, fields: Mapping[str, Mapping[str, str]]) -> None:
    """Set individual hash fields, so that concurrent changes of other fields are kept."""
    for key, values in fields.items():
        pipe.hset(key, mapping=values)


def _event_json(event: Event) -> str:
    delta = event.actions.state_delta
    kept = {key: value for key, value in delta.items() if not key.startswith("temp:")}
    actions = event.actions.model_copy(update={"state_delta": kept})
    return event.model_copy(update={"actions": actions}).model_dump_json(exclude_none=True)


def _session(keys: SessionKeys, stored: Mapping[str, str], state: dict[str, Any]) -> Session:
    session = Session(
        app_name=keys.app_name,
        user_id=keys.user_id,
        id=keys.session_id,
        state=state,
        last_update_time=float(stored["update_time"]),
    )
    session._storage_update_marker = stored["revision"]
    return session


def _merge_states(
    own: Mapping[str, str], users: Mapping[str, str], apps: Mapping[str, str]
) -> dict[str, Any]:
    return {
        **_decode_state("", own),
        **_decode_state("app:", apps),
        **_decode_state("user:", users),
    }


def _decode_state(prefix: str, stored: Mapping[str, str]) -> dict[str, Any]:
    return {prefix + key: json.loads(text) for key, text in stored.items()}
