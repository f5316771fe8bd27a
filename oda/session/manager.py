"""`OdaSessionManager`: a bounded cache of live sessions over ADK's session service."""

import asyncio
import itertools
import uuid
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.sessions import Session
from google.adk.sessions.base_session_service import GetSessionConfig

from oda.agent.manager import OdaAgentManager
from oda.agent.turn_plugin import SessionKey
from oda.clock import Clock
from oda.errors import InvalidRequestError, SessionExistsError, SessionNotFoundError
from oda.identity.principal import DEFAULT_USER, check_id
from oda.message.storable import storable
from oda.session.listing import ListedSession, Position, list_page
from oda.session.oda_session import OdaSession
from oda.session.past_state import INITIAL, META, own
from oda.session.state import is_visible
from oda.session.user_storage import UserStorage
from oda.settings import SessionSettings


@dataclass(frozen=True)
class SessionPage:
    """A page of a user's sessions, most recently updated first."""

    sessions: Sequence[ListedSession]
    next_cursor: str | None


class OdaSessionManager:
    """Creates, finds, lists and deletes sessions.

    Live objects form an LRU cache with an idle timeout; busy sessions are never evicted. Eviction
    loses no data.
    """

    def __init__(
        self,
        agents: OdaAgentManager,
        settings: SessionSettings,
        storage: UserStorage,
        clock: Clock,
    ) -> None:
        self.agents = agents
        self._storage = storage
        self._service = agents.services.session
        self._settings = settings
        self._clock = clock
        self._live: OrderedDict[SessionKey, tuple[OdaSession, float]] = OrderedDict()
        self._opening: dict[SessionKey, asyncio.Lock] = {}
        self._observers: list[Callable[[SessionKey], None]] = []

    async def create(
        self,
        app_name: str,
        user_id: str = DEFAULT_USER,
        session_id: str | None = None,
        *,
        state: Mapping[str, Any] | None = None,
    ) -> OdaSession:
        """Create a session with an app.

        Raises:
            AgentNotFoundError, AgentLoadError: the app does not exist or cannot be loaded.
            SessionExistsError: the id is taken.
            InvalidRequestError: the id or a state key is not allowed.
            StorageQuotaError: the user has too many sessions, or the state exceeds the quota.
        """
        await self.agents.definitions.load(app_name)
        check_id("user_id", user_id)
        if session_id is not None:
            check_id("session_id", session_id)
        for key in state or {}:
            if not is_visible(key) or key.startswith("app:"):
                raise InvalidRequestError(f"The state key {key!r} is reserved.")
        session_id = session_id or uuid.uuid4().hex
        given = storable(dict(state or {}))
        initial = {INITIAL: own(given)} if own(given) else {}
        meta = {"created_at": self._clock.now(), "turns": 0}
        with _convert_taken_id(session_id):
            stored = await self._service.create_session(
                app_name=app_name,
                user_id=user_id,
                session_id=session_id,
                state={**given, **initial, META: meta},
            )
        return await self._keep_one(stored)

    async def get(self, app_name: str, user_id: str, session_id: str) -> OdaSession:
        """Return a session from the cache or the store.

        Raises:
            SessionNotFoundError: the user has no such session.
            AgentNotFoundError, AgentLoadError: its app does not exist or cannot be loaded.
        """
        key = (app_name, user_id, session_id)
        if key in self._live:
            return await self._keep(self._live[key][0])
        async with self._opening.setdefault(key, asyncio.Lock()):
            try:
                if key in self._live:
                    return await self._keep(self._live[key][0])
                await self.agents.definitions.load(app_name)
                stored = await self._service.get_session(
                    app_name=app_name,
                    user_id=user_id,
                    session_id=session_id,
                    config=GetSessionConfig(num_recent_events=0),
                )
                if stored is None:
                    raise SessionNotFoundError(
                        f"There is no session {session_id!r}.", remedy="create it first"
                    )
                return await self._keep_one(stored)
            finally:
                self._opening.pop(key, None)

    async def current(self, app_name: str, user_id: str, session_id: str) -> OdaSession:
        """Return a session with the state that is stored now, including other nodes' writes.

        Raises: as `get`.
        """
        key = (app_name, user_id, session_id)
        known = key in self._live
        session = await self.get(app_name, user_id, session_id)
        if known:
            try:
                await session.refresh()
            except SessionNotFoundError:
                await self._drop([key])
                raise
        return session

    async def fork(
        self,
        session: OdaSession,
        *,
        turn_id: str | None = None,
        session_id: str | None = None,
        unfinished: Collection[str] = (),
    ) -> OdaSession:
        """Create a session with the history of another up to a turn, see `OdaSession.fork`.

        Raises:
            TurnNotFoundError: the history has no such turn.
            ConflictError: the turn has not ended.
            SessionExistsError: the id is taken.
            InvalidRequestError: the id is not allowed.
            StorageQuotaError: the fork exceeds the user's quota.
        """
        if session_id is not None:
            check_id("session_id", session_id)
        session_id = session_id or uuid.uuid4().hex
        with _convert_taken_id(session_id):
            await session.fork(session_id, turn_id=turn_id, unfinished=unfinished)
        return await self.get(session.app_name, session.user_id, session_id)

    async def get_or_create(
        self, app_name: str, user_id: str = DEFAULT_USER, session_id: str | None = None
    ) -> OdaSession:
        """Return the session with that id, creating it if necessary.

        Raises: as `create`.
        """
        if session_id is not None:
            try:
                return await self.get(app_name, user_id, session_id)
            except SessionNotFoundError:
                pass
        try:
            return await self.create(app_name, user_id, session_id)
        except SessionExistsError:
            return await self.get(app_name, user_id, session_id or "")

    async def list(
        self,
        app_name: str,
        user_id: str = DEFAULT_USER,
        *,
        limit: int = 50,
        cursor: str | None = None,
    ) -> SessionPage:
        """Return a page of a user's sessions with an app, most recently updated first.

        Raises:
            AgentNotFoundError: the app does not exist.
            InvalidRequestError: the cursor is invalid.
        """
        await self.agents.definitions.load(app_name)
        found = await list_page(
            self._service,
            app_name=app_name,
            user_id=user_id,
            limit=limit + 1,
            behind=None if cursor is None else Position.of_cursor(cursor),
        )
        page = found[:limit]
        return SessionPage(page, page[-1].position.cursor if len(found) > limit else None)

    async def delete(self, app_name: str, user_id: str, session_id: str) -> None:
        """Cancel a session's running turn and delete the session with all its data.

        Raises: as `get`.
        """
        session = await self.current(app_name, user_id, session_id)
        await session.close()
        self._live.pop(session.key, None)
        await session.artifacts.delete_all()
        await self._service.delete_session(
            app_name=app_name, user_id=user_id, session_id=session_id
        )
        for observer in self._observers:
            observer(session.key)

    @contextmanager
    def observed(self, deleted: Callable[[SessionKey], None]) -> Iterator[None]:
        """Call `deleted` with the key of each session that this manager deletes in the block."""
        self._observers.append(deleted)
        try:
            yield
        finally:
            self._observers.remove(deleted)

    async def expire(self) -> int:
        """Evict live objects that exceeded the idle timeout; return how many."""
        limit = self._clock.now() - self._settings.idle_timeout_s
        old = itertools.takewhile(lambda entry: entry[1][1] < limit, self._live.items())
        return await self._drop([key for key, _ in old])

    async def close(self) -> None:
        """Close all live sessions."""
        for session, _ in list(self._live.values()):
            await session.close()
        self._live.clear()

    def is_busy(self, listed: ListedSession) -> bool:
        """Return whether a turn of a listed session runs or waits on this node."""
        known = self._live.get((listed.app_name, listed.user_id, listed.session_id))
        return known is not None and known[0].busy

    def _make(self, stored: Session) -> OdaSession:
        return OdaSession(
            stored,
            self.agents,
            self._storage,
            max_queued=self._settings.max_queued,
            clock=self._clock,
        )

    async def _keep_one(self, stored: Session) -> OdaSession:
        """Keep a session that was just read or created, unless another request has it already."""
        known = self._live.get((stored.app_name, stored.user_id, stored.id))
        return await self._keep(known[0] if known else self._make(stored))

    async def _keep(self, session: OdaSession) -> OdaSession:
        self._live[session.key] = (session, self._clock.now())
        self._live.move_to_end(session.key)
        surplus = len(self._live) - self._settings.max_live
        if surplus > 0:
            await self._drop(list(self._live)[:surplus])
        await self.expire()
        return session

    async def _drop(self, keys: Sequence[SessionKey]) -> int:
        dropped = [
            self._live.pop(key)[0] for key in keys if key in self._live and not self._busy(key)
        ]
        for session in dropped:
            await session.close()
        return len(dropped)

    def _busy(self, key: SessionKey) -> bool:
        return self._live[key][0].busy


@contextmanager
def _convert_taken_id(session_id: str) -> Iterator[None]:
    try:
        yield
    except AlreadyExistsError as error:
        raise SessionExistsError(
            f"There is a session {session_id!r} already.", remedy="choose another id, or none"
        ) from error
