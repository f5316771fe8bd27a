"""The turns followed by the client of a WebSocket."""

import asyncio
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial

from oda.errors import OverloadedError
from oda.server.guarded_socket import GuardedSocket
from oda.server.socket_messages import RequestId
from oda.server.turn_frames import Frame, View, turn_frames
from oda.server.v1.socket_frames import frame_message
from oda.turn.engine import TurnEngine

_MOST = 100
"""Maximum number of turns followed by one socket at a time."""
_TRY_AGAIN_S = 1.0


@dataclass(eq=False)
class Following:
    """One of them."""

    turn_id: str
    sent: int
    """Number of the last entry that was sent, or seen by the client before."""
    request_id: RequestId | None
    task: "asyncio.Task[None] | None" = None


class FollowedTurns:
    """Every turn has a task, which reads its log at the pace at which the client takes it.

    One frame at a time is on its way. The tasks end with the socket.
    """

    def __init__(
        self, socket: GuardedSocket, turns: TurnEngine, view: View, partials: bool
    ) -> None:
        self._socket = socket
        self._turns = turns
        self._view = view
        self._partials = partials
        self._following: dict[str, Following] = {}

    def get(self, turn_id: str) -> Following | None:
        """Return the state of a followed turn; None if the turn is not followed."""
        return self._following.get(turn_id)

    def refuse_too_many(self, turn_id: str | None = None) -> None:
        """Refuse one more turn than a socket may follow.

        Raises:
            OverloadedError: it is one more.
        """
        if turn_id not in self._following and len(self._following) >= _MOST:
            raise OverloadedError(
                f"This WebSocket follows {_MOST} turns already.",
                retry_after_s=_TRY_AGAIN_S,
                remedy="open another one",
            )

    async def tell(self, turn_id: str, after: int, request_id: RequestId | None) -> None:
        """Send the frames of a turn, replacing a previous follower of it."""
        before = self._following.pop(turn_id, None)
        if before is not None and before.task is not None:
            before.task.cancel()
            await asyncio.wait({before.task})
        following = self._following[turn_id] = Following(turn_id, after, request_id)
        work = partial(self._send_log, following)
        following.task = self._socket.start(self._socket.attempt(work, request_id, turn_id))

    async def _send_log(self, following: Following) -> None:
        turn_id = following.turn_id
        told = False
        try:
            frames_of_turn = turn_frames(
                self._turns, turn_id, following.sent, self._view, previews=self._partials
            )
            async with aclosing(frames_of_turn) as log:
                async for frames in log:
                    for frame in frames:
                        await self._send(frame, following)
                        following.sent = frame.number or following.sent
                        told = True
            if not told:
                turn = await self._turns.get(turn_id)
                done = Frame(None, "done", turn.model_dump_json().encode())
                await self._send(done, following)
        finally:
            if self._following.get(turn_id) is following:
                del self._following[turn_id]

    async def _send(self, frame: Frame, following: Following) -> None:
        message = frame_message(frame, following.turn_id, following.request_id)
        await self._socket.client.send(message)
