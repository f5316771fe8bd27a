"""One attempt at a turn: it goes on from what the session holds of the turn by then."""

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from functools import cache, partial
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
from oda.agent.failure import ModelReportedError
from oda.agent.history import History, StoredTurn, keeps_one_summary
from oda.agent.threads import sync_tools_in_threads
from oda.agent.turn_scope import TurnScope
from oda.errors import NoContentError, TurnNotFoundError
from oda.tools.idempotency import CallKey, original_call_id
from oda.tools.limits import ToolLimits
from oda.tools.recording import CallRecorder, recording, warn_of_unknown_outcome


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
    tool_limits: ToolLimits
    message: Content | None
    """None when the turn's message is known to be stored."""
    state_delta: dict[str, Any] | None
    cancelled: Callable[[], bool]
    """Whether somebody has cancelled the turn."""


class Attempt:
    """One try. It is read once, through `events`."""

    def __init__(self, work: Work, *, resuming: bool) -> None:
        self._work = work
        self._resuming = resuming
        self._last: Event | None = None
        self._reported: Event | None = None
        self._recorder = CallRecorder(
            work.history.key, work.scope.ledger, work.tool_limits, interrupted=work.cancelled
        )
        self.partial_text = False
        """Whether text has been shown that no complete event has followed yet."""

    async def events(self, cut_off: Callable[[Exception], None]) -> AsyncGenerator[Event, None]:
        """Yield what a client may see; a failure's own error event is not that.

        `cut_off` ends the attempt with an error, whatever it is doing.

        Raises:
            Exception: why the attempt failed, also when that was reported rather than raised.
        """
        self._recorder.cut_off = cut_off
        turn = await self._stored_turn() if self._resuming else None
        if turn is None and self._work.message is None:
            raise TurnNotFoundError(
                f"The session holds nothing of the turn {self._work.scope.invocation_id!r}.",
                remedy="send its message again, under the same id",
            )
        if turn is not None:
            self._work.scope.usage.recall(turn.events)
        recorded = await self._recorded(turn)
        ended = self._recorded_end(turn, recorded)
        if ended and speaks_for(self._work.runner.agent, ended[-1].author):
            for event in ended:  # ADK would ask the model again
                yield event
            return
        for event in await self._close_open_calls(turn, recorded):
            yield event
        with (
            sync_tools_in_threads(self._work.tool_limits.threads),
            recording(self._recorder),
            self._true_failure(),
        ):
            config = self._config(turn)
            async with aclosing(self._start(turn, config)) as run:
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
            failure = self._recorder.failure or self._work.scope.failure
            if failure is None:
                raise
            raise failure from None

    async def _stored_turn(self) -> StoredTurn | None:
        invocation_id = self._work.scope.invocation_id
        return None if invocation_id is None else await self._work.history.of_turn(invocation_id)

    def _recorded_end(
        self, turn: StoredTurn | None, recorded: resume.Recorded | None
    ) -> Sequence[Event]:
        if turn is None or self._to_send(turn) is not None:
            return ()
        if resume.calls_never_begun(turn.events, recorded):
            return ()
        return resume.recorded_end(turn.events)

    def _to_send(self, turn: StoredTurn | None) -> Content | None:
        """The message, unless it is stored already."""
        message = self._work.message
        if turn is None or message is None:
            return message
        return None if resume.is_stored(turn.events, message) else message

    async def _close_open_calls(
        self, turn: StoredTurn | None, recorded: resume.Recorded | None
    ) -> Sequence[Event]:
        """Seal what the turn has left open and see what of it is to be made again or skipped.

        Returns the seals, which the client has not seen.
        """
        scope, root = self._work.scope, self._work.runner.agent
        scope.call_ids = set()
        if turn is None:
            return ()
        scope.call_ids = {
            call.id or "" for event in turn.events for call in event.get_function_calls()
        }
        closing = resume.close_to_resume(turn.events, recorded)
        scope.repeats = closing.repeats
        scope.finished = replay.finished_runs(
            turn.events, root, from_checkpoints=not takes_invocation_id(root)
        )
        marks = replay.interrupted_nodes(turn.events, root)
        await self._work.history.append(turn.session, [*closing.seals, *marks])
        for call in closing.unknown:
            self._lose(call)
        return closing.seals

    async def _recorded(self, turn: StoredTurn | None) -> resume.Recorded | None:
        """What the ledger has of the turn, if there is anything to ask."""
        ledger = self._work.scope.ledger
        if ledger is None or turn is None or not resume.unanswered_calls(turn.events):
            return None
        return await ledger.of_turn(turn.events[0].invocation_id)

    def _lose(self, call: resume.OpenCall) -> None:
        """Tell the operator of a call whose outcome is unknown."""
        key = CallKey(call.event.invocation_id, original_call_id(call.call.id or ""))
        if self._work.scope.ledger is not None:
            self._work.scope.ledger.lose(key)
        warn_of_unknown_outcome(call.call.name or "", key, self._work.history.key)

    def _start(self, turn: StoredTurn | None, config: RunConfig) -> AsyncGenerator[Event, None]:
        """Run ADK on the turn."""
        work, root = self._work, self._work.runner.agent
        message = self._to_send(turn)
        _, user_id, session_id = work.history.key
        return work.run(
            user_id=user_id,
            session_id=session_id,
            invocation_id=work.scope.invocation_id
            if turn is not None or takes_invocation_id(root)
            else None,
            new_message=message,
            state_delta=work.state_delta if message is not None else None,
            run_config=config,
        )

    def _config(self, turn: StoredTurn | None) -> RunConfig:
        """The caller's configuration with a window in which the turn is whole."""
        work, config = self._work, self._work.run_config
        update: dict[str, Any] = {}
        window = turn.window if turn is not None else work.history.recent_events
        if config.get_session_config is None and window:
            update["get_session_config"] = GetSessionConfig(num_recent_events=window)
            if keeps_one_summary(work.runner):
                work.scope.complete = partial(work.history.complete, window=window)
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
