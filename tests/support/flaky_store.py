"""A session service that fails when told to."""

import asyncio
from collections.abc import Callable
from typing import Any

from google.adk.events import Event
from google.adk.sessions import InMemorySessionService, Session
from sqlalchemy.exc import OperationalError


class FlakyStore(InMemorySessionService):
    """ADK's service in memory, whose next calls may fail as those of a database do."""

    def __init__(self) -> None:
        super().__init__()
        self.failing_loads = 0
        """How many of the next loads fail."""
        self.failing_appends = 0
        """How many of the next appends of a `matching` event fail."""
        self.after_commit = False
        """Whether a failing append has stored its event: only the confirmation is lost."""
        self.matching: Callable[[Event], bool] = lambda event: True

    async def get_session(self, **arguments: Any) -> Session | None:
        if self.failing_loads > 0:
            self.failing_loads -= 1
            raise _lost()
        return await super().get_session(**arguments)

    async def append_event(self, session: Session, event: Event) -> Event:
        fails = self.failing_appends > 0 and self.matching(event)
        if fails:
            self.failing_appends -= 1
        if not fails or self.after_commit:
            event = await super().append_event(session, event)
        if fails:
            await asyncio.sleep(0)
            raise _lost()
        return event


def _lost() -> OperationalError:
    return OperationalError("COMMIT", {}, Exception("server closed the connection unexpectedly"))
