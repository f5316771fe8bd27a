"""`OdaAgentManager`: creates the `OdaAgent` for an agent name and a session."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from google.adk.apps import App
from google.adk.artifacts.base_artifact_service import BaseArtifactService
from google.adk.auth.credential_service.base_credential_service import BaseCredentialService
from google.adk.memory.base_memory_service import BaseMemoryService
from google.adk.runners import Runner as AdkRunner
from google.adk.sessions.base_session_service import BaseSessionService
from pydantic import ValidationError

from oda.agent.definition import Definitions
from oda.agent.limits import TurnLimits
from oda.agent.oda_agent import OdaAgent
from oda.agent.retry import RetryPolicy
from oda.agent.turn_plugin import SessionKey
from oda.clock import Clock
from oda.config.records import Configuration
from oda.errors import AgentNotFoundError, ConfigurationError
from oda.settings import Settings
from oda.tools.ledger import ToolLedger
from oda.tools.limits import ToolLimits

Ping = Callable[[], Awaitable[None]]
"""Raises `UnavailableError` if a store is unreachable."""


@dataclass(frozen=True)
class Services:
    """ADK's services, shared by all sessions."""

    session: BaseSessionService
    artifact: BaseArtifactService
    """For artifacts written by agents."""
    uploads: BaseArtifactService
    """For artifacts written by people, in the same store."""
    memory: BaseMemoryService
    credential: BaseCredentialService
    ping: Ping
    """Checks the store of the sessions."""


class OdaAgentManager:
    """Resolves definition, model, tools and policy, and builds the ADK Runner of a session."""

    def __init__(
        self,
        definitions: Definitions,
        services: Services,
        settings: Settings,
        configuration: Callable[[], Configuration],
        clock: Clock,
        release: Callable[[SessionKey], Awaitable[None]],
        ledger: ToolLedger | None = None,
    ) -> None:
        self.definitions = definitions
        self.services = services
        self._settings = settings
        self._configuration = configuration
        self._clock = clock
        self._release = release
        self._ledger = ledger

    def create(self, agent_name: str, session: SessionKey) -> OdaAgent:
        """Create an agent for a session.

        Args:
            agent_name: An agent of the session's app (its root or one below it), or another app.
            session: The session.

        Raises:
            AgentNotFoundError: there is no agent of that name.
            AgentLoadError: its definition cannot be loaded.
        """
        app_name, user_id, session_id = session
        services = self.services
        runner = AdkRunner(
            app=self._app(agent_name, app_name),
            app_name=app_name,
            session_service=services.session,
            artifact_service=services.artifact,
            memory_service=services.memory,
            credential_service=services.credential,
        )

        async def release() -> None:
            await self._release(session)

        return OdaAgent(
            runner,
            app_name,
            user_id,
            session_id,
            policy=self.policy(agent_name),
            limits=self.limits(),
            recent_events=self._settings.session.recent_events,
            tool_limits=self._tool_limits(agent_name),
            ledger=self._ledger,
            clock=self._clock,
            on_cleanup=release,
        )

    def policy(self, agent_name: str) -> RetryPolicy:
        """Return an agent's retry policy, with the overrides of the settings applied.

        Raises:
            ConfigurationError: an override has an unknown field or an invalid value.
        """
        base = self._configuration().retry_policy(agent_name).model_dump()
        try:
            return RetryPolicy.model_validate({**base, **self._settings.retry})
        except ValidationError as error:
            first = error.errors()[0]
            name = "__".join(str(step) for step in first["loc"]).upper()
            raise ConfigurationError(
                f"setting ODA_RETRY__{name}: {first['msg'].lower()}",
                remedy=f"there are: {', '.join(RetryPolicy.model_fields)}",
            ) from error

    def limits(self) -> TurnLimits:
        """Return the limits of a turn from the settings."""
        turn = self._settings.turn
        return TurnLimits(
            model_calls=turn.model_calls,
            tokens=turn.tokens,
            cost_usd=turn.cost_usd,
            timeout_s=turn.timeout_s,
            cheaper_model=turn.cheaper_model if turn.on_limit == "cheaper" else None,
        )

    def _tool_limits(self, agent_name: str) -> ToolLimits:
        threads = self._configuration().agent(agent_name).sync_tool_threads
        return ToolLimits(
            threads=threads or self._settings.tool_threads,
            timeout_s=self._settings.tools.timeout_s,
            result_chars=self._settings.tools.max_result_chars,
        )

    def _app(self, agent_name: str, app_name: str) -> App:
        home = self.definitions.get(app_name).app
        if agent_name == app_name:
            return home
        inner = getattr(home.root_agent, "find_agent", lambda _: None)(agent_name)
        if inner is not None:
            return home.model_copy(update={"root_agent": inner})
        try:
            return self.definitions.get(agent_name).app
        except AgentNotFoundError as error:
            raise AgentNotFoundError(
                f"The app {app_name!r} has no agent {agent_name!r}.", remedy=error.remedy
            ) from error
