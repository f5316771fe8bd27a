"""Base class of session service wrappers."""

from collections.abc import Sequence
from typing import Any

from google.adk.events import Event
from google.adk.sessions import Session
from google.adk.sessions.base_session_service import (
    BaseSessionService,
    GetSessionConfig,
    ListSessionsResponse,
)

from oda.session.listing import ListedSession, Position, list_page


class PassingOn(BaseSessionService):
    """Session service that delegates everything; subclasses override what they change."""

    def __init__(self, behind: BaseSessionService) -> None:
        self.behind = behind

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        return await self.behind.get_session(
            app_name=app_name, user_id=user_id, session_id=session_id, config=config
        )

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        return await self.behind.create_session(
            app_name=app_name, user_id=user_id, state=state, session_id=session_id
        )

    async def list_sessions(
        self, *, app_name: str, user_id: str | None = None
    ) -> ListSessionsResponse:
        return await self.behind.list_sessions(app_name=app_name, user_id=user_id)

    async def list_page(
        self, *, app_name: str, user_id: str, limit: int, behind: Position | None
    ) -> Sequence[ListedSession]:
        return await list_page(
            self.behind, app_name=app_name, user_id=user_id, limit=limit, behind=behind
        )

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        await self.behind.delete_session(app_name=app_name, user_id=user_id, session_id=session_id)

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        return await self.behind.get_user_state(app_name=app_name, user_id=user_id)

    async def append_event(self, session: Session, event: Event) -> Event:
        return await self.behind.append_event(session, event)

    async def flush(self) -> None:
        await self.behind.flush()
