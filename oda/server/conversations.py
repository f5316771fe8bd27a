"""Conversations of the calling user with an app, for the routes of an agent."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import Depends
from fastapi.requests import HTTPConnection
from google.adk.events import Event
from pydantic import JsonValue
from starlette.responses import Response

from oda.agent.model.gate import ModelGate, current_gate
from oda.agent.outcome import INPUT
from oda.context import OdaContext
from oda.errors import SessionExistsError, SessionNotFoundError, TurnNotFoundError
from oda.message.content import Message, to_content
from oda.server.access import Context, User, turns_at_once
from oda.server.sse import followed_log
from oda.server.turn_frames import Frame, View, turn_frames
from oda.session.oda_session import OdaSession
from oda.turn.admission import Accepted
from oda.turn.record import Turn
from oda.turn.submission import IdempotencyKey, Submission

_APP = "oda_app"


class AppConversations:
    """The sessions and turns that one user has with one app; there is no way to another's.

    Messages go through the turn engine: they are recorded, wait for their time in the session,
    obey limits, and go on when the client leaves or the process dies.
    """

    def __init__(self, oda: OdaContext, app: str, user_id: str) -> None:
        self._oda = oda
        self.app = app
        self.user_id = user_id

    async def get(self, session_id: str) -> OdaSession:
        """Return a session with its current state.

        Raises:
            SessionNotFoundError: the user has no such session (404).
        """
        return await self._oda.sessions.current(self.app, self.user_id, session_id)

    async def find(self, session_id: str) -> OdaSession | None:
        """Return a session as `get` does, or None."""
        try:
            return await self.get(session_id)
        except SessionNotFoundError:
            return None

    async def begin(
        self, session_id: str | None = None, *, state: Mapping[str, Any] | None = None
    ) -> OdaSession:
        """Start a session, by default with a new id.

        Raises:
            SessionExistsError: the id is taken (409).
            InvalidRequestError: the id or a key of the state is not allowed (422).
        """
        return await self._oda.sessions.create(self.app, self.user_id, session_id, state=state)

    async def get_or_begin(
        self, session_id: str | None, *, state: Mapping[str, Any] | None = None
    ) -> tuple[OdaSession, bool]:
        """A session, and whether it has been started now: then, and only then, with `state`.

        Raises:
            InvalidRequestError: as `begin`.
        """
        if session_id is None:
            return await self.begin(state=state), True
        if found := await self.find(session_id):
            return found, False
        try:
            return await self.begin(session_id, state=state), True
        except SessionExistsError:
            return await self.get(session_id), False

    async def submit(
        self,
        session: OdaSession,
        message: Message,
        *,
        state_delta: Mapping[str, Any] | None = None,
        stream_tokens: bool = False,
    ) -> Turn:
        """Submit a message; its turn begins when the session is free.

        Args:
            session: A session of these conversations.
            message: A text or an ADK content.
            state_delta: Changes of the session's state that are stored with the message.
            stream_tokens: Whether to stream texts in pieces as they arrive.

        Raises:
            InvalidRequestError: the message is empty (422).
            OverloadedError: the session or the user has too many unfinished turns (429).
        """
        accepted = await self.accept(
            session, message, state_delta=state_delta, stream_tokens=stream_tokens
        )
        return accepted.turn

    async def accept(
        self,
        session: OdaSession,
        message: Message,
        *,
        state_delta: Mapping[str, Any] | None = None,
        stream_tokens: bool = False,
        key: IdempotencyKey | None = None,
    ) -> Accepted:
        """Do as `submit`, under an idempotency key; return the turn and whether it existed already.

        Raises: as `submit`, and
            IdempotencyConflictError: the key was used with another body (422).
        """
        submission = Submission(
            to_content(message),
            state_delta=state_delta,
            stream_tokens=stream_tokens,
            key=key,
            turns_at_once=turns_at_once(self._oda),
        )
        return await self._oda.turns.submit(session, submission)

    async def turn(self, turn_id: str) -> Turn:
        """Return the record of a turn with this app.

        Raises:
            TurnNotFoundError: the user has no such turn with this app (404).
        """
        turn = await self._oda.turns.get(turn_id, self.user_id)
        if turn.app != self.app:
            raise TurnNotFoundError(f"There is no turn {turn_id!r} with {self.app!r}.")
        return turn

    async def user_state(self) -> dict[str, Any]:
        """Return the user's state in all sessions with this app, as stored under `user:` keys.

        Empty if the session service cannot provide it.
        """
        service = self._oda.services.session
        try:
            known = await service.get_user_state(app_name=self.app, user_id=self.user_id)
        except NotImplementedError:
            return {}
        return {f"user:{key}": value for key, value in known.items()}

    def of_app(self, app: str) -> "AppConversations":
        """The same user's with another app."""
        return AppConversations(self._oda, app, self.user_id)

    def of_user(self, user_id: str) -> "AppConversations":
        """The same of another user; for doors that know better who asks."""
        return AppConversations(self._oda, self.app, user_id)

    async def asking(self, session: OdaSession) -> Turn | None:
        """Return the latest turn of a session that waits for a person's input (`RequestInput`)."""
        unfinished = (stored.turn for stored in await self._oda.turns.unfinished(session))
        asking = [turn for turn in unfinished if [q["name"] for q in turn.pending_input] == [INPUT]]
        return asking[-1] if asking else None

    async def answer(self, turn: Turn, answer: JsonValue) -> int:
        """Answer a turn that is `asking`; return the number of its log's last entry before that.

        Raises:
            ConflictError: the question has been answered already (409).
            OverloadedError: as `submit`.
        """
        answers = [(turn.pending_input[0]["id"], None, answer)]
        return await self._oda.turns.answer(turn.turn_id, answers, self.user_id)

    async def follow(
        self, turn: Turn, *, after: int = 0
    ) -> AsyncGenerator[Event | Turn | None, None]:
        """Yield the events of a turn, at the reader's pace, and finally its record.

        The record is final, or waits for a person. None is yielded as a heartbeat while nothing
        happens.

        Args:
            after: Number of a log entry; entries up to it are left out.
        """
        follower = self._oda.turns.follow(turn.turn_id, after, previews=True)
        last: Event | Turn | None = None
        while not follower.ended:
            entries = await follower.read()
            for entry in entries:
                last = entry.data
                yield last
            if not entries:
                yield None
        if not isinstance(last, Turn) or not last.ended:
            yield await self._oda.turns.get(turn.turn_id)

    async def ended(self, turn: Turn) -> Turn:
        """The turn when it has ended, or waits for a person."""
        async with aclosing(self.follow(turn)) as happening:
            async for item in happening:
                if isinstance(item, Turn):
                    turn = item
        return turn

    def log(
        self, turn: Turn, *, after: int = 0, view: View = "events", partials: bool = True
    ) -> AsyncGenerator[Sequence[Frame], None]:
        """A turn's numbered log from after an entry, at the reader's pace; see `turn_frames`."""
        return turn_frames(self._oda.turns, turn.turn_id, after, view, previews=partials)

    async def followed_log(self, turn: Turn, *, after: int, view: View, partials: bool) -> Response:
        """Stream a turn's numbered log after an entry; 204 if all of it has been seen."""
        return await followed_log(
            self._oda.turns, turn.turn_id, after=after, view=view, partials=partials
        )

    async def cancel(self, turn: Turn) -> Turn:
        """End a turn; one that has ended stays as it is."""
        return await self._oda.turns.cancel(turn.turn_id, self.user_id)

    async def state_after(self, session: OdaSession, turn: Turn) -> dict[str, Any]:
        """Return the session's own state as of the end of a turn.

        If the state has changed since, this reads the whole history.
        """
        return await session.state_after(turn.turn_id)


class OfApp:
    """Dependency that sets the routes' app name, and the gate that charges model calls."""

    def __init__(self, name: str) -> None:
        self._name = name

    async def __call__(self, connection: HTTPConnection, oda: Context, user: User) -> None:
        connection.scope[_APP] = self._name
        if oda.days.limited:
            current_gate.set(ModelGate(oda.days, user))


def _conversations(connection: HTTPConnection, oda: Context, user: User) -> AppConversations:
    return AppConversations(oda, connection.scope[_APP], user)


Conversations = Annotated[AppConversations, Depends(_conversations)]
