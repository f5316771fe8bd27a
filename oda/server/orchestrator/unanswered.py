"""Responses without a scene: to an empty message, or for a turn without an answer."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from oda.orchestration.exchanges import history_in, language_spoken
from oda.orchestration.orchestrator import Orchestrator
from oda.orchestration.response import Problem, Reply, Response, content_of
from oda.orchestration.state import STATE_KEY, user_time_zone
from oda.orchestration.wording import Wording
from oda.session.oda_session import OdaSession
from oda.turn.record import Turn


class Unanswered:
    """Builds responses for messages without an answer, in the user's language.

    Scene and phase are reported unchanged.
    """

    def __init__(self, orchestrator: Orchestrator) -> None:
        self._leader = orchestrator.leader
        self._wording = Wording(orchestrator.leader.rules.texts)

    def nothing_said(self, session: OdaSession, now: datetime) -> Response:
        """The response to a message without words and without media, as the kernel rejects one."""
        state = session.state.to_dict()
        text = self._words("empty", state)
        problem = Problem(code="empty", message=text, remedy=self._words("retry_hint", state))
        return self._response(text, problem, state, session.user_id, session.session_id, now)

    def of(self, turn: Turn, state: Mapping[str, Any], now: datetime) -> Response:
        """The response of a turn that has failed, was cancelled, or waits for a person.

        Args:
            state: Of its session; empty when that is gone.
        """
        text = turn.reply or self._words(turn.status, state)
        return self._response(text, _problem(turn), state, turn.user_id, turn.session_id, now)

    def _words(self, name: str, state: Mapping[str, Any]) -> str:
        return self._wording(name, language_spoken("", history_in(state)))

    def _response(
        self,
        text: str,
        problem: Problem | None,
        state: Mapping[str, Any],
        user_id: str,
        session_id: str,
        now: datetime,
    ) -> Response:
        at = now.astimezone(user_time_zone(state, self._leader.rules))
        known = self._leader.restore(state.get(STATE_KEY), user_id, session_id, at).state
        return Response(
            success=problem is None,
            content=content_of(Reply(text=text), spoken=False),
            session_id=session_id,
            scene=known.active_scene,
            phase=known.scene_state.phase,
            error=problem,
            timestamp=now,
        )


def _problem(turn: Turn) -> Problem | None:
    """Why there is no answer; None where another agent of the app has given one."""
    here = f"/v1/turns/{turn.turn_id}"
    if turn.status == "succeeded":
        return None
    if turn.error is not None:
        remedy = "send it again" if turn.error.retryable else f"see {here}"
        return Problem(code=turn.error.code, message=turn.error.message, remedy=remedy)
    if turn.status == "waiting_input":
        asked = ", ".join(str(item.get("name")) for item in turn.pending_input)
        message = f"The turn waits for a person: {asked}."
        return Problem(code=turn.status, message=message, remedy=f"answer it at {here}/input")
    return Problem(code=turn.status, message="The turn was cancelled.", remedy="send it again")
