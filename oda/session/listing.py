"""Pages of a user's sessions, most recently updated first, without state and events."""

import base64
import heapq
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

from google.adk.sessions import Session
from google.adk.sessions.base_session_service import BaseSessionService

from oda.errors import InvalidRequestError
from oda.message.storable import storable_text
from oda.session.past_state import META

_LATEST = 253_370_764_800.0
"""The year 9999 in epoch seconds; databases cannot represent much later times."""


class Position(NamedTuple):
    """Sort key of a session; a page begins behind the last position of the page before."""

    updated_at: float
    """Epoch seconds."""
    session_id: str

    @classmethod
    def of_cursor(cls, cursor: str) -> Self:
        """Decode a cursor.

        Raises:
            InvalidRequestError: the cursor is invalid.
        """
        try:
            padded = cursor + "=" * (-len(cursor) % 4)
            time, session_id = json.loads(base64.urlsafe_b64decode(padded))
            position = cls(float(time), str(session_id))
            if not 0 <= position.updated_at < _LATEST or storable_text(position.session_id) != (
                position.session_id
            ):
                raise ValueError
            return position
        except (ValueError, TypeError) as error:
            raise InvalidRequestError(
                "The cursor is not valid.", remedy="use next_cursor of the page before"
            ) from error

    @property
    def cursor(self) -> str:
        return base64.urlsafe_b64encode(json.dumps(self).encode()).decode().rstrip("=")


@dataclass(frozen=True)
class ListedSession:
    """Summary of a stored session; times are in epoch seconds."""

    app_name: str
    user_id: str
    session_id: str
    created_at: float
    updated_at: float
    turns: int
    """Number of messages sent."""

    @classmethod
    def of(
        cls,
        app_name: str,
        user_id: str,
        session_id: str,
        updated_at: float,
        meta: Mapping[str, Any] | None,
    ) -> Self:
        """Create a summary; `meta` is the stored value of the state key `META`."""
        known = meta or {}
        return cls(
            app_name,
            user_id,
            session_id,
            created_at=float(known.get("created_at") or updated_at),
            updated_at=updated_at,
            turns=int(known.get("turns") or 0),
        )

    @property
    def position(self) -> Position:
        return Position(self.updated_at, self.session_id)


@runtime_checkable
class SessionLister(Protocol):
    """A session service that queries single pages, so that the cost depends on the page only."""

    async def list_page(
        self, *, app_name: str, user_id: str, limit: int, behind: Position | None
    ) -> Sequence[ListedSession]:
        """Return at most `limit` sessions behind a position, most recently updated first."""


async def list_page(
    service: BaseSessionService,
    *,
    app_name: str,
    user_id: str,
    limit: int,
    behind: Position | None,
) -> Sequence[ListedSession]:
    """Return a page from any service; one that is not a `SessionLister` lists all sessions."""
    if isinstance(service, SessionLister):
        return await service.list_page(
            app_name=app_name, user_id=user_id, limit=limit, behind=behind
        )
    answer = await service.list_sessions(app_name=app_name, user_id=user_id)
    return newest(answer.sessions, limit, behind)


def newest(
    sessions: Sequence[Session], limit: int, behind: Position | None
) -> Sequence[ListedSession]:
    """Return a page of loaded sessions."""
    listed = (s for s in sessions if behind is None or _position(s) < behind)
    return [
        ListedSession.of(s.app_name, s.user_id, s.id, s.last_update_time, s.state.get(META))
        for s in heapq.nlargest(limit, listed, _position)
    ]


def _position(session: Session) -> Position:
    return Position(session.last_update_time, session.id)
