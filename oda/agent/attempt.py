"""One attempt at a turn: it goes on from what the session holds of the turn by then."""

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.run_config import RunConfig
from google.adk.events import Event
from google.adk.runners import Runner as AdkRunner
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.telemetry.context import TelemetryConfig
from google.genai.types import Content

from oda.agent import replay, resume
from oda.agent.adk_roots import takes_invocation_id
from oda.agent.agent_tree import speaks_for
from oda.agent.failure import ModelReportedError, NoContentError
from oda.agent.history import History, StoredTurn
from oda.agent.threads import sync_tools_in_threads
from oda.agent.turn_scope import TurnScope
from oda.errors import TurnNotFoundError


class RunAttempt(Protocol):
    """`google.adk.runners.Runner.run_async`, or anything of its shape."""

    def __call__(
        self,
        *,
        user_id: str,
        session_id: str,
        invocation_id: str | None = None,
        new_message: Content | None = None,
        state_delta: dict[str, Any] | None = None,
        run_config: RunConfig | None = None,
    ) -> AsyncGenerator[Event, None]: ...


@dataclass(frozen=True)
class Work:
    """What all attempts at a turn share."""

    run: RunAttempt
    runner: AdkRunner
    history: History
    run_config: RunConfig
    scope: TurnScope
    tool_threads: int
    message: Content | None
    """None when the turn's message is known to be stored."""
    state_delta: dict[str, Any] | None


class Attempt:
    """One try. It is read once, through `events`."""

    def __init__(self, work: Work, *, resuming: bool) -> None:
        self._work = work
        self._resuming = resuming
        self._last: Event | None = None
        self._reported: Event | None = None
        self.partial_text = False
        """Whether text has been shown that no complete event has followed yet."""

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yield what a client may see; a failure's own error event is not that.

        Raises:
            Exception: why the attempt failed, also when that was reported rather than raised.
        """
        turn = await self._stored_turn() if self._resuming else None
        if turn is None and self._work.message is None:
            raise TurnNotFoundError(
                f"The session holds nothing of the turn {self._work.scope.invocation_id!r}.",
                remedy="send its message again, under the same id",
            )
        ended = self._recorded_end(turn)
        if ended and speaks_for(self._work.runner.agent, ended[-1].author):
            for event in ended:  # ADK would ask the model again
                yield event
            return
        with sync_tools_in_threads(self._work.tool_threads), self._true_failure():
            async with aclosing(await self._start(turn)) as run:
                async for event in run:
                    if self._note(event):
                        yield event
        if self._reported is not None:
            raise ModelReportedError(self._reported.error_code or "", self._reported.error_message)
        if self._resuming and self._last is None:  # there was nothing left to do
            if not ended and isinstance(self._work.runner.agent, BaseAgent):
                raise NoContentError("The run ended without an answer.")
            for event in ended:
                yield event

    @contextmanager
    def _true_failure(self) -> Iterator[None]:
        """Raise what our plugin has raised instead of what ADK has made of it."""
        self._work.scope.failure = None
        try:
            yield
        except Exception:
            if self._work.scope.failure is None:
                raise
            raise self._work.scope.failure from None

    async def _stored_turn(self) -> StoredTurn | None:
        invocation_id = self._work.scope.invocation_id
        return None if invocation_id is None else await self._work.history.of_turn(invocation_id)

    def _recorded_end(self, turn: StoredTurn | None) -> Sequence[Event]:
        if turn is None or self._to_send(turn) is not None:
            return ()
        return resume.recorded_end(turn.events)

    def _to_send(self, turn: StoredTurn | None) -> Content | None:
        """The message, unless it is stored already."""
        message = self._work.message
        if turn is None or message is None:
            return message
        return None if resume.is_stored(turn.events, message) else message

    async def _start(self, turn: StoredTurn | None) -> AsyncGenerator[Event, None]:
        """Seal what is open in the turn and run ADK on it."""
        work, root = self._work, self._work.runner.agent
        message = self._to_send(turn)
        if turn is not None:
            seals, work.scope.repeats = resume.close_to_resume(turn.events)
            marks = replay.interrupted_nodes(turn.events, root)
            work.scope.finished = replay.finished_runs(
                turn.events, root, from_checkpoints=not takes_invocation_id(root)
            )
            await work.history.append(turn.session, [*seals, *marks])
        _, user_id, session_id = work.history.key
        return work.run(
            user_id=user_id,
            session_id=session_id,
            invocation_id=work.scope.invocation_id
            if turn is not None or takes_invocation_id(root)
            else None,
            new_message=message,
            state_delta=work.state_delta if message is not None else None,
            run_config=self._config(turn),
        )

    def _config(self, turn: StoredTurn | None) -> RunConfig:
        """The caller's configuration with a window in which the turn is whole."""
        config = self._work.run_config
        update: dict[str, Any] = {}
        window = turn.window if turn is not None else self._work.history.recent_events
        if window is not None and config.get_session_config is None:
            update["get_session_config"] = GetSessionConfig(num_recent_events=window)
        if config.telemetry is None:
            update["telemetry"] = _telemetry()
        return config.model_copy(update=update)

    def _note(self, event: Event) -> bool:
        """Take an event into account; whether it may be passed on."""
        if resume.is_error(event):
            self._reported = event
            return False
        if event.partial:
            self.partial_text = self.partial_text or bool(resume.text_of(event))
        elif resume.has_content(event):
            self.partial_text = False
            self._last = event
            if resume.is_answer(event) or resume.is_waiting(event):
                self._reported = None
        return True


@cache
def _telemetry() -> TelemetryConfig:
    """What the environment says; without it, ADK reads the environment for every streamed chunk."""
    return TelemetryConfig()
