"""In-memory sessions with the guarantees of sessions in a database."""

import uuid
from collections.abc import Sequence
from typing import Any

from google.adk.errors import StaleSessionError
from google.adk.events import Event
from google.adk.sessions import InMemorySessionService, Session

from oda.session.listing import ListedSession, Position, newest


class MemorySessions(InMemorySessionService):
    """ADK's in-memory service with session revisions, so that stale writes are refused."""

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        created = await super().create_session(
            app_name=app_name, user_id=user_id, state=state, session_id=session_id
        )
        self._revise(created)
        return created

    async def append_event(self, session: Session, event: Event) -> Event:
        """Store an event.

        Raises:
            SessionNotFoundError: the session has been deleted.
            StaleSessionError: the session has changed since `session` was read, or has an event
                with that id.
        """
        stored = self._stored(session)
        if event.partial or stored is None:
            return await super().append_event(session, event)
        if stored._storage_update_marker != session._storage_update_marker:
            raise StaleSessionError("The session has changed since it was read; read it again.")
        if any(known.id == event.id for known in stored.events):
            raise StaleSessionError(f"The event {event.id!r} is stored already.")
        appended = await super().append_event(session, event)
        self._revise(session)
        return appended

    async def list_page(
        self, *, app_name: str, user_id: str, limit: int, behind: Position | None
    ) -> Sequence[ListedSession]:
        """Return a page without copying any session."""
        of_user = self.sessions.get(app_name, {}).get(user_id, {})
        return newest([*of_user.values()], limit, behind)

    def _stored(self, session: Session) -> Session | None:
        return self.sessions.get(session.app_name, {}).get(session.user_id, {}).get(session.id)

    def _revise(self, session: Session) -> None:
        session._storage_update_marker = uuid.uuid4().hex
        if stored := self._stored(session):
            stored._storage_update_marker = session._storage_update_marker
