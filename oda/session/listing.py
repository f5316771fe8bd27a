"""Pages of a user's sessions, the most recently used first, without states and events."""

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
"""The year 9999 in epoch seconds; no database knows much later times."""


class Position(NamedTuple):
    """Where a session stands in a list; the next page begins behind it."""

    updated_at: float
    """Epoch seconds."""
    session_id: str

    @classmethod
    def of_cursor(cls, cursor: str) -> Self:
        """Return the position that a cursor stands for.

        Raises:
            InvalidRequestError: the cursor is not one that was given out.
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
    """A stored session as a list shows it."""

    app_name: str
    user_id: str
    session_id: str
    created_at: float
    updated_at: float
    turns: int
    """How many messages have been sent."""

    @classmethod
    def of(
        cls,
        app_name: str,
        user_id: str,
        session_id: str,
        updated_at: float,
        meta: Mapping[str, Any] | None,
    ) -> Self:
        """Make one of what a store knows; `meta` is the value of the state key `META`."""
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
    """A session service that makes pages itself, so that a page costs what is on it."""

    async def list_page(
        self, *, app_name: str, user_id: str, limit: int, behind: Position | None
    ) -> Sequence[ListedSession]:
        """Return at most `limit` sessions behind a position, the most recently used first."""


async def list_page(
    service: BaseSessionService,
    *,
    app_name: str,
    user_id: str,
    limit: int,
    behind: Position | None,
) -> Sequence[ListedSession]:
    """Return a page of any service; one that is no `SessionLister` is asked for all sessions."""
    if isinstance(service, SessionLister):
        return await service.list_page(
            app_name=app_name, user_id=user_id, limit=limit, behind=behind
        )
    answer = await service.list_sessions(app_name=app_name, user_id=user_id)
    return newest(answer.sessions, limit, behind)


def newest(
    sessions: Sequence[Session], limit: int, behind: Position | None
) -> Sequence[ListedSession]:
    """Choose the page of sessions that are all at hand."""
    listed = (s for s in sessions if behind is None or _position(s) < behind)
    return [
        ListedSession.of(s.app_name, s.user_id, s.id, s.last_update_time, s.state.get(META))
        for s in heapq.nlargest(limit, listed, _position)
    ]


def _position(session: Session) -> Position:
    return Position(session.last_update_time, session.id)
