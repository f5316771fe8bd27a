"""ADK's own routes and dev UI, whose runs go through our sessions: same lane, retry and resume."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from errno import ENAMETOOLONG
from pathlib import Path
from typing import Any

import google.adk.cli as adk_cli
from fastapi import FastAPI, HTTPException
from google.adk.agents._streaming_mode import StreamingMode
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.cli.api_server import ApiServer
from google.adk.cli.utils.base_agent_loader import BaseAgentLoader
from google.adk.errors.input_validation_error import InputValidationError
from google.adk.errors.session_not_found_error import SessionNotFoundError as AdkSessionNotFound
from google.adk.evaluation.local_eval_set_results_manager import LocalEvalSetResultsManager
from google.adk.evaluation.local_eval_sets_manager import LocalEvalSetsManager
from google.adk.events import Event
from google.adk.runners import Runner as AdkRunner
from google.genai.types import Content
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oda.agent.definition import Definitions
from oda.context import OdaContext
from oda.errors import (
    AgentNotFoundError,
    ConflictError,
    InvalidRequestError,
    OverloadedError,
    SessionNotFoundError,
)
from oda.message.content import answers_a_call, user_content
from oda.message.storable import storable_json
from oda.server.adk_identity import OwnSessions, check_adk_user
from oda.server.problems import status_of
from oda.session.oda_session import OdaSession
from oda.session.state import refuse_client_keys
from oda.turn.follow import Follower
from oda.turn.submission import Submission

_OURS = frozenset({"health", "docs", "redoc", "openapi.json", ""})
"""First segments of ADK's paths that our own application answers."""


@asynccontextmanager
async def open_adk_app(oda: OdaContext, *, dev_ui: bool) -> AsyncIterator[FastAPI]:
    """ADK's FastAPI application over the context's services; our guard stands before it."""
    server = _server(oda, dev_ui=dev_ui)
    assets = str(Path(adk_cli.__file__).parent / "browser") if dev_ui else None
    app = server.get_fast_api_app(web_assets_dir=assets)
    app.add_exception_handler(InputValidationError, _not_a_name)
    app.add_exception_handler(OSError, _not_a_file_name)
    async with app.router.lifespan_context(app):
        yield app


async def _not_a_name(request: Request, error: Exception) -> JSONResponse:
    """An artifact service's own refusal may name paths."""
    return JSONResponse({"detail": "The request has a name that is not allowed"}, 400)


async def _not_a_file_name(request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, OSError) or error.errno != ENAMETOOLONG:
        raise error
    return await _not_a_name(request, error)


class AdkFallthrough:
    """Hands requests for ADK's paths to ADK's application, once it is open.

    The guard has judged their origin; ADK would refuse those that our settings allow.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            state = scope["app"].state
            adk: FastAPI | None = getattr(state, "adk", None)
            if adk is not None and _first_segment(scope["path"]) in state.adk_segments:
                scope["headers"] = [pair for pair in scope["headers"] if pair[0] != b"origin"]
                await adk(scope, _storable(receive), send)
                return
        await self._app(scope, receive, send)


def _storable(receive: Receive) -> Receive:
    """ADK stores, and answers with, what it is sent: JSON bodies come whole, see `BodyLimits`."""

    async def receive_storable() -> Message:
        message = await receive()
        body: bytes = message.get("body", b"")
        if message["type"] == "http.request" and body.lstrip()[:1] in (b"{", b"["):
            message = {**message, "body": storable_json(body)}
        return message

    return receive_storable


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
            return SessionRunner(oda, app=agentic_app, app_name=app_name)

    agents_dir = str(oda.settings.agents_dir.resolve())
    services = oda.services
    server: ApiServer = Server(
        agent_loader=_Loader(oda.definitions),
        session_service=OwnSessions(services.session),
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

    def __init__(self, oda: OdaContext, *, app: App, app_name: str) -> None:
        services = oda.services
        super().__init__(
            app=app,
            app_name=app_name,
            session_service=services.session,
            artifact_service=services.artifact,
            memory_service=services.memory,
            credential_service=services.credential,
        )
        self._oda = oda

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
            check_adk_user(user_id)
            session = await self._oda.sessions.get(self.app_name, user_id, session_id)
        except SessionNotFoundError as error:
            raise AdkSessionNotFound(error.message) from error
        try:
            follower = await self._begin(session, new_message, state_delta, run_config)
        except (InvalidRequestError, ConflictError, OverloadedError) as error:
            raise HTTPException(status_of(error), str(error)) from error
        while not follower.ended:
            for entry in await follower.read():
                if isinstance(entry.data, Event):
                    yield entry.data

    async def _begin(
        self,
        session: OdaSession,
        message: Content | None,
        state_delta: dict[str, Any] | None,
        run_config: RunConfig | None,
    ) -> Follower:
        """A reader of the turn that the message makes, or goes on with."""
        if message is None:
            raise InvalidRequestError("new_message: is needed; turns go on by themselves")
        turns = self._oda.turns
        if answers_a_call(message):
            turn = await turns.waiting_for(session, message)
            return turns.follow(turn.turn_id, await turns.answer(turn.turn_id, message))
        refuse_client_keys(state_delta or {})
        streamed = run_config is not None and run_config.streaming_mode == StreamingMode.SSE
        submission = Submission(
            user_content(message), state_delta=state_delta, stream_tokens=streamed
        )
        return turns.follow((await turns.submit(session, submission)).turn.turn_id)

    async def close(self) -> None:
        """Nothing here is this runner's own."""
