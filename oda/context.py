"""`OdaContext`: the only place that chooses implementations; opens and closes them in order."""

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from anyio.from_thread import BlockingPortal, start_blocking_portal

from oda.agent.day_budget import DayBudgets
from oda.agent.definition import Definition, Definitions
from oda.agent.description import models_of
from oda.agent.manager import OdaAgentManager, Services
from oda.agent.model.http_model import close_connections
from oda.agent.model.litellm_import import close_clients, litellm_ready
from oda.agent.model.own_models import missing_key
from oda.agent.model.prices import prices
from oda.agent.model.registry import Models, default_models
from oda.agent.rehearsal import rehearse
from oda.application_resource import OpenResources, default_resources
from oda.clock import Clock, SystemClock
from oda.config.files import ConfigurationFiles
from oda.config.records import Configuration
from oda.config.secrets import known_secrets
from oda.database.database import Database, default_database, open_database
from oda.database.engine import IN_MEMORY as NO_DATABASE
from oda.database.migrate import upgrade
from oda.errors import AgentLoadError, AgentStateError
from oda.identity.audit import AuditLog
from oda.identity.refusals import audited_refusals
from oda.secret_mask import secrets
from oda.session.counted_services import CountedArtifacts, CountedSessions
from oda.session.live_history import LiveHistory
from oda.session.manager import OdaSessionManager
from oda.session.oda_session import OdaSession
from oda.session.services import IN_MEMORY, open_services, stored_with_turns
from oda.session.user_storage import UserStorage
from oda.setting_names import unknown_settings
from oda.settings import Settings
from oda.telemetry import current_trace_id, get_logger
from oda.tools.ledger import SqlToolLedger
from oda.tools.mcp import McpConnections, default_connections
from oda.tools.policed import default_refusal_sink
from oda.turn.engine import EngineParts, TurnEngine
from oda.turn.in_process import InProcessEngine
from oda.workspace.sandbox.choice import Sandboxes, default_sandboxes
from oda.workspace.sweeping import kept_swept
from oda.workspace.tools import needs_sandbox
from oda.workspace.workspaces import Workspaces, default_workspaces

if TYPE_CHECKING:
    from oda.turn.distributed import DistributedEngine

log = get_logger(__name__)


