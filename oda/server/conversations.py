"""What the routes of an agent work with: the conversations of who asks, with this app."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import Depends
from fastapi.requests import HTTPConnection
from google.adk.events import Event
from pydantic import JsonValue

from oda.agent.outcome import INPUT
from oda.context import OdaContext
from oda.errors import SessionExistsError, SessionNotFoundError, TurnNotFoundError
from oda.message.content import Message, to_content
from oda.server.access import Context, User, turns_at_once
from oda.server.turn_frames import Frame, View, turn_frames
from oda.session.oda_session import OdaSession
from oda.session.past_state import INITIAL, initial_state, state_after
from oda.turn.record import Turn
from oda.turn.store import Accepted
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
        """A session with its state as it is stored now.

        Raises:
            SessionNotFoundError: the user has none of that name; told as 404.
        """
        return await self._oda.sessions.current(self.app, self.user_id, session_id)

    async def find(self, session_id: str) -> OdaSession | None:
        """A session as `get` gives it, or None."""
        try:
            return await self.get(session_id)
        except SessionNotFoundError:
            return None

    async def begin(
        self, session_id: str | None = None, *, state: Mapping[str, Any] | None = None
    ) -> OdaSession:
        """Start a session, by default under a new name.

        Raises:
            SessionExistsError: the name is taken; told as 409.
            InvalidRequestError: the name or a key of the state is not allowed; told as 422.
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
        """Send a message; its turn begins when the session is free.

        Args:
            session: Of these conversations.
            message: A text or an ADK content.
            state_delta: Changes of the session's state that are stored with the message.
            stream_tokens: Whether pieces of texts are wanted as they come.

        Raises:
            InvalidRequestError: the message is empty; told as 422.
            OverloadedError: the session or the user has too much to do; told as 429.
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
        """`submit` under an idempotency key: the turn, and whether an earlier request has made it.

        Raises: as `submit`, and
            IdempotencyConflictError: the key stands for another body; told as 422.
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
        """The record of a turn with this app.

        Raises:
            TurnNotFoundError: the user has none of that id here; told as 404.
        """
        turn = await self._oda.turns.get(turn_id, self.user_id)
        if turn.app != self.app:
            raise TurnNotFoundError(f"There is no turn {turn_id!r} with {self.app!r}.")
        return turn

    async def user_state(self) -> dict[str, Any]:
        """What is known of the user in all sessions with this app, under `user:` keys.

        Nothing where the session service cannot tell.
        """
        service = self._oda.services.session
        try:
            known = await service.get_user_state(app_name=self.app, user_id=self.user_id)
        except NotImplementedError:
            return {}
        return {f"user:{key}": value for key, value in known.items()}

    def of_user(self, user_id: str) -> "AppConversations":
        """The same of another user; for doors that know better who asks."""
        return AppConversations(self._oda, self.app, user_id)

    async def asking(self, session: OdaSession) -> Turn | None:
        """The latest turn of a session that waits for what a person says (`RequestInput`)."""
        unfinished = (stored.turn for stored in await self._oda.turns.unfinished(session))
        asking = [turn for turn in unfinished if [q["name"] for q in turn.pending_input] == [INPUT]]
        return asking[-1] if asking else None

    async def answer(self, turn: Turn, answer: JsonValue) -> int:
        """Go on with a turn that is `asking`; returns the number of its log's last entry so far.

        Raises:
            ConflictError: it has been answered already; told as 409.
            OverloadedError: as `submit`.
        """
        answers = [(turn.pending_input[0]["id"], None, answer)]
        return await self._oda.turns.answer(turn.turn_id, answers, self.user_id)

    async def follow(
        self, turn: Turn, *, after: int = 0
    ) -> AsyncGenerator[Event | Turn | None, None]:
        """What happens in a turn, at the reader's pace; the last is the turn as it ended.

        That is final, or waits for a person. None is yielded when nothing has happened for the
        time of a heartbeat.

        Args:
            after: The number of an entry of its log; all before is left out.
        """
        follower = self._oda.turns.follow(turn.turn_id, after)
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
        self, turn: Turn, *, after: int = 0, view: View = "events"
    ) -> AsyncGenerator[Sequence[Frame], None]:
        """A turn's numbered log from after an entry, at the reader's pace; see `turn_frames`."""
        return turn_frames(self._oda.turns, turn.turn_id, after, view)

    async def cancel(self, turn: Turn) -> Turn:
        """End a turn; one that has ended stays as it is."""
        return await self._oda.turns.cancel(turn.turn_id, self.user_id)

    async def state_after(self, session: OdaSession, turn: Turn) -> dict[str, Any]:
        """The session's own state as a turn has left it, whatever has happened since.

        This reads the whole history; when nothing has happened since, `session.state` tells it.
        """
        events = await session.history()
        stored = {**session.state.to_dict(), INITIAL: session.state.raw(INITIAL)}
        until = max(
            (n for n, event in enumerate(events, 1) if event.invocation_id == turn.turn_id),
            default=len(events),
        )
        return state_after(initial_state(stored, events), events[:until])


class OfApp:
    """Tells what is behind it which app's routes have been called."""

    def __init__(self, name: str) -> None:
        self._name = name

    async def __call__(self, connection: HTTPConnection) -> None:
        connection.scope[_APP] = self._name


def _conversations(connection: HTTPConnection, oda: Context, user: User) -> AppConversations:
    return AppConversations(oda, connection.scope[_APP], user)


Conversations = Annotated[AppConversations, Depends(_conversations)]
