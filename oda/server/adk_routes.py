"""ADK's own routes and dev UI, whose runs go through our sessions: same lane, retry and resume."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import google.adk.cli as adk_cli
from fastapi import FastAPI
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.cli.api_server import ApiServer
from google.adk.cli.utils.base_agent_loader import BaseAgentLoader
from google.adk.errors.session_not_found_error import SessionNotFoundError as AdkSessionNotFound
from google.adk.evaluation.local_eval_set_results_manager import LocalEvalSetResultsManager
from google.adk.evaluation.local_eval_sets_manager import LocalEvalSetsManager
from google.adk.events import Event
from google.adk.runners import Runner as AdkRunner
from google.genai.types import Content
from starlette.types import ASGIApp, Receive, Scope, Send

from oda.agent.definition import Definitions
from oda.context import OdaContext
from oda.errors import AgentNotFoundError, SessionNotFoundError
from oda.session.manager import OdaSessionManager

_OURS = frozenset({"health", "docs", "redoc", "openapi.json", ""})
"""First segments of ADK's paths that our own application answers."""


@asynccontextmanager
async def open_adk_app(oda: OdaContext, *, dev_ui: bool, host: str) -> AsyncIterator[FastAPI]:
    """ADK's FastAPI application over the context's services."""
    server = _server(oda, dev_ui=dev_ui)
    assets = str(Path(adk_cli.__file__).parent / "browser") if dev_ui else None
    app = server.get_fast_api_app(web_assets_dir=assets, bind_host=host)
    async with app.router.lifespan_context(app):
        yield app


class AdkFallthrough:
    """Hands requests for ADK's paths to ADK's application, once it is open."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            state = scope["app"].state
            adk: FastAPI | None = getattr(state, "adk", None)
            if adk is not None and _first_segment(scope["path"]) in state.adk_segments:
                await adk(scope, receive, send)
                return
        await self._app(scope, receive, send)


def first_segments(adk: FastAPI) -> frozenset[str]:
    """How the paths begin that ADK's application answers and ours does not."""
    paths = (getattr(route, "path", "") for route in adk.routes)
    return frozenset(_first_segment(path) for path in paths) - _OURS


def _first_segment(path: str) -> str:
    return path.lstrip("/").split("/", 1)[0]


def _server(oda: OdaContext, *, dev_ui: bool) -> ApiServer:
    server_class: type[ApiServer] = ApiServer
    if dev_ui:
        from google.adk.cli.dev_server import DevServer

        server_class = DevServer

    class Server(server_class):  # type: ignore[valid-type,misc]
        def _create_runner(self, agentic_app: App, app_name: str) -> AdkRunner:
            return SessionRunner(oda.sessions, app=agentic_app, app_name=app_name)

    agents_dir = str(oda.settings.agents_dir.resolve())
    services = oda.services
    server: ApiServer = Server(
        agent_loader=_Loader(oda.definitions),
        session_service=services.session,
        artifact_service=services.artifact,
        memory_service=services.memory,
        credential_service=services.credential,
        eval_sets_manager=LocalEvalSetsManager(agents_dir=agents_dir),
        eval_set_results_manager=LocalEvalSetResultsManager(agents_dir=agents_dir),
        agents_dir=agents_dir,
    )
    return server


class _Loader(BaseAgentLoader):
    """Our definitions as ADK asks for them."""

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions

    def load_agent(self, agent_name: str) -> App:
        try:
            return self._definitions.get(agent_name).app
        except AgentNotFoundError as error:
            raise ValueError(error.message) from error

    def list_agents(self) -> list[str]:
        return self._definitions.names()


class SessionRunner(AdkRunner):
    """What ADK's routes call instead of a Runner: it runs the session's own agent."""

    def __init__(self, sessions: OdaSessionManager, *, app: App, app_name: str) -> None:
        services = sessions.agents.services
        super().__init__(
            app=app,
            app_name=app_name,
            session_service=services.session,
            artifact_service=services.artifact,
            memory_service=services.memory,
            credential_service=services.credential,
        )
        self._sessions = sessions

    async def run_async(
        self,
        *,
        user_id: str,
        session_id: str,
        invocation_id: str | None = None,
        new_message: Content | None = None,
        state_delta: dict[str, Any] | None = None,
        run_config: RunConfig | None = None,
        yield_user_message: bool = False,
        abort_signal: asyncio.Event | None = None,
    ) -> AsyncGenerator[Event, None]:
        try:
            session = await self._sessions.get(self.app_name, user_id, session_id)
        except SessionNotFoundError as error:
            raise AdkSessionNotFound(error.message) from error
        if new_message is None:
            events = session.resume(invocation_id or "")
        else:
            events = session.stream(
                new_message,
                invocation_id=invocation_id,
                state_delta=state_delta,
                run_config=run_config,
            )
        async with aclosing(events):
            async for event in events:
                yield event

    async def close(self) -> None:
        """Nothing here is this runner's own."""