class OdaContext:
    """Everything that an application needs, made from settings and closed together.

        async with OdaContext.from_settings() as oda:
            session = await oda.sessions.create("cv")
            print(await session.ask("看看我的技能"))

    Without an event loop, use a plain `with` and the methods that end in `_sync`.
    """

    settings: Settings
    configuration: ConfigurationFiles
    database: Database
    services: Services
    definitions: Definitions
    models: Models
    mcp: McpConnections
    agents: OdaAgentManager
    sessions: OdaSessionManager
    days: DayBudgets
    turns: TurnEngine
    workspaces: Workspaces
    sandboxes: Sandboxes

    def __init__(self, settings: Settings, *, clock: Clock | None = None) -> None:
        self.settings = settings
        self._clock = clock or SystemClock()
        secrets.register(*known_secrets(os.environ), *known_secrets(settings.model_dump()))
        secrets.register(*known_secrets(settings.webhooks.model_dump()))
        self._stack: AsyncExitStack | None = None
        self._applied: Configuration | None = None
        self._has_rehearsed = False
        self._portal: BlockingPortal | None = None
        self._portal_owner: AbstractContextManager[BlockingPortal] | None = None

    @classmethod
    def from_settings(
        cls,
        settings: Settings | None = None,
        *,
        agents_dir: str | Path | None = None,
        clock: Clock | None = None,
        **overrides: Any,
    ) -> Self:
        """Make a context, not yet opened.

        Args:
            settings: By default read from the environment, `.env` and `config/oda.yaml`.
            agents_dir: Any ADK agents folder.
            clock: Time and sleep, replaceable in tests.
            overrides: Single settings by name, such as `data_dir`.

        Raises:
            ConfigurationError: a setting is wrong.
        """
        if agents_dir is not None:
            overrides["agents_dir"] = Path(agents_dir)
        if settings is None:
            settings = Settings.load(**overrides)
        elif overrides:
            settings = settings.model_copy(update=overrides)
        return cls(settings, clock=clock)

    async def __aenter__(self) -> Self:
        """Open everything.

        Raises:
            ConfigurationError: a file, a URL or a model's definition is wrong.
            UnavailableError: the database cannot be reached.
        """
        if self._stack is not None:
            raise AgentStateError("The context is open already.")
        settings = self.settings
        async with AsyncExitStack() as stack:
            self.configuration = ConfigurationFiles(settings.config_dir)
            current = self._current_configuration
            self.database = await stack.enter_async_context(
                open_database(settings.resolved_database_url)
            )
            with self.database.reaching():
                await upgrade(self.database.engine)
            stack.enter_context(default_database.set(self.database))
            refusals = audited_refusals(AuditLog(self.database, self._clock))
            stack.enter_context(default_refusal_sink.set(refusals))
            resources = await stack.enter_async_context(OpenResources())
            stack.enter_context(default_resources.set(resources))
            opened = await stack.enter_async_context(open_services(settings, self.database))
            storage = UserStorage(self.database, settings.limits)
            if settings.session_service == IN_MEMORY:
                await storage.forget_sessions()
            self.services = replace(
                opened,
                session=LiveHistory(
                    CountedSessions(opened.session, storage),
                    fenced=not stored_with_turns(settings, self.database),
                ),
                artifact=CountedArtifacts(opened.artifact, storage, bounded=False),
                uploads=CountedArtifacts(opened.uploads, storage, bounded=True),
            )
            self.mcp = await stack.enter_async_context(
                McpConnections(
                    self.configuration.current().mcp_servers,
                    environ=os.environ,
                    pins=settings.mcp_pins_path,
                )
            )
            stack.enter_context(default_connections.set(self.mcp))
            self.models = Models(settings, current, self._clock)
            stack.enter_context(default_models.set(self.models))
            stack.push_async_callback(close_clients)
            stack.push_async_callback(close_connections)
            self.workspaces = Workspaces(settings.workspace_root, settings.workspace, self._clock)
            stack.enter_context(default_workspaces.set(self.workspaces))
            await stack.enter_async_context(kept_swept(self.workspaces))
            self.sandboxes = await stack.enter_async_context(Sandboxes(settings, clock=self._clock))
            stack.enter_context(default_sandboxes.set(self.sandboxes))
            self.definitions = Definitions(
                settings.agents_dir, current, self.mcp.toolset, self._prepare
            )
            self.agents = OdaAgentManager(
                self.definitions,
                self.services,
                settings,
                current,
                self._clock,
                self.mcp.release,
                SqlToolLedger(self.database, self._clock),
            )
            self.sessions = OdaSessionManager(self.agents, settings.session, storage, self._clock)
            stack.push_async_callback(self.sessions.close)
            self.days = DayBudgets(self.database, settings, self._clock)
            parts = EngineParts(
                self.database,
                self.days,
                self.sessions,
                self.definitions,
                storage,
                settings,
                self._clock,
                trace_id=current_trace_id,
                webhooks=lambda: current().webhooks,
            )
            self.turns = engine_of(self.database)(parts)
            stack.push_async_callback(self.turns.close)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._stack is not None:
            stack, self._stack = self._stack, None
            await stack.aclose()

    async def warm_up(self, agents: Sequence[str] = ()) -> None:
        """Check the models, and load agents, so that no user waits for it.

        Other agents are loaded at their first use.

        Raises:
            AgentNotFoundError: there is no agent of a name that was given.
            ConfigurationError: a configured model has no key.
        """
        if self.models.need_litellm:
            await litellm_ready()
        if self.models.configured:
            await asyncio.to_thread(self.models.check_keys)
            await asyncio.to_thread(prices)
        if self.configuration.current().webhooks and not self.settings.webhooks.secret:
            log.warning("webhooks_not_sent", remedy="set ODA_WEBHOOKS__SECRET")
        for unknown in unknown_settings():
            log.warning("unknown_setting", setting=unknown.name, remedy=unknown.remedy)
        for name in agents:
            with suppress(AgentLoadError):  # its first use says so
                await self.definitions.load(name)

    async def _prepare(self, definition: Definition) -> None:
        """Make ready what an agent needs beside itself; its sandbox is tested in the background."""
        if needs_sandbox(definition.tools):
            self.sandboxes.start()
        if definition.brings_litellm:
            await litellm_ready()
        await asyncio.to_thread(self._warn_of_keys, definition)
        if not self._has_rehearsed:
            self._has_rehearsed = True
            with_litellm = self.models.need_litellm or definition.brings_litellm
            await asyncio.to_thread(asyncio.run, rehearse(with_litellm=with_litellm))

    def _warn_of_keys(self, definition: Definition) -> None:
        for model in models_of(definition):
            if error := missing_key(model, self.models):
                log.warning("model_without_key", agent=definition.name, reason=str(error))

    async def check_stores(self) -> None:
        """Return if the database accepts writes and the sessions can be read.

        Raises:
            UnavailableError: a check has failed.
        """
        await self.database.check()
        await self.services.ping()

    async def delete_session(self, session: OdaSession) -> None:
        """Delete a session with its turns, files and workspaces, after cancelling its turns.

        Raises:
            SessionNotFoundError: it has been deleted in the meantime.
        """
        await self.turns.cancel_all(session)
        await self.sessions.delete(*session.key)
        runs = await self.turns.forget_session(session)
        await self.workspaces.delete(session.session_id, *runs)

    def _current_configuration(self) -> Configuration:
        """The configuration as the files say now; MCP connections follow it."""
        configuration = self.configuration.current()
        if configuration is not self._applied:
            self._applied = configuration
            self.mcp.reconfigure(configuration.mcp_servers)
        return configuration

    # --- for hosts without an event loop

    def __enter__(self) -> Self:
        """Open everything on an event loop in a thread of its own. Raises: as `__aenter__`."""
        self._portal_owner = start_blocking_portal()
        self._portal = self._portal_owner.__enter__()
        try:
            self._portal.call(self.__aenter__)
        except BaseException:
            self._close_portal()
            raise
        return self

    def __exit__(self, *exc_info: Any) -> None:
        try:
            self.call(self.__aexit__, None, None, None)
        finally:
            self._close_portal()

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run an async function of this context from a thread without a loop, and wait for it.

        Raises:
            AgentStateError: the context was not opened with a plain `with`.
        """
        if self._portal is None:
            raise AgentStateError("The context was not opened with a plain `with`.")
        return self._portal.call(function, *args)

    def session_sync(
        self, app_name: str, user_id: str = "local", session_id: str | None = None
    ) -> OdaSession:
        """`sessions.get_or_create` for hosts without an event loop."""
        session: OdaSession = self.call(self.sessions.get_or_create, app_name, user_id, session_id)
        return session

    def _close_portal(self) -> None:
        owner, self._portal_owner, self._portal = self._portal_owner, None, None
        if owner is not None:
            owner.__exit__(None, None, None)


def engine_of(database: Database) -> "type[InProcessEngine | DistributedEngine]":
    """Return the engine for a database: PostgreSQL is shared by processes, SQLite is not."""
    if database.engine.dialect.name != "postgresql":
        return InProcessEngine
    from oda.turn.distributed import DistributedEngine

    return DistributedEngine


def context_without_database(settings: Settings) -> OdaContext:
    """A context for a look at definitions; it works while the database does not."""
    nowhere = {"database_url": NO_DATABASE, "session_service": IN_MEMORY}
    return OdaContext(settings.model_copy(update=nowhere))
