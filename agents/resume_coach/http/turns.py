"""Conversion of a turn to a view, or to the reason why there is none."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from google.adk.events import Event
from pydantic_core import to_json
from typing_extensions import TypedDict

from mcp_tools.resume import JsonObject
from oda import Turn
from oda.message.progress import progress_of
from oda.orchestration.orchestrator import STEP_KEY
from oda.orchestration.response import RESPONSE_KEY, Response
from oda.orchestration.state import STATE_KEY
from oda.server import AppConversations, Frame, Refusal

from ..scene import coach_agents
from ..state import CoachState
from ..view import View, view_of


def coach_state(state: Mapping[str, Any]) -> CoachState | None:
    """The coaching in a session's state; None before a resume has come."""
    known = (state.get(STATE_KEY) or {}).get("scene_state") or {}
    kept = {name: value for name, value in known.items() if name != "phase"}
    return CoachState.model_validate(kept) if kept else None


class Said(TypedDict):
    """A message of one of the agents."""

    agent: str
    content: str
    kind: str


class SpokenPiece(TypedDict):
    """The next piece of what a model says to the person; the view's reply takes its place."""

    text: str


class NoView(TypedDict):
    """The reason why there is no view."""

    code: str
    text: str


COACHING_EVENTS: Mapping[str, Any] = {
    "progress": Said,
    "text": SpokenPiece,
    "view": View,
    "error": NoView,
}
"""Types of the events in a stream, by event name.

`progress` carries the agents' messages as they arrive, `text` the reply as it is written;
`view` or `error` ends the stream.
"""


class TurnReader:
    """Reads one turn until it ends, or waits.

    Args:
        after: The number of the last entry of its log that was read before.
    """

    def __init__(self, conversations: AppConversations, turn: Turn, *, after: int = 0) -> None:
        self._conversations = conversations
        self._turn = turn
        self._after = after
        self._state: CoachState | None = None
        self._response: Response | None = None
        self._told: list[JsonObject] = []
        """Messages of the running step that have been sent."""

    async def view(self) -> View:
        """The view after the turn.

        Raises:
            Refusal: the turn has not come to one.
        """
        async with aclosing(self._read()) as told:
            async for _ in told:
                pass
        return self._end()

    async def frames(self) -> AsyncGenerator[Sequence[Frame], None]:
        """Yield the frames of `COACHING_EVENTS`; an empty batch is a heartbeat."""
        async with aclosing(self._read()) as told:
            async for messages in told:
                yield [_frame(message) for message in messages]
        try:
            yield [Frame(None, "view", self._end().model_dump_json().encode())]
        except Refusal as refusal:
            told_as = {"code": refusal.told_code, "text": refusal.message}
            yield [Frame(None, "error", to_json(told_as))]

    async def _read(self) -> AsyncGenerator[Sequence[JsonObject], None]:
        """Follow the turn; yields what the agents say."""
        async with aclosing(self._conversations.follow(self._turn, after=self._after)) as happening:
            async for item in happening:
                if isinstance(item, Turn):
                    self._turn = item
                elif item is None:
                    yield ()
                elif said := self._take(item):
                    yield said

    def _take(self, event: Event) -> Sequence[JsonObject]:
        if (progress := progress_of(event)) is not None:
            message = progress.get("message") or {}
            if not message:
                return ()
            if message["partial"]:
                return [{"text": message["content"]}]
            self._told.append(_shown(message))
            return self._told[-1:]
        told = event.custom_metadata or {}
        if RESPONSE_KEY in told:
            self._response = Response.model_validate(told[RESPONSE_KEY])
            self._state = coach_state(event.actions.state_delta)
        ended = (told.get(STEP_KEY) or {}).get("name")
        if ended != coach_agents.name or not isinstance(event.output, dict):
            return ()
        messages = [_shown(message) for message in event.output["output"]["messages"]]
        already, self._told = self._told, []
        return [message for message in messages if message not in already]

    def _end(self) -> View:
        turn, response = self._turn, self._response
        if turn.status not in ("succeeded", "waiting_input") or response is None:
            code = turn.error.code if turn.error else turn.status
            message = turn.error.message if turn.error else "The turn has not ended."
            status = 503 if turn.error and turn.error.retryable else 500
            details = {"turn_id": turn.turn_id}
            raise Refusal(status, message, code=code, details=details)
        if response.error is not None:
            raise Refusal(409, response.error.message, code=response.error.code)
        assert self._state is not None
        return view_of(self._state, session_id=turn.session_id, trace_id=turn.trace_id or "")


def _frame(message: JsonObject) -> Frame:
    return Frame(None, "progress" if "agent" in message else "text", to_json(message))


def _shown(message: JsonObject) -> JsonObject:
    return {name: message[name] for name in ("agent", "content", "kind")}
