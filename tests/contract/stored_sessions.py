"""Short words for what the contract tests do with a session service."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from google.adk.events import Event, EventActions
from google.adk.sessions import Session
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig

from oda.session.listing import ListedSession, Position, list_page


def change(
    delta: dict[str, Any],
    *,
    n: int | None = None,
    event_id: str = "",
    timestamp: float | None = None,
    partial: bool | None = None,
) -> Event:
    """An event that changes the state; `n` tells it from others."""
    event = Event(
        id=event_id,
        author="agent",
        invocation_id="turn",
        actions=EventActions(state_delta=delta),
        custom_metadata=None if n is None else {"n": n},
        partial=partial,
    )
    if timestamp is not None:
        event.timestamp = timestamp
    return event


@dataclass(frozen=True)
class Sessions:
    """The sessions of one user with one app."""

    service: BaseSessionService
    app_name: str
    user_id: str

    def of(self, user_id: str) -> Self:
        """Those of another user."""
        return replace(self, user_id=user_id)

    def on(self, service: BaseSessionService) -> Self:
        """The same as another node sees them."""
        return replace(self, service=service)

    async def create(self, name: str, state: dict[str, Any] | None = None) -> Session:
        return await self.service.create_session(**self._owner, session_id=name, state=state)

    async def find(self, name: str, config: GetSessionConfig | None = None) -> Session | None:
        return await self.service.get_session(**self._owner, session_id=name, config=config)

    async def get(self, name: str, config: GetSessionConfig | None = None) -> Session:
        session = await self.find(name, config)
        assert session is not None
        return session

    async def append(self, session: Session, event: Event) -> Event:
        return await self.service.append_event(session, event)

    async def delete(self, name: str) -> None:
        await self.service.delete_session(**self._owner, session_id=name)

    async def list(self, *, of_all: bool = False) -> list[tuple[str, dict[str, Any], list[Event]]]:
        """Name, state and events of each, in the order in which they are listed."""
        user_id = None if of_all else self.user_id
        listed = await self.service.list_sessions(app_name=self.app_name, user_id=user_id)
        return [(session.id, session.state, session.events) for session in listed.sessions]

    async def page(self, limit: int, behind: Position | None = None) -> Sequence[ListedSession]:
        return await list_page(self.service, **self._owner, limit=limit, behind=behind)

    async def user_state(self) -> dict[str, Any]:
        return await self.service.get_user_state(**self._owner)

    @property
    def _owner(self) -> dict[str, str]:
        return {"app_name": self.app_name, "user_id": self.user_id}
