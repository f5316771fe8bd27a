"""URLs to ADK services."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from google.adk.artifacts.base_artifact_service import BaseArtifactService
from google.adk.sessions.base_session_service import BaseSessionService

from oda.agent.failure import classify
from oda.agent.manager import Ping, Services
from oda.database.database import Database, open_database
from oda.database.engine import first_line, is_sql, make_directory, shown
from oda.errors import ConfigurationError, UnavailableError
from oda.settings import Settings
from oda.telemetry import experimental_on_purpose


@asynccontextmanager
async def open_services(settings: Settings, database: Database) -> AsyncIterator[Services]:
    """ADK's services as the settings name them; sessions stand in `database` by default.

    Raises:
        ConfigurationError: a URL is malformed, or names what is not installed.
        UnavailableError: the database cannot be reached.
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
            memory=InMemoryMemoryService(),
            credential=credentials,
        )


@asynccontextmanager
async def _open_session_service(
    settings: Settings, database: Database
) -> AsyncIterator[tuple[BaseSessionService, Ping]]:
    url = settings.session_service
    if url is None or url == database.url:
        yield await _in_sql(database), database.ping
    elif is_sql(url):
        async with open_database(url) as elsewhere:
            yield await _in_sql(elsewhere), elsewhere.ping
    else:
        service = _from_adk_registry(url)

        async def ping() -> None:
            try:
                await service.list_sessions(app_name="oda_ping", user_id="oda_ping")
            except Exception as error:
                if not classify(error, now=0.0).retryable:
                    raise
                raise UnavailableError(
                    f"the store {shown(url)} cannot be reached: {first_line(error)}",
                    remedy="check ODA_SESSION_SERVICE and that the server is running",
                ) from error

        try:
            await ping()
            yield service, ping
        finally:
            await service.flush()


async def _in_sql(database: Database) -> BaseSessionService:
    from google.adk.sessions import DatabaseSessionService

    service = DatabaseSessionService(db_engine=database.engine)
    with database.reaching():
        await service.prepare_tables()
    return service


def _from_adk_registry(url: str) -> BaseSessionService:
    from google.adk.cli.service_registry import get_service_registry

    if url.startswith(("redis://", "rediss://")):
        try:
            from google.adk.integrations.redis import (
                RedisSessionService,
                RedisSessionServiceConfig,
            )
        except ImportError as error:
            raise ConfigurationError(
                "sessions in Redis need the extra 'redis'", remedy="install oda[redis]"
            ) from error
        return RedisSessionService(RedisSessionServiceConfig(uri=url))
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
