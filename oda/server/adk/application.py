"""ADK's FastAPI application on top of our sessions, artifacts and turns."""

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from errno import ENAMETOOLONG
from pathlib import Path
from typing import Any

import google.adk.cli as adk_cli
from fastapi import FastAPI, HTTPException
from fastapi.exception_handlers import http_exception_handler
from google.adk.apps import App
from google.adk.cli.api_server import ApiServer
from google.adk.cli.utils.base_agent_loader import BaseAgentLoader
from google.adk.evaluation.local_eval_set_results_manager import LocalEvalSetResultsManager
from google.adk.evaluation.local_eval_sets_manager import LocalEvalSetsManager
from google.adk.runners import Runner as AdkRunner
from google.adk.sessions import Session
from google.adk.telemetry._web_ui import WebUiLogExporter
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from oda.agent.definition import Definitions
from oda.context import OdaContext
from oda.errors import AgentNotFoundError, OdaError, SessionNotFoundError
from oda.server.adk.artifacts import AdkArtifacts
from oda.server.adk.door import not_found
from oda.server.adk.runner import SessionRunner
from oda.server.adk.sessions import AdkSessions
from oda.server.adk.spans import SessionLogs, SessionSpans
from oda.server.downloads import LockedArtifacts
from oda.server.problems import refusal
from oda.session.state import refuse_client_keys


@asynccontextmanager
async def open_adk_app(oda: OdaContext, *, dev_ui: bool) -> AsyncIterator[FastAPI]:
    """Open ADK's FastAPI application on the context's services; `AdkDoor` controls access to it."""
    with ExitStack() as stack:
        if dev_ui:
            spans = stack.enter_context(SessionSpans.recording(oda.sessions))
            app = _dev_server(oda, spans).get_fast_api_app(
                web_assets_dir=str(Path(adk_cli.__file__).parent / "browser"),
                register_processors=spans.register,
            )
        else:
            app = _Server(oda).get_fast_api_app()
        app.add_middleware(LockedArtifacts)
        app.add_exception_handler(HTTPException, _adks_refusal)
        app.add_exception_handler(OdaError, _our_refusal)
        app.add_exception_handler(SQLAlchemyError, _our_refusal)
        app.add_exception_handler(OSError, _not_a_file_name)
        async with app.router.lifespan_context(app):
            yield app


async def _adks_refusal(request: Request, error: Exception) -> Response:
    """Return our problem response; ADK would answer any error with a 500 that contains its text."""
    assert isinstance(error, HTTPException)
    if error.__cause__ is not None and error.status_code == 500:
        assert isinstance(error.__cause__, Exception)
        return await _our_refusal(request, error.__cause__)
    return await http_exception_handler(request, error)


async def _our_refusal(request: Request, error: Exception) -> Response:
    if isinstance(error, SessionNotFoundError):
        return not_found(error)
    return refusal(request, error)


async def _not_a_file_name(request: Request, error: Exception) -> Response:
    if not isinstance(error, OSError) or error.errno != ENAMETOOLONG:
        raise error
    return JSONResponse({"detail": "The request has a name that is not allowed"}, 400)


class _Server(ApiServer):
    """ADK's server with turns as runs; clients can write the same state keys as under `/v1`."""

    def __init__(self, oda: OdaContext) -> None:
        agents_dir = str(oda.settings.agents_dir.resolve())
        super().__init__(
            agent_loader=_Loader(oda.definitions),
            session_service=AdkSessions(oda),
            artifact_service=AdkArtifacts(oda),
            memory_service=oda.services.memory,
            credential_service=oda.services.credential,
            eval_sets_manager=LocalEvalSetsManager(agents_dir=agents_dir),
            eval_set_results_manager=LocalEvalSetResultsManager(agents_dir=agents_dir),
            agents_dir=agents_dir,
        )
        self._oda = oda

    def _create_runner(self, agentic_app: App, app_name: str) -> AdkRunner:
        return SessionRunner(self._oda, app=agentic_app, app_name=app_name)

    async def _create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str | None = None,
        state: dict[str, Any] | None = None,
    ) -> Session:
        refuse_client_keys(
            state or {}
        )  # before the dev server adds what the agent's author has set
        return await super()._create_session(
            app_name=app_name, user_id=user_id, session_id=session_id, state=state
        )


def _dev_server(oda: OdaContext, spans: SessionSpans) -> ApiServer:
    from google.adk.cli.dev_server import DevServer  # takes long, and is not needed without the UI

    class Server(_Server, DevServer):
        _serves_debug_trace_endpoints = False
        """Turn off ADK's own span buffers, which grow without bound; `SessionSpans`
        replaces them.
        """

        def _register_dev_endpoints(
            self,
            app: FastAPI,
            trace_dict: Any,
            memory_exporter: Any,
            log_exporter: WebUiLogExporter,
            web_assets_dir: str | None = None,
        ) -> None:
            buffer: Any = spans
            logs = SessionLogs(spans)
            super()._register_dev_endpoints(app, buffer, buffer, logs, web_assets_dir)

    return Server(oda)


class _Loader(BaseAgentLoader):
    """Provides our app definitions to ADK."""

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions

    def load_agent(self, agent_name: str) -> App:
        try:
            return self._definitions.get(agent_name).app
        except AgentNotFoundError as error:
            raise ValueError(error.message) from error

    def list_agents(self) -> list[str]:
        return self._definitions.names()
