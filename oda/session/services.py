"""Creation of ADK's services from the settings."""

import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from google.adk.artifacts.base_artifact_service import BaseArtifactService
from google.adk.errors import StaleSessionError
from google.adk.events import Event
from google.adk.sessions import InMemorySessionService, Session
from google.adk.sessions.base_session_service import BaseSessionService

from oda.agent.failure import classify
from oda.agent.manager import Ping, Services
from oda.database.database import Database, open_database
from oda.database.engine import is_sql, make_directory, shown
from oda.database.failures import first_line
from oda.errors import ConfigurationError, UnavailableError
from oda.session.listing import ListedSession, Position, newest
from oda.session.redis_adoption import adopt_adk_sessions
from oda.session.redis_sessions import RedisSessions, open_redis
from oda.settings import Settings
from oda.telemetry import experimental_on_purpose

IN_MEMORY = "memory://"


@asynccontextmanager
async def open_services(settings: Settings, database: Database) -> AsyncIterator[Services]:
    """Open ADK's services as configured; by default, sessions are stored in `database`.

    Raises:
        ConfigurationError: a URL is malformed, or needs a package that is not installed.
        UnavailableError: the store of the sessions is unreachable.
    """
    from google.adk.artifacts.file_artifact_service import FileArtifactService
    from google.adk.auth.credential_service.in_memory_credential_service import (
        InMemoryCredentialService,
    )
    from google.adk.memory.in_memory_memory_service import InMemoryMemoryService

    make_directory(settings.data_dir)
    artifacts: BaseArtifactService = FileArtifactService(root_dir=settings.data_dir / "artifacts")
    with experimental_on_purpose():
        credentials = InMemoryCredentialService()
    async with _open_session_service(settings, database) as (session, ping):
        yield Services(
            session=session,
            ping=ping,
            artifact=artifacts,
            uploads=artifacts,
            memory=InMemoryMemoryService(),
            credential=credentials,
        )


@asynccontextmanager
async def _open_session_service(
    settings: Settings, database: Database
) -> AsyncIterator[tuple[BaseSessionService, Ping]]:
    url = settings.session_service or database.url
    if stored_with_turns(settings, database):
        yield await _in_sql(database), database.ping
    elif is_sql(url):
        async with open_database(url) as elsewhere:
            yield await _in_sql(elsewhere), elsewhere.ping
    elif url.startswith(("redis://", "rediss://")):
        async with open_redis(url) as client:

            async def ping() -> None:
                with _convert_connection_errors(url):
                    await client.ping()

            with _convert_connection_errors(url):
                await adopt_adk_sessions(client)
            yield RedisSessions(client), ping
    else:
        service = MemorySessions() if url == IN_MEMORY else _from_adk_registry(url)

        async def ask() -> None:
            with _convert_connection_errors(url):
                await service.list_sessions(app_name="oda_ping", user_id="oda_ping")

        try:
            await ask()
            yield service, ask
        finally:
            await service.flush()


def stored_with_turns(settings: Settings, database: Database) -> bool:
    """Return whether the sessions are kept in the database of the turns."""
    return settings.session_service in (None, database.url)


async def _in_sql(database: Database) -> BaseSessionService:
    from oda.session.sql_sessions import SqlSessions

    service = SqlSessions(database)
    with database.reaching():
        await service.prepare_tables()
    return service


@contextmanager
def _convert_connection_errors(url: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if not classify(error, now=0.0).retryable:
            raise
        raise UnavailableError(
            f"the store {shown(url)} cannot be reached: {first_line(error)}",
            remedy="check ODA_SESSION_SERVICE and that the server is running",
        ) from error


def _from_adk_registry(url: str) -> BaseSessionService:
    from google.adk.cli.service_registry import get_service_registry

    try:
        service = get_service_registry().create_session_service(url)
    except (ValueError, ImportError) as error:
        raise ConfigurationError(
            f"the session service {shown(url)} cannot be used: {first_line(error)}",
            remedy="correct ODA_SESSION_SERVICE",
        ) from error
    if service is None:
        raise ConfigurationError(
            f"there is no session service for {shown(url)}", remedy="correct ODA_SESSION_SERVICE"
        )
    return service


class MemorySessions(InMemorySessionService):
    """ADK's in-memory service with session revisions, so that stale writes are refused."""

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        created = await super().create_session(
            app_name=app_name, user_id=user_id, state=state, session_id=session_id
        )
        self._revise(created)
        return created

    async def append_event(self, session: Session, event: Event) -> Event:
        """Store an event.

        Raises:
            SessionNotFoundError: the session has been deleted.
            StaleSessionError: the session has changed since `session` was read, or has an event
                with that id.
        """
        stored = self._stored(session)
        if event.partial or stored is None:
            return await super().append_event(session, event)
        if stored._storage_update_marker != session._storage_update_marker:
            raise StaleSessionError("The session has changed since it was read; read it again.")
        if any(known.id == event.id for known in stored.events):
            raise StaleSessionError(f"The event {event.id!r} is stored already.")
        appended = await super().append_event(session, event)
        self._revise(session)
        return appended

    async def list_page(
        self, *, app_name: str, user_id: str, limit: int, behind: Position | None
    ) -> Sequence[ListedSession]:
        """Return a page without copying any session."""
        of_user = self.sessions.get(app_name, {}).get(user_id, {})
        return newest([*of_user.values()], limit, behind)

    def _stored(self, session: Session) -> Session | None:
        return self.sessions.get(session.app_name, {}).get(session.user_id, {}).get(session.id)

    def _revise(self, session: Session) -> None:
        session._storage_update_marker = uuid.uuid4().hex
        if stored := self._stored(session):
            stored._storage_update_marker = session._storage_update_marker
