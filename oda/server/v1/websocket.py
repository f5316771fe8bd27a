"""Turns over a WebSocket: the same objects as over HTTP, both ways and many turns at once."""

import asyncio
from functools import partial
from typing import Any, cast, get_args
from urllib.parse import quote

from fastapi import APIRouter, WebSocket

from oda.context import OdaContext
from oda.errors import InvalidRequestError, TurnNotFoundError
from oda.server.access import Context, CurrentPrincipal
from oda.server.audit import answers_detail
from oda.server.guarded_socket import GuardedSocket, serve_socket
from oda.server.socket_messages import RequestId, valid
from oda.server.turn_frames import Frame, View
from oda.server.v1.followed_turns import FollowedTurns
from oda.server.v1.socket_frames import frame_message, problem_message
from oda.server.v1.submission import to_submission
from oda.server.v1.wire import CancelCommand, FollowCommand, InputCommand, TurnCommand

router = APIRouter(tags=["turns"])


@router.websocket("/apps/{app}/sessions/{sid}/ws")
async def session_socket(
    websocket: WebSocket,
    app: str,
    sid: str,
    oda: Context,
    principal: CurrentPrincipal,
    view: str = "events",
    partials: bool = True,
) -> None:
    """Talk in a session; see `SessionSocket`. What is not the user's is refused with 404."""

    async def make() -> SessionSocket:
        await oda.sessions.get(app, principal.user_id, sid)
        return SessionSocket(websocket, oda, principal.user_id, app, sid, _view(view), partials)

    await serve_socket(websocket, make)


class SessionSocket(GuardedSocket):
    """The WebSocket of one session."""

    def __init__(
        self,
        websocket: WebSocket,
        oda: OdaContext,
        user_id: str,
        app: str,
        sid: str,
        view: View,
        partials: bool,
    ) -> None:
        super().__init__(websocket, oda.settings.limits)
        self._oda = oda
        self._app = app
        self._user_id = user_id
        self._sid = sid
        self._followed = FollowedTurns(self, oda.turns, view, partials)

    async def obey(self, fields: dict[str, Any], request_id: RequestId | None) -> None:
        if "cancel" in fields:
            command = valid(CancelCommand, fields)
            work = partial(self._cancel, command)
            self.start(self.attempt(work, request_id, command.cancel))
        elif "input" in fields:
            await self._answer(valid(InputCommand, fields))
        elif "follow" in fields:
            await self._follow(valid(FollowCommand, fields))
        else:
            await self._submit(valid(TurnCommand, fields))

    def problem_message(
        self, error: Exception, request_id: RequestId | None, turn_id: str | None
    ) -> bytes:
        return problem_message(self.websocket, error, request_id, turn_id)

    async def _submit(self, command: TurnCommand) -> None:
        turns = f"/v1/apps/{quote(self._app)}/sessions/{quote(self._sid)}/turns"
        with self.recorded("turn", turns):
            self._followed.refuse_too_many()
            session = await self._oda.sessions.get(self._app, self._user_id, self._sid)
            key = command.idempotency_key
            submission = await to_submission(
                self._oda, session, command, streamed=True, idempotency_key=key
            )
            accepted = await self._oda.turns.submit(session, submission)
        await self._followed.tell(accepted.turn.turn_id, 0, command.request_id)

    async def _cancel(self, command: CancelCommand) -> None:
        """End a turn. A client that follows the turn gets a receipt only if it asks for one."""
        turn_id = command.cancel
        told = self._followed.get(turn_id)
        with self.recorded("cancel", f"/v1/turns/{turn_id}"):
            await self._check_turn(turn_id)
            turn = await self._oda.turns.cancel(turn_id, self._user_id)
        if told is not None and told.task is not None:
            if command.request_id is None:
                return
            await asyncio.wait({told.task})
        receipt = Frame(None, "turn", turn.model_dump_json().encode())
        await self.client.send(frame_message(receipt, turn_id, command.request_id))

    async def _answer(self, command: InputCommand) -> None:
        turn_id, responses = command.input, command.responses
        decided = answers_detail([(one.id, one.confirmed) for one in responses])
        with self.recorded("input", f"/v1/turns/{turn_id}", decided):
            await self._check_turn(turn_id)
            self._followed.refuse_too_many(turn_id)
            answers = [(one.id, one.confirmed, one.payload) for one in responses]
            seen = await self._oda.turns.answer(turn_id, answers, self._user_id)
        if (told := self._followed.get(turn_id)) is not None:
            seen = min(seen, told.sent)
        await self._followed.tell(turn_id, seen, command.request_id)

    async def _follow(self, command: FollowCommand) -> None:
        await self._check_turn(command.follow)
        self._followed.refuse_too_many(command.follow)
        await self._followed.tell(command.follow, command.after, command.request_id)

    async def _check_turn(self, turn_id: str) -> None:
        turn = await self._oda.turns.get(turn_id, self._user_id)
        if (turn.app, turn.session_id) != (self._app, self._sid):
            raise TurnNotFoundError(f"There is no turn {turn_id!r} in this session.")


def _view(name: str) -> View:
    if name not in get_args(View):
        raise InvalidRequestError(f"view: must be one of {', '.join(get_args(View))}.")
    return cast(View, name)
