"""`WS …/ws`: messages to an orchestrator and their responses, over one socket.

A client sends

    {"input": …, "session_id"?, "user_id"?, "request_id"?, "idempotency_key"?}   as to `process`
    {"session_id", "follow": turn_id, "request_id"?}      what comes of a turn sent before
    {"type": "ping"}                                      answered by a pong

and is sent

    {"type": "progress", "kind": accepted | step | retry, "turn_id", "session_id", …}
    {"type": "response", "turn_id", …}                    all fields of the response
    {"type": "error", "code", "title", "status", "detail", …}        as in the problem
    {"type": "ping"}                                      now and then; a pong is welcome

with the `request_id` of the message that it answers. Messages are answered one after the other, in
order; turns of different sessions run concurrently. A session belongs to the socket that has used
it last: the previous one is notified and closed with 4409. Its turns go on.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, Never
from urllib.parse import quote

from fastapi import APIRouter, WebSocket
from pydantic_core import to_json

from oda.clock import Clock
from oda.orchestration.orchestrator import Orchestrator
from oda.server.access import Context, user_for
from oda.server.conversations import AppConversations, Conversations
from oda.server.guarded_socket import GuardedSocket, serve_socket
from oda.server.orchestrator.claims import Claims
from oda.server.orchestrator.talk import Begun, Talk
from oda.server.orchestrator.wire import FollowCommand, ProcessCommand, TurnResponse
from oda.server.problems import Refusal, problem_of
from oda.server.socket_client import HangUp
from oda.server.socket_messages import RequestId, valid
from oda.settings import LimitSettings

_MOST_UNANSWERED = 100
"""Messages of one socket; while there are so many, no more are read."""
_TAKEN = 4409


def socket_router(orchestrator: Orchestrator, clock: Clock, *, ping_every_s: float) -> APIRouter:
    """The WebSocket of an orchestrator."""
    router = APIRouter()
    claims = Claims()

    @router.websocket("/ws")
    async def orchestrator_socket(
        websocket: WebSocket, oda: Context, conversations: Conversations
    ) -> None:
        async def make() -> OrchestratorSocket:
            return OrchestratorSocket(
                websocket,
                oda.settings.limits,
                conversations,
                lambda own: Talk(orchestrator, own, clock),
                claims,
                ping_every_s=ping_every_s,
            )

        await serve_socket(websocket, make)

    return router


class OrchestratorSocket(GuardedSocket):
    """The WebSocket of a client, for any number of its sessions."""

    def __init__(
        self,
        websocket: WebSocket,
        limits: LimitSettings,
        conversations: AppConversations,
        talk: Callable[[AppConversations], Talk],
        claims: Claims,
        *,
        ping_every_s: float,
    ) -> None:
        super().__init__(websocket, limits)
        self._conversations = conversations
        self._talk = talk
        self._claims = claims
        self._ping_every_s = ping_every_s
        self._answers: asyncio.Queue[Callable[[], Awaitable[None]]] = asyncio.Queue(
            _MOST_UNANSWERED
        )
        self._taken: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """The session that another socket has taken over."""

    def dismiss(self, session_id: str) -> None:
        """Another socket has taken a session over: tell the client, and hang up."""
        if not self._taken.done():
            self._taken.set_result(session_id)

    async def serve(self) -> None:
        try:
            await super().serve()
        finally:
            self._claims.release(self)

    def background(self) -> Sequence[Coroutine[Any, Any, None]]:
        return self._answer_in_order(), self._ping(), self._hang_up_when_taken()

    async def obey(self, fields: dict[str, Any], request_id: RequestId | None) -> None:
        if "input" not in fields and fields.get("type") in ("ping", "pong"):
            if fields["type"] == "ping":
                await self.client.send(_message("pong", {}, request_id))
        elif "follow" in fields:
            await self._follow(valid(FollowCommand, fields))
        else:
            await self._process(valid(ProcessCommand, fields))

    async def answer(self, message: bytes) -> None:
        await self._answers.put(partial(self.client.send, message))

    def problem_message(
        self, error: Exception, request_id: RequestId | None, turn_id: str | None
    ) -> bytes:
        problem = problem_of(self.websocket, error).model_dump(exclude_none=True)
        told = problem if turn_id is None else {**problem, "turn_id": turn_id}
        return _message("error", told, request_id)

    async def _process(self, command: ProcessCommand) -> None:
        of_session = "" if command.session_id is None else f"/{quote(command.session_id)}"
        target = f"/v1/apps/{quote(self._conversations.app)}/sessions{of_session}"
        with self.recorded("message", target):
            talk = self._talk_of(command.user_id)
            begun = await talk.begin(command, command.idempotency_key)
        await self._tell_in_turn(talk, begun, command.request_id)

    async def _follow(self, command: FollowCommand) -> None:
        talk = self._talk_of(command.user_id)
        begun = await talk.resume(command.session_id, command.follow)
        await self._tell_in_turn(talk, begun, command.request_id)

    def _talk_of(self, user_id: str | None) -> Talk:
        return self._talk(self._conversations.of_user(user_for(self.websocket, user_id)))

    async def _tell_in_turn(self, talk: Talk, begun: Begun, request_id: RequestId | None) -> None:
        self._claims.claim((talk.user_id, begun.session_id), self)
        await self._answers.put(partial(self._tell, talk, begun, request_id))

    async def _tell(self, talk: Talk, begun: Begun, request_id: RequestId | None) -> None:
        async def tell() -> None:
            async with aclosing(talk.happenings(begun)) as happenings:
                async for item in happenings:
                    if item is not None:
                        kind = "response" if isinstance(item, TurnResponse) else "progress"
                        fields = item.model_dump(mode="json")
                        await self.client.send(_message(kind, fields, request_id))

        turn_id = None if begun.turn is None else begun.turn.turn_id
        await self.attempt(tell, request_id, turn_id, say=self.client.send)

    async def _answer_in_order(self) -> Never:
        while True:
            await (await self._answers.get())()

    async def _ping(self) -> Never:
        while True:
            await asyncio.sleep(self._ping_every_s)
            await self.client.send(_message("ping", {}, None))

    async def _hang_up_when_taken(self) -> Never:
        session_id = await self._taken
        message = "Another WebSocket has taken this session over."
        told = Refusal(409, message, code="session_taken", details={"session_id": session_id})
        await self.client.send(self.problem_message(told, None, None))
        raise HangUp(_TAKEN, message)


def _message(kind: str, fields: dict[str, Any], request_id: RequestId | None) -> bytes:
    asked = {} if request_id is None else {"request_id": request_id}
    return to_json({**fields, "type": kind, **asked})
