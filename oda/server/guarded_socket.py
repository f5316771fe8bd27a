"""Common behaviour of our WebSockets: checks, limits, credential and shutdown handling."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any, Never

from fastapi import WebSocket
from fastapi.exceptions import WebSocketRequestValidationError
from sqlalchemy.exc import SQLAlchemyError
from starlette.websockets import WebSocketDisconnect

from oda.errors import (
    ForbiddenError,
    MalformedError,
    OdaError,
    OverloadedError,
    UnauthenticatedError,
)
from oda.server.audit import audit_log_of
from oda.server.auth import authenticate_again, principal_of
from oda.server.problems import refusal, refuse, status_of
from oda.server.rate_limits import Sockets
from oda.server.rate_window import RateWindow
from oda.server.request_path import route_template
from oda.server.socket_client import HangUp, SocketClient
from oda.server.socket_messages import Envelope, RequestId, read_message, valid
from oda.server.trace import trace_id_of
from oda.settings import LimitSettings

_LOOK_AGAIN_S = 30.0
"""Interval at which the credential of an idle socket is checked, in seconds."""
_CALM_S = 0.1
"""Pause before the next message is read when there were too many."""
_UNAUTHENTICATED = 4401


class _Gone(Exception):
    """The client has left."""


class GuardedSocket(ABC):
    """One accepted WebSocket, whose messages are obeyed in their order.

    What cannot be obeyed is answered with a problem, and the socket stays open. It is closed from
    this side only

    - with 1013 when the client does not read for long,
    - with 4401 when its credential does not hold any more,
    - with 1012 when the server stops,
    - when a task of the socket raises a `HangUp`.

    All its tasks end with it; the turns go on.
    """

    def __init__(self, websocket: WebSocket, limits: LimitSettings) -> None:
        self.websocket = websocket
        self.client = SocketClient(websocket, stall_s=limits.socket_stall_s)
        self._limits = limits
        self._messages = RateWindow("messages", limits.socket_messages_per_minute)
        self._tasks = asyncio.TaskGroup()

    @abstractmethod
    async def obey(self, fields: dict[str, Any], request_id: RequestId | None) -> None:
        """Handle a message; errors raised here are sent to the client."""

    @abstractmethod
    def problem_message(
        self, error: Exception, request_id: RequestId | None, turn_id: str | None
    ) -> bytes:
        """Tell of an error, as HTTP would."""

    async def answer(self, message: bytes) -> None:
        """Send what answers a message of the client."""
        await self.client.send(message)

    def background(self) -> Sequence[Coroutine[Any, Any, None]]:
        """Return the coroutines that run while the socket is served."""
        return ()

    def start(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Run something that ends with the socket at the latest."""
        return self._tasks.create_task(work)

    async def serve(self) -> None:
        """Obey the client until it leaves."""
        hang_up: HangUp | None = None
        try:
            async with self._tasks:
                for work in (self._watch_credential(), *self.background()):
                    self.start(work)
                await self._listen()
        except* (_Gone, WebSocketDisconnect):
            pass
        except* HangUp as group:
            hang_up = next(error for error in group.exceptions if isinstance(error, HangUp))
        if hang_up is not None:
            await self.client.close(hang_up)

    async def attempt(
        self,
        work: Callable[[], Awaitable[None]],
        request_id: RequestId | None,
        turn_id: str | None = None,
        *,
        say: Callable[[bytes], Awaitable[None]] | None = None,
    ) -> None:
        """Perform an action for the client; send it the error if that fails.

        Args:
            say: Sends the error, by default `answer`.
        """
        try:
            await work()
        except (HangUp, WebSocketDisconnect):
            raise
        except Exception as error:
            await (say or self.answer)(self.problem_message(error, request_id, turn_id))

    @contextmanager
    def recorded(
        self, command: str, target: str, detail: Mapping[str, Any] | None = None
    ) -> Iterator[None]:
        """Write into the audit what is done inside, and how that ended."""
        scope = self.websocket.scope
        principal = principal_of(scope)
        status = 500
        try:
            yield
            status = 200
        except Exception as error:
            status = status_of(error)
            raise
        finally:
            audit_log_of(scope).record(
                actor=principal.actor,
                user_id=principal.user_id,
                key_id=principal.key_id,
                action=f"WS {route_template(scope)} {command}",
                target=target,
                status=status,
                trace_id=trace_id_of(scope),
                detail=detail,
            )

    async def _listen(self) -> Never:
        while True:
            message = await self.websocket.receive()
            if message["type"] == "websocket.disconnect":
                raise _Gone
            await self._take(message.get("text"))

    async def _take(self, text: str | None) -> None:
        wait = await self._messages.hit()
        try:
            fields = await read_message(text, self._limits)
            request_id = valid(Envelope, fields).request_id
        except (MalformedError, WebSocketRequestValidationError) as error:
            await self.answer(self.problem_message(error, None, None))
        else:
            await self.attempt(partial(self._check_and_obey, fields, request_id, wait), request_id)
        if wait:
            await asyncio.sleep(_CALM_S)

    async def _check_and_obey(
        self, fields: dict[str, Any], request_id: RequestId | None, wait: float
    ) -> None:
        if wait:
            raise OverloadedError("Too many messages in a minute.", retry_after_s=wait)
        await self._check_credential(request_id)
        await self.obey(fields, request_id)

    async def _check_credential(self, request_id: RequestId | None = None) -> None:
        try:
            await authenticate_again(self.websocket.scope)
        except (UnauthenticatedError, ForbiddenError) as error:
            await self.client.send(self.problem_message(error, request_id, None))
            raise HangUp(_UNAUTHENTICATED, "The credential does not hold any more.") from error

    async def _watch_credential(self) -> Never:
        while True:
            await asyncio.sleep(_LOOK_AGAIN_S)
            with suppress(OdaError, SQLAlchemyError):
                await self._check_credential()


async def serve_socket(websocket: WebSocket, make: Callable[[], Awaitable[GuardedSocket]]) -> None:
    """Accept a WebSocket and serve it until its end, or refuse it with a problem.

    Args:
        make: Creates the object that serves it; an error raised by it refuses the connection.
    """
    sockets: Sockets = websocket.app.state.sockets
    with ExitStack() as stack:
        try:
            stack.enter_context(sockets.open(principal_of(websocket.scope).user_id))
            socket = await make()
        except (OdaError, SQLAlchemyError) as error:
            answer = refusal(websocket, error)
            await refuse(answer, websocket.scope, websocket.receive, websocket.send)
            return
        await websocket.accept()
        await socket.serve()
