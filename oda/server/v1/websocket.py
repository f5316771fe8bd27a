"""Turns over a WebSocket: the same objects as over HTTP, both ways and many turns at once."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, aclosing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Never, TypeVar, cast, get_args
from urllib.parse import quote

from fastapi import APIRouter, WebSocket
from fastapi.exceptions import WebSocketRequestValidationError
from pydantic import BaseModel, ConfigDict, ValidationError
from sqlalchemy.exc import SQLAlchemyError
from starlette.websockets import WebSocketDisconnect

from oda.context import OdaContext
from oda.errors import (
    ForbiddenError,
    InvalidRequestError,
    MalformedError,
    OdaError,
    OverloadedError,
    TurnNotFoundError,
    UnauthenticatedError,
)
from oda.server.access import Context, CurrentPrincipal
from oda.server.audit import answers_detail, audit_log_of
from oda.server.auth import authenticate_again, principal_of
from oda.server.json_limits import find_json_fault
from oda.server.problems import refusal, refuse, status_of
from oda.server.rate_limits import Sockets
from oda.server.rate_window import RateWindow
from oda.server.route_template import route_template
from oda.server.trace import trace_id_of
from oda.server.turn_frames import Frame, View, turn_frames
from oda.server.v1.socket_client import HangUp, SocketClient
from oda.server.v1.submission import to_submission
from oda.server.v1.wire import (
    CancelCommand,
    FollowCommand,
    InputCommand,
    RequestId,
    TurnCommand,
)

router = APIRouter(tags=["turns"])

_MOST_FOLLOWED = 100
"""Turns that one socket is told of at once."""
_LOOK_AGAIN_S = 30.0
"""How often the credential of a socket is looked at that says nothing."""
_CALM_S = 0.1
"""Pause before the next message is read when there were too many."""
_TRY_AGAIN_S = 1.0
_UNAUTHENTICATED = 4401

AnyModel = TypeVar("AnyModel", bound=BaseModel)


@router.websocket("/apps/{app}/sessions/{sid}/ws")
async def session_socket(
    websocket: WebSocket,
    app: str,
    sid: str,
    oda: Context,
    principal: CurrentPrincipal,
    view: str = "events",
) -> None:
    """Talk in a session; see `SessionSocket`. What is not the user's is refused with 404."""
    sockets: Sockets = websocket.app.state.sockets
    with ExitStack() as stack:
        try:
            stack.enter_context(sockets.open(principal.user_id))
            await oda.sessions.get(app, principal.user_id, sid)
            told_as = _view(view)
        except (OdaError, SQLAlchemyError) as error:
            answer = refusal(websocket, error)
            await refuse(answer, websocket.scope, websocket.receive, websocket.send)
            return
        await websocket.accept()
        await SessionSocket(websocket, oda, app, principal.user_id, sid, told_as).serve()


class _Gone(Exception):
    """The client has left."""


class _Envelope(BaseModel):
    """What is read of a message before it is known to be right."""

    model_config = ConfigDict(extra="ignore")

    request_id: RequestId | None = None


@dataclass(eq=False)
class _Following:
    """A turn that the client is told of."""

    turn_id: str
    sent: int
    """Number of the last entry that was sent, or seen by the client before."""
    request_id: RequestId | None
    task: "asyncio.Task[None] | None" = None


