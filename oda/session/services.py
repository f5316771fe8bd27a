"""URLs to ADK services."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from google.adk.artifacts.base_artifact_service import BaseArtifactService
from google.adk.sessions.base_session_service import BaseSessionService
from sqlalchemy import event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from oda.agent.failure import classify
from oda.agent.manager import Services
from oda.errors import ConfigurationError, UnavailableError
from oda.settings import Settings
from oda.telemetry import experimental_on_purpose

_ASYNC_DRIVERS = {
    "sqlite": "sqlite+aiosqlite",
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "mysql": "mysql+aiomysql",
}
_LOCK_TIMEOUT_S = 30

Ping = Callable[[], Awaitable[None]]


@asynccontextmanager
async def open_services(settings: Settings) -> AsyncIterator[Services]:
    """ADK's services as the settings name them; closed at the end.

    Raises:
        ConfigurationError: a URL is malformed, or names what is not installed.
        UnavailableError: the database cannot be reached.
    """
    from google.adk.artifacts.file_artifact_service import FileArtifactService
    from google.adk.auth.credential_service.in_memory_credential_service import (
        InMemoryCredentialService,
    )
    from google.adk.memory.in_memory_memory_service import InMemoryMemoryService

    _make_directory(settings.data_dir)
    artifacts: BaseArtifactService = FileArtifactService(root_dir=settings.data_dir / "artifacts")
    with experimental_on_purpose():
        credentials = InMemoryCredentialService()
    async with _open_session_service(settings) as (session, ping):
        yield Services(
            session=session,
            ping=ping,
            artifact=artifacts,
            memory=InMemoryMemoryService(),
            credential=credentials,
        )


def database_engine(url: str) -> AsyncEngine:
    """One pooled engine for a database; SQLite with a write-ahead log.

    Raises:
        ConfigurationError: the URL is malformed or its driver is not installed.
    """
    try:
        parsed = make_url(url)
        driver = _ASYNC_DRIVERS.get(parsed.drivername)
        if driver:
            parsed = parsed.set(drivername=driver)
        options: dict[str, Any] = {"pool_pre_ping": True, "pool_size": 16, "max_overflow": 16}
        if parsed.get_backend_name() == "sqlite":
            _make_directory(Path(parsed.database or ".").parent)
            options = {
                "pool_size": 8,
                "max_overflow": 8,
                "connect_args": {"timeout": _LOCK_TIMEOUT_S},
            }
        engine = create_async_engine(parsed, **options)
    except (ArgumentError, SQLAlchemyError, ImportError) as error:
        raise ConfigurationError(
            f"the database URL {_shown(url)} cannot be used: {_first_line(error)}",
            remedy="set ODA_DATABASE_URL to sqlite:///FILE or postgresql+psycopg://USER@HOST/NAME",
        ) from error
    if engine.dialect.name == "sqlite":
        event.listen(engine.sync_engine, "connect", _tune_sqlite)
    return engine


@asynccontextmanager
async def _open_session_service(
    settings: Settings,
) -> AsyncIterator[tuple[BaseSessionService, Ping]]:
    url = settings.session_service
    if url and not _sql_url(url):
        service = _from_adk_registry(url)
        named = url

        async def ask() -> None:
            with _reaching(named):
                await service.list_sessions(app_name="oda_ping", user_id="oda_ping")

        try:
            await ask()
            yield service, ask
        finally:
            await service.flush()
        return
    url = url or settings.resolved_database_url
    from google.adk.sessions import DatabaseSessionService

    engine = database_engine(url)

    async def ping() -> None:
        with _reaching(url):
            async with engine.connect() as connection:
                await connection.execute(text("SELECT 1"))

    try:
        database = DatabaseSessionService(db_engine=engine)
        with _reaching(url):
            await database.prepare_tables()
        yield database, ping
    finally:
        await engine.dispose()


@contextmanager
def _reaching(url: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if not classify(error, now=0.0).retryable:
            raise
        raise UnavailableError(
            f"the store {_shown(url)} cannot be reached: {_first_line(error)}",
            remedy="check ODA_DATABASE_URL, ODA_SESSION_SERVICE and that the server is running",
        ) from error


def _sql_url(url: str) -> URL | None:
    """The URL if it names an SQL database, else None."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        return None
    return parsed if parsed.get_backend_name() in _ASYNC_DRIVERS else None


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
            f"the session service {_shown(url)} cannot be used: {_first_line(error)}",
            remedy="correct ODA_SESSION_SERVICE",
        ) from error
    if service is None:
        raise ConfigurationError(
            f"there is no session service for {_shown(url)}", remedy="correct ODA_SESSION_SERVICE"
        )
    return service


def _tune_sqlite(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"the directory {str(path)!r} cannot be made: {error.strerror}",
            remedy="set ODA_DATA_DIR to one that may be written to",
        ) from error


def _shown(url: str) -> str:
    try:
        return make_url(url).render_as_string(hide_password=True)
    except ArgumentError:
        return repr(url.split("@")[-1])


def _first_line(error: BaseException) -> str:
    return (str(getattr(error, "orig", None) or error).strip().splitlines() or [""])[0]
