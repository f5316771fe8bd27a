"""A user's talk with an orchestrator: messages go in, progress and responses come out."""

import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field

from google.adk.events import Event

from oda.clock import Clock, utc
from oda.errors import TurnNotFoundError
from oda.orchestration.orchestrator import Orchestrator
from oda.orchestration.response import Response
from oda.server.conversations import AppConversations
from oda.server.idempotency import headers_of, key_of_request
from oda.server.orchestrator.progress import progress_of, response_in
from oda.server.orchestrator.unanswered import Unanswered
from oda.server.orchestrator.wire import ProcessRequest, Progress, TurnAccepted, TurnResponse
from oda.telemetry import current_trace_id
from oda.turn.record import Turn

Happening = Progress | TurnResponse | None


@dataclass(frozen=True)
class Begun:
    """A message that was taken."""

    session_id: str
    turn: Turn | None
    """None for an empty message."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """For an answer over HTTP."""


class Talk:
    """The conversation of one user with one orchestrator.

    A message is an ordinary turn, so its result can be read at any time, from any node.
    """

    def __init__(
        self, orchestrator: Orchestrator, conversations: AppConversations, clock: Clock
    ) -> None:
        self._unanswered = Unanswered(orchestrator)
        self._conversations = conversations
        self._clock = clock

    @property
    def user_id(self) -> str:
        return self._conversations.user_id

    async def begin(self, request: ProcessRequest, key: str | None) -> Begun:
        """Take a message.

        Args:
            key: The client's idempotency key; without a session it names the new one as well.

        Raises:
            InvalidRequestError: the session cannot have that name, or the key was used otherwise.
            OverloadedError: the session or the user has too much to do.
        """
        app = self._conversations.app
        session_id = request.session_id
        if session_id is None and key is not None:
            name = "\n".join((app, self._conversations.user_id, key))
            session_id = uuid.uuid5(uuid.NAMESPACE_OID, name).hex
        session, _ = await self._conversations.get_or_begin(session_id)
        message = request.content()
        if message is None:
            return Begun(session.session_id, None)
        known_by = key_of_request(key, f"orchestrator/{app}", request.identity())
        accepted = await self._conversations.accept(session, message, key=known_by)
        return Begun(session.session_id, accepted.turn, headers_of(accepted))

    async def resume(self, session_id: str, turn_id: str) -> Begun:
        """Come back to a message that was taken before.

        Raises:
            TurnNotFoundError: it is not of this session and user, or not kept any more.
        """
        turn = await self._conversations.turn(turn_id)
        if turn.session_id != session_id:
            raise TurnNotFoundError(f"There is no turn {turn_id!r} in this session.")
        return Begun(session_id, turn)

    async def happenings(self, begun: Begun) -> AsyncGenerator[Happening, None]:
        """Yield the progress of a message, and finally the response.

        None is yielded as a heartbeat while nothing happens.
        """
        turn = begun.turn
        if turn is None:
            yield await self._to_nothing(begun.session_id)
            return
        yield TurnAccepted(turn_id=turn.turn_id, session_id=turn.session_id)
        answer: Response | None = None
        async with aclosing(self._conversations.follow(turn)) as happening:
            async for item in happening:
                if isinstance(item, Turn):
                    turn = item
                elif isinstance(item, Event):
                    answer = response_in(item) or answer
                    if progress := progress_of(item, turn):
                        yield progress
                else:
                    yield None
        yield await self._response(turn, answer)

    async def response(self, begun: Begun) -> TurnResponse:
        """The response to a message."""
        async with aclosing(self.happenings(begun)) as happenings:
            async for item in happenings:
                if isinstance(item, TurnResponse):
                    return item
        raise AssertionError("what happens ends with a response")

    async def _to_nothing(self, session_id: str) -> TurnResponse:
        session = await self._conversations.get(session_id)
        response = self._unanswered.nothing_said(session, utc(self._clock))
        return TurnResponse.model_validate(
            {**response.model_dump(), "trace_id": current_trace_id()}
        )

    async def _response(self, turn: Turn, answer: Response | None) -> TurnResponse:
        ended = turn.finished_at or utc(self._clock)
        if answer is None or turn.status not in ("succeeded", "waiting_input"):
            session = await self._conversations.find(turn.session_id)
            state = session.state.to_dict() if session else {}
            answer = self._unanswered.of(turn, state, ended)
        took = ended - turn.created_at
        return TurnResponse.model_validate(
            {
                **answer.model_dump(),
                "turn_id": turn.turn_id,
                "trace_id": turn.trace_id,
                "processing_time_ms": max(0.0, round(took.total_seconds() * 1000, 1)),
                "timestamp": ended,
            }
        )