class SessionSocket:
    """One accepted WebSocket.

    Messages are obeyed in their order. Every turn that the client is told of has a task, which
    reads the turn's log at the pace at which the client takes it: one frame at a time is on its
    way. All tasks end with the socket; the turns go on. What cannot be obeyed is answered with a
    problem, and the socket stays open. It is closed from this side only

    - with 1013 when the client does not read for long,
    - with 4401 when its credential does not hold any more,
    - with 1012 when the server stops.
    """

    def __init__(
        self, websocket: WebSocket, oda: OdaContext, app: str, user_id: str, sid: str, view: View
    ) -> None:
        limits = oda.settings.limits
        self._websocket = websocket
        self._oda = oda
        self._app = app
        self._user_id = user_id
        self._sid = sid
        self._view = view
        self._json_depth = limits.json_depth
        self._messages = RateWindow("messages", limits.socket_messages_per_minute)
        self._client = SocketClient(websocket, stall_s=limits.socket_stall_s)
        self._following: dict[str, _Following] = {}
        self._tasks = asyncio.TaskGroup()

    async def serve(self) -> None:
        """Obey the client until it leaves."""
        hang_up: HangUp | None = None
        try:
            async with self._tasks:
                self._tasks.create_task(self._watch_credential())
                await self._listen()
        except* (_Gone, WebSocketDisconnect):
            pass
        except* HangUp as group:
            hang_up = next(error for error in group.exceptions if isinstance(error, HangUp))
        if hang_up is not None:
            await self._client.close(hang_up)

    async def _listen(self) -> Never:
        while True:
            message = await self._websocket.receive()
            if message["type"] == "websocket.disconnect":
                raise _Gone
            await self._take(message.get("text"))

    async def _take(self, text: str | None) -> None:
        wait = await self._messages.hit()
        try:
            fields = await self._read(text)
            request_id = _valid(_Envelope, fields).request_id
        except (MalformedError, WebSocketRequestValidationError) as error:
            await self._client.send_problem(error)
        else:
            await self._try(partial(self._obey, fields, request_id, wait), request_id)
        if wait:
            await asyncio.sleep(_CALM_S)

    async def _read(self, text: str | None) -> dict[str, Any]:
        if text is None:
            raise MalformedError("Messages must be text, not binary.")
        encoded = text.encode()
        if fault := await find_json_fault(encoded, self._json_depth):
            raise MalformedError(fault.replace("The body", "The message"))
        try:
            fields = json.loads(encoded)
        except ValueError:
            raise MalformedError("The message is not valid JSON.") from None
        if not isinstance(fields, dict):
            raise MalformedError("A message must be a JSON object.")
        return fields

    async def _obey(
        self, fields: dict[str, Any], request_id: RequestId | None, wait: float
    ) -> None:
        if wait:
            raise OverloadedError("Too many messages in a minute.", retry_after_s=wait)
        await self._check_credential(request_id)
        if "cancel" in fields:
            command = _valid(CancelCommand, fields)
            work = partial(self._cancel, command)
            self._tasks.create_task(self._try(work, request_id, command.cancel))
        elif "input" in fields:
            await self._answer(_valid(InputCommand, fields))
        elif "follow" in fields:
            await self._follow(_valid(FollowCommand, fields))
        else:
            await self._submit(_valid(TurnCommand, fields))

    # --- commands

    async def _submit(self, command: TurnCommand) -> None:
        turns = f"/v1/apps/{quote(self._app)}/sessions/{quote(self._sid)}/turns"
        with self._recorded("turn", turns):
            self._refuse_too_many()
            session = await self._oda.sessions.get(self._app, self._user_id, self._sid)
            key = command.idempotency_key
            submission = to_submission(
                self._oda, session, command, streamed=True, idempotency_key=key
            )
            accepted = await self._oda.turns.submit(session, submission)
        await self._tell(accepted.turn.turn_id, 0, command.request_id)

    async def _cancel(self, command: CancelCommand) -> None:
        """End a turn. Who is told of the turn anyway gets a receipt only by asking for it."""
        turn_id = command.cancel
        told = self._following.get(turn_id)
        with self._recorded("cancel", f"/v1/turns/{turn_id}"):
            await self._check_turn(turn_id)
            turn = await self._oda.turns.cancel(turn_id, self._user_id)
        if told is not None and told.task is not None:
            if command.request_id is None:
                return
            await asyncio.wait({told.task})
        receipt = Frame(None, "turn", turn.model_dump_json().encode())
        await self._client.send_frame(receipt, turn_id, command.request_id)

    async def _answer(self, command: InputCommand) -> None:
        turn_id, responses = command.input, command.responses
        decided = answers_detail([(one.id, one.confirmed) for one in responses])
        with self._recorded("input", f"/v1/turns/{turn_id}", decided):
            await self._check_turn(turn_id)
            self._refuse_too_many(turn_id)
            answers = [(one.id, one.confirmed, one.payload) for one in responses]
            seen = await self._oda.turns.answer(turn_id, answers, self._user_id)
        if (told := self._following.get(turn_id)) is not None:
            seen = min(seen, told.sent)
        await self._tell(turn_id, seen, command.request_id)

    async def _follow(self, command: FollowCommand) -> None:
        await self._check_turn(command.follow)
        self._refuse_too_many(command.follow)
        await self._tell(command.follow, command.after, command.request_id)

    async def _check_turn(self, turn_id: str) -> None:
        turn = await self._oda.turns.get(turn_id, self._user_id)
        if (turn.app, turn.session_id) != (self._app, self._sid):
            raise TurnNotFoundError(f"There is no turn {turn_id!r} in this session.")

    def _refuse_too_many(self, turn_id: str | None = None) -> None:
        if turn_id not in self._following and len(self._following) >= _MOST_FOLLOWED:
            raise OverloadedError(
                f"This WebSocket follows {_MOST_FOLLOWED} turns already.",
                retry_after_s=_TRY_AGAIN_S,
                remedy="open another one",
            )

    @contextmanager
    def _recorded(
        self, command: str, target: str, detail: Mapping[str, Any] | None = None
    ) -> Iterator[None]:
        """Write into the audit what is done inside, and how that ended."""
        scope = self._websocket.scope
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

    # --- who it is

    async def _check_credential(self, request_id: RequestId | None = None) -> None:
        try:
            await authenticate_again(self._websocket.scope)
        except (UnauthenticatedError, ForbiddenError) as error:
            await self._client.send_problem(error, request_id)
            raise HangUp(_UNAUTHENTICATED, "The credential does not hold any more.") from error

    async def _watch_credential(self) -> Never:
        while True:
            await asyncio.sleep(_LOOK_AGAIN_S)
            with suppress(OdaError, SQLAlchemyError):
                await self._check_credential()

    # --- to the client

    async def _tell(self, turn_id: str, after: int, request_id: RequestId | None) -> None:
        """Send what comes of a turn, instead of what was being sent of it."""
        before = self._following.pop(turn_id, None)
        if before is not None and before.task is not None:
            before.task.cancel()
            await asyncio.wait({before.task})
        following = self._following[turn_id] = _Following(turn_id, after, request_id)
        work = partial(self._send_log, following)
        following.task = self._tasks.create_task(self._try(work, request_id, turn_id))

    async def _send_log(self, following: _Following) -> None:
        turn_id, request_id = following.turn_id, following.request_id
        told = False
        try:
            frames_of_turn = turn_frames(self._oda.turns, turn_id, following.sent, self._view)
            async with aclosing(frames_of_turn) as log:
                async for frames in log:
                    for frame in frames:
                        await self._client.send_frame(frame, turn_id, request_id)
                        following.sent = frame.number or following.sent
                        told = True
            if not told:
                turn = await self._oda.turns.get(turn_id)
                done = Frame(None, "done", turn.model_dump_json().encode())
                await self._client.send_frame(done, turn_id, request_id)
        finally:
            if self._following.get(turn_id) is following:
                del self._following[turn_id]

    async def _try(
        self,
        work: Callable[[], Awaitable[None]],
        request_id: RequestId | None,
        turn_id: str | None = None,
    ) -> None:
        """Do something for the client; when that is not possible, tell it why."""
        try:
            await work()
        except (HangUp, WebSocketDisconnect):
            raise
        except Exception as error:
            await self._client.send_problem(error, request_id, turn_id)


def _view(name: str) -> View:
    if name not in get_args(View):
        raise InvalidRequestError(f"view: must be one of {', '.join(get_args(View))}.")
    return cast(View, name)


def _valid(model: type[AnyModel], fields: dict[str, Any]) -> AnyModel:
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        wrong = error.errors(include_context=False, include_input=False, include_url=False)
        raise WebSocketRequestValidationError(
            [{**one, "loc": ("message", *one["loc"])} for one in wrong]
        ) from None
