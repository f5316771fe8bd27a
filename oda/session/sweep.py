"""Sweep that validates the state of all orchestrated sessions, as their next message would.

An unused session keeps the state of its last turn, such as yesterday's scene or an expired
question. The sweep stores the reset state instead. It never interleaves with the events of a turn:
it holds the session's lane, skips busy sessions, and validates again after concurrent writes.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from google.adk.sessions import Session

from oda.agent.definition import Definition, Definitions
from oda.clock import Clock, utc
from oda.errors import SessionBusyError, SessionNotFoundError
from oda.orchestration.orchestrator import Orchestrator
from oda.orchestration.state import STATE_KEY, Reset, Restored, user_time_zone
from oda.session.manager import OdaSessionManager
from oda.session.oda_session import OdaSession
from oda.telemetry import get_logger

log = get_logger(__name__)

_AT_ONCE_S = 0.0
_COMPARED = {"user_id", "session_id", "active_scene", "scene_state", "pending_switch"}
"""Fields compared to detect a reset; the others only hold times."""


@dataclass(frozen=True)
class Swept:
    """Result of sweeping a session."""

    user_id: str
    session_id: str
    outcome: Literal["valid", "reset", "busy", "failed"]
    """`busy`: a turn is running or waiting, and validates the state itself."""
    resets: tuple[Reset, ...] = ()
    reason: str = ""
    """The error, if the outcome is `failed`."""


class Sweep:
    """Validates sessions.

    Args:
        sessions: The sessions to validate.
        unfinished: Returns whether a session has unfinished turns on any node.
        clock: Determines which state has expired.
    """

    def __init__(
        self,
        sessions: OdaSessionManager,
        unfinished: Callable[[OdaSession], Awaitable[bool]],
        clock: Clock,
    ) -> None:
        self._sessions = sessions
        self._unfinished = unfinished
        self._clock = clock

    async def of_app(self, app: str, orchestrator: Orchestrator) -> AsyncGenerator[Swept, None]:
        """Validate all orchestrated sessions of an app in sequence, and yield the results."""
        service = self._sessions.agents.services.session
        for listed in (await service.list_sessions(app_name=app)).sessions:
            if STATE_KEY in listed.state:
                with suppress(SessionNotFoundError):
                    yield await self._validate(listed, orchestrator)
                await asyncio.sleep(0)  # let other tasks run

    async def _validate(self, listed: Session, orchestrator: Orchestrator) -> Swept:
        user_id, session_id = listed.user_id, listed.id
        if self._needed_reset(listed.state, listed, orchestrator) is None:
            return Swept(user_id, session_id, "valid")
        try:
            return await self._reset(listed, orchestrator)
        except SessionBusyError:
            return Swept(user_id, session_id, "busy")
        except SessionNotFoundError:
            raise
        except Exception as error:
            log.error("session_not_swept", session_id=session_id, exc_info=error)
            reason = f"{type(error).__name__}: {error}"
            return Swept(user_id, session_id, "failed", reason=reason)

    async def _reset(self, listed: Session, orchestrator: Orchestrator) -> Swept:
        session = await self._sessions.current(listed.app_name, listed.user_id, listed.id)
        turns, stale = session.turns, None
        if session.busy or await self._unfinished(session):
            raise SessionBusyError("A turn has not ended.")

        def change(state: Mapping[str, Any]) -> Mapping[str, Any]:
            nonlocal stale
            if session.turns != turns:  # a message has arrived
                raise SessionBusyError("A turn has begun.")
            stale = self._needed_reset(state, listed, orchestrator)
            return {} if stale is None else {STATE_KEY: stale.state.model_dump(mode="json")}

        await session.revise(change, within_s=_AT_ONCE_S, bounded=False)
        if stale is None:
            return Swept(listed.user_id, listed.id, "valid")
        return Swept(listed.user_id, listed.id, "reset", stale.resets)

    def _needed_reset(
        self, state: Mapping[str, Any], listed: Session, orchestrator: Orchestrator
    ) -> Restored | None:
        """Return the state to store, or None if the stored one needs no reset."""
        leader, stored = orchestrator.leader, state.get(STATE_KEY)
        now = utc(self._clock).astimezone(user_time_zone(state, leader.rules))
        restored = leader.restore(stored, listed.user_id, listed.id, now)
        told = restored.state.model_dump(mode="json", include=_COMPARED)
        known = stored if isinstance(stored, dict) else {}
        is_same = told == {name: known.get(name) for name in _COMPARED}
        return restored if restored.resets and not is_same else None


def orchestrators(definitions: Definitions) -> dict[str, Orchestrator]:
    """Return the orchestrated apps by name, without those that cannot be loaded."""
    loaded = [definitions.try_get(name) for name in definitions.names()]
    sound = [one for one in loaded if isinstance(one, Definition)]
    roots = {definition.name: definition.app.root_agent for definition in sound}
    return {name: root for name, root in roots.items() if isinstance(root, Orchestrator)}
