"""Sessions for ADK's routes and dev tools, under the rules of `/v1`."""

from collections.abc import Mapping
from typing import Any

from google.adk.events import Event
from google.adk.sessions import Session
from google.adk.sessions.base_session_service import GetSessionConfig, ListSessionsResponse

from oda.context import OdaContext
from oda.errors import ForbiddenError, SessionNotFoundError
from oda.server.adk.access import check_user, is_admin
from oda.server.adk.shown_history import as_shown
from oda.server.adk.visit import current_visit
from oda.server.client_state import change_state
from oda.session.oda_session import OdaSession
from oda.session.passing_on import PassingOn
from oda.session.state import visible
from oda.turn.record import Turn

_MOST_LISTED = 200
"""Maximum length of ADK's session list, which has no pages; `/v1` lists the rest."""
_PAGE = 200


class AdkSessions(PassingOn):
    """The calling user's sessions; for an admin, those of all users."""

    def __init__(self, oda: OdaContext) -> None:
        super().__init__(oda.services.session)
        self._oda = oda

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        check_user(user_id)
        made = await self._oda.sessions.create(app_name, user_id, session_id, state=state)
        stored = await super().get_session(
            app_name=app_name, user_id=user_id, session_id=made.session_id
        )
        if stored is None:
            raise SessionNotFoundError(f"There is no session {made.session_id!r} any more.")
        return _visible(stored)

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        """Return the session as clients may see it; None if it is missing or another user's.

        ADK's `/run_sse` gets the session before it starts to stream, so None leads to a 404.
        """
        try:
            check_user(user_id)
        except SessionNotFoundError:
            return None
        stored = await super().get_session(
            app_name=app_name, user_id=user_id, session_id=session_id, config=config
        )
        if stored is None:
            return None
        session = _visible(stored)
        visit = current_visit.get()
        if visit is not None and visit.reads_session and session.events:
            session.events = await self._as_shown(session)
        return session

    async def list_sessions(
        self, *, app_name: str, user_id: str | None = None
    ) -> ListSessionsResponse:
        """Return the sessions of a user, most recently used first, without events and states."""
        if user_id is None:
            raise ForbiddenError("The sessions of all users are not listed here.")
        check_user(user_id)
        page = await self._oda.sessions.list(app_name, user_id, limit=_MOST_LISTED)
        listed = [
            Session(
                id=one.session_id,
                app_name=one.app_name,
                user_id=one.user_id,
                last_update_time=one.updated_at,
            )
            for one in page.sessions
        ]
        return ListSessionsResponse(sessions=listed)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete a session with all its data; ADK does not regard a missing one as an error."""
        check_user(user_id)
        try:
            session = await self._oda.sessions.get(app_name, user_id, session_id)
            await self._oda.delete_session(session)
        except SessionNotFoundError:
            return

    async def append_event(self, session: Session, event: Event) -> Event:
        """Change the state of a session, or append an event of an admin or a dev tool.

        Raises:
            InvalidRequestError: a key of the state is reserved.
            SessionBusyError: a turn is running.
            ForbiddenError: a user appends an event.
        """
        check_user(session.user_id)
        if event.author == "user" and event.content is None:
            await self._change_state(session, event.actions.state_delta)
            return event
        if not is_admin():
            raise ForbiddenError("Only an admin may add events to a session.")
        return await super().append_event(session, event)

    async def _change_state(self, session: Session, delta: Mapping[str, Any]) -> None:
        ours = await self._oda.sessions.get(session.app_name, session.user_id, session.id)
        session.state = await change_state(ours, delta, lambda _: delta)
        session.last_update_time = ours.updated_at

    async def _as_shown(self, session: Session) -> list[Event]:
        """Return the history with each turn's notices at the position they had in its stream."""
        ours = await self._oda.sessions.get(session.app_name, session.user_id, session.id)
        events = session.events
        for turn in await self._eventful(ours):
            entries = await self._oda.turns.entries(turn.turn_id)
            streamed = [e.data for e in entries if isinstance(e.data, Event) and not e.partial]
            events = as_shown(events, streamed, turn.turn_id)
        return events

    async def _eventful(self, session: OdaSession) -> list[Turn]:
        """Return the turns whose streams contained more than is stored in the session."""
        found: list[Turn] = []
        cursor: str | None = None
        while True:
            turns, cursor = await self._oda.turns.of_session(session, limit=_PAGE, cursor=cursor)
            found += [
                turn
                for turn in turns
                if turn.attempts > 1 or turn.status in ("failed", "cancelled")
            ]
            if cursor is None:
                return found


def _visible(stored: Session) -> Session:
    return stored.model_copy(update={"state": visible(stored.state)})
