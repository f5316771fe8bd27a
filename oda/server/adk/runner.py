"""The runner behind ADK's routes: it makes each message a turn of its session."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents._streaming_mode import StreamingMode
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.events import Event
from google.adk.runners import Runner as AdkRunner
from google.genai.types import Content

from oda.context import OdaContext
from oda.errors import InvalidRequestError
from oda.message.content import answers_a_call, user_content
from oda.server.access import turns_at_once
from oda.server.adk.access import check_user
from oda.server.adk.visit import current_visit
from oda.server.v1.submission import storable_metadata
from oda.session.oda_session import OdaSession
from oda.session.state import refuse_client_keys
from oda.turn.follow import Follower
from oda.turn.submission import Submission


class SessionRunner(AdkRunner):
    """Runs the session's own agent; a turn continues when its reader leaves."""

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
        check_user(user_id)
        session = await self._oda.sessions.get(self.app_name, user_id, session_id)
        follower = await self._begin(session, new_message, state_delta, run_config)
        visit = current_visit.get()
        if visit is not None:
            visit.turn_id = follower.turn_id
        while not follower.ended:
            for entry in await follower.read():
                if isinstance(entry.data, Event):
                    yield entry.data
        if visit is not None:
            visit.turn_id = None

    async def _begin(
        self,
        session: OdaSession,
        message: Content | None,
        state_delta: dict[str, Any] | None,
        run_config: RunConfig | None,
    ) -> Follower:
        """Submit the message as a turn, or resume a waiting turn; return a reader of the turn."""
        if message is None:
            raise InvalidRequestError("new_message: is needed; turns go on by themselves")
        turns = self._oda.turns
        if answers_a_call(message):
            turn = await turns.waiting_for(session, message)
            seen = await turns.answer(turn.turn_id, message)
            return turns.follow(turn.turn_id, seen, previews=True)
        refuse_client_keys(state_delta or {})
        given = run_config or RunConfig()
        submission = Submission(
            user_content(message),
            metadata=storable_metadata(given.custom_metadata or {}),
            state_delta=state_delta,
            stream_tokens=given.streaming_mode == StreamingMode.SSE,
            turns_at_once=turns_at_once(self._oda),
        )
        accepted = await turns.submit(session, submission)
        return turns.follow(accepted.turn.turn_id, previews=True)

    async def close(self) -> None:
        """Do nothing: the runner owns no resources."""
