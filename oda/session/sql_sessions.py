"""Sessions in an SQL database: ADK's, without the writes that it loses."""

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from google.adk.errors import StaleSessionError
from google.adk.events import Event
from google.adk.sessions import DatabaseSessionService, Session
from google.adk.sessions.schemas.v1 import StorageAppState, StorageUserState
from sqlalchemy import Connection
from sqlalchemy.event import listens_for
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession
from sqlalchemy.pool import StaticPool

from oda.database.database import Database
from oda.message.storable import storable

T = TypeVar("T")

_SharedState = StorageAppState | StorageUserState

_TICK_S = 2e-6
"""The database keeps microseconds; this much later is later there too."""


class SqlSessions(DatabaseSessionService):
    """What is written to `user:` and `app:` state at the same time is merged key by key."""

    def __init__(self, database: Database) -> None:
        super().__init__(db_engine=_locking_early(database.engine))
        self._journal = database.journal

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Store a new session; when something fails, nothing of it stays.

        ADK merges the shared part of `state` without a lock; here it follows under one.

        Raises:
            AlreadyExistsError: the id is taken; nothing is stored.
        """
        given = state or {}
        shared = {key: value for key, value in given.items() if key.startswith(("user:", "app:"))}
        own = {key: value for key, value in given.items() if key not in shared}
        creating = super().create_session(
            app_name=app_name, user_id=user_id, state=own, session_id=session_id
        )
        created = await _to_its_end(creating)
        if shared:
            try:
                created.state.update(await _to_its_end(self._share(created, storable(shared))))
            except BaseException:
                await self.delete_session(app_name, user_id, created.id)
                raise
        return created

    async def append_event(self, session: Session, event: Event) -> Event:
        """Store an event, after all that the session is known to hold.

        Events are read in the order of their times. One whose node has a slow clock, or that comes
        in the same microsecond as the one before, gets the next time that is free.

        Raises:
            SessionNotFoundError: the session has been deleted.
            StaleSessionError: it has been written to since `session` was read, or holds an event
                of that id.
        """
        if session.events and not event.partial:
            event.timestamp = max(event.timestamp, session.events[-1].timestamp + _TICK_S)
        if event.get_function_responses():
            await self._journal.run(_nothing)  # so that the tool ledger has its results first
        try:
            return await _to_its_end(super().append_event(session, event))
        except IntegrityError as error:
            raise StaleSessionError(f"The event {event.id!r} is stored already.") from error

    async def delete_session(self, app_name: str, user_id: str, session_id: str) -> None:
        await _to_its_end(super().delete_session(app_name, user_id, session_id))

    async def _share(self, session: Session, delta: Mapping[str, Any]) -> Mapping[str, Any]:
        rows: tuple[tuple[str, type[_SharedState], Any], ...] = (
            ("app:", StorageAppState, session.app_name),
            ("user:", StorageUserState, (session.app_name, session.user_id)),
        )
        async with AsyncSession(self.db_engine) as sql, sql.begin():
            for prefix, model, key in rows:
                names = [name for name in delta if name.startswith(prefix)]
                if names:
                    row: _SharedState = await sql.get_one(model, key, with_for_update=True)
                    row.state.update({name.removeprefix(prefix): delta[name] for name in names})
        return delta


def _locking_early(engine: AsyncEngine) -> AsyncEngine:
    """An engine on the same pool whose transactions hold SQLite's write lock from the beginning.

    ADK reads before it writes. Where rows cannot be locked, what another connection writes in
    between would be lost. A database in memory has one connection, and nothing to lock.
    """
    if engine.dialect.name != "sqlite" or isinstance(engine.pool, StaticPool):
        return engine
    sessions = engine.execution_options(read_only=False)

    @listens_for(sessions.sync_engine, "begin")
    def lock(connection: Connection) -> None:
        if not connection.get_execution_options()["read_only"]:
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    return sessions


async def _nothing(_: AsyncConnection) -> None:
    """An operation that is done once all that was deferred before it is stored."""


async def _to_its_end(write: Coroutine[Any, Any, T]) -> T:
    """A write that has begun ends before who waits for it is cancelled.

    Cut off in the middle, SQLite stays locked until the last cursor is collected as garbage.
    """
    writing = asyncio.create_task(write)
    try:
        return await asyncio.shield(writing)
    except asyncio.CancelledError:
        await asyncio.wait([writing])
        raise
