"""One attempt at a turn, which resumes from the turn's stored events."""

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
from oda.agent.failure import ModelReportedError
from oda.agent.history import History, StoredTurn, keeps_one_summary
from oda.agent.replay import speaks_for
from oda.agent.running_turn import RunningTurn
from oda.agent.threads import sync_tools_in_threads
from oda.errors import NoContentError, TurnNotFoundError
from oda.tools.idempotency import CallKey, original_call_id
from oda.tools.limits import ToolLimits
from oda.tools.recording import CallRecorder, recording, warn_of_unknown_outcome


class RunAttempt(Protocol):
    """The signature of `google.adk.runners.Runner.run_async`."""

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
class BoundRunner:
    """An ADK Runner for one session."""

    runner: AdkRunner
    run: RunAttempt
    history: History
    tool_limits: ToolLimits


class Attempt:
    """One attempt at a turn. Iterate over `events` once."""

    def __init__(self, bound: BoundRunner, turn: RunningTurn, *, resuming: bool) -> None:
        self._bound = bound
        self._turn = turn
        self._resuming = resuming
        self._last: Event | None = None
        self._reported: Event | None = None
        self._recorder = CallRecorder(
            bound.history.key, turn.ledger, bound.tool_limits, interrupted=lambda: turn.cancelled
        )
        self.partial_text = False
        """Whether the client has partial text that no complete event has followed yet."""

    async def events(self, cut_off: Callable[[Exception], None]) -> AsyncGenerator[Event, None]:
        """Run the attempt and yield the events for the client, without error events.

        Args:
            cut_off: Aborts the running attempt with an error.

        Raises:
            Exception: the reason of a failure, also if a model reported it in an event.
        """
        self._recorder.cut_off = cut_off
        stored = await self._stored_turn() if self._resuming else None
        if stored is None and self._turn.request.message is None:
            raise TurnNotFoundError(
                f"The session holds nothing of the turn {self._turn.turn_id!r}.",
                remedy="send its message again, under the same id",
            )
        if stored is not None:
            self._turn.usage.recall(stored.events)
        recorded = await self._ledger_records(stored)
        ended = self._recorded_end(stored, recorded)
        if ended and speaks_for(self._bound.runner.agent, ended[-1].author):
            for event in ended:  # ADK would call the model again
                yield event
            return
        for event in await self._close_open_calls(stored, recorded):
            yield event
        with (
            sync_tools_in_threads(self._bound.tool_limits.threads),
            recording(self._recorder),
            self._unwrap_failure(),
        ):
            async with aclosing(self._start(stored)) as run:
                async for event in run:
                    if self._track(event):
                        yield event
        if self._reported is not None:
            raise ModelReportedError(self._reported.error_code or "", self._reported.error_message)
        if self._resuming and self._last is None:  # nothing was left to do
            if not ended and isinstance(self._bound.runner.agent, BaseAgent):
                raise NoContentError("The run ended without an answer.")
            for event in ended:
                yield event

    @contextmanager
    def _unwrap_failure(self) -> Iterator[None]:
        """Raise the original error of ODA's plugin instead of ADK's wrapper around it."""
        self._turn.raised = None
        try:
            yield
        except Exception:
            failure = self._recorder.failure or self._turn.raised
            if failure is None:
                raise
            raise failure from None

    async def _stored_turn(self) -> StoredTurn | None:
        turn_id = self._turn.turn_id
        return None if turn_id is None else await self._bound.history.of_turn(turn_id)

    def _recorded_end(
        self, stored: StoredTurn | None, recorded: resume.Recorded | None
    ) -> Sequence[Event]:
        if stored is None or self._unstored_message(stored) is not None:
            return ()
        if resume.calls_never_begun(stored.events, recorded):
            return ()
        return resume.recorded_end(stored.events)

    def _unstored_message(self, stored: StoredTurn | None) -> Content | None:
        """Return the message, or None if it is already stored."""
        message = self._turn.request.message
        if stored is None or message is None:
            return message
        return None if resume.is_stored(stored.events, message) else message

    async def _close_open_calls(
        self, stored: StoredTurn | None, recorded: resume.Recorded | None
    ) -> Sequence[Event]:
        """Seal the turn's open calls and decide which calls to repeat and which runs to skip.

        Returns:
            The seals, which the client has not seen yet.
        """
        turn, root = self._turn, self._bound.runner.agent
        turn.call_ids = set()
        if stored is None:
            return ()
        turn.call_ids = {
            call.id or "" for event in stored.events for call in event.get_function_calls()
        }
        closing = resume.close_to_resume(stored.events, recorded)
        turn.repeats = closing.repeats
        turn.finished = replay.finished_runs(
            stored.events, root, from_checkpoints=not takes_invocation_id(root)
        )
        marks = replay.interrupted_nodes(stored.events, root)
        await self._bound.history.append(stored.session, [*closing.seals, *marks])
        for call in closing.unknown:
            self._report_unknown_outcome(call)
        return closing.seals

    async def _ledger_records(self, stored: StoredTurn | None) -> resume.Recorded | None:
        """Return the ledger's records of the turn if it has unanswered calls, else None."""
        ledger = self._turn.ledger
        if ledger is None or stored is None or not resume.unanswered_calls(stored.events):
            return None
        return await ledger.of_turn(stored.events[0].invocation_id)

    def _report_unknown_outcome(self, call: resume.OpenCall) -> None:
        """Record and log a call whose outcome is unknown."""
        key = CallKey(call.event.invocation_id, original_call_id(call.call.id or ""))
        if self._turn.ledger is not None:
            self._turn.ledger.lose(key)
        warn_of_unknown_outcome(call.call.name or "", key, self._bound.history.key)

    def _start(self, stored: StoredTurn | None) -> AsyncGenerator[Event, None]:
        """Start ADK's run of the turn."""
        message = self._unstored_message(stored)
        _, user_id, session_id = self._bound.history.key
        has_id = stored is not None or takes_invocation_id(self._bound.runner.agent)
        return self._bound.run(
            user_id=user_id,
            session_id=session_id,
            invocation_id=self._turn.turn_id if has_id else None,
            new_message=message,
            state_delta=self._turn.request.state_delta if message is not None else None,
            run_config=self._config(stored),
        )

    def _config(self, stored: StoredTurn | None) -> RunConfig:
        """Return the caller's run configuration with an event window that holds the whole turn."""
        history, config = self._bound.history, self._turn.request.run_config
        update: dict[str, Any] = {}
        window = stored.window if stored is not None else history.recent_events
        if config.get_session_config is None and window:
            update["get_session_config"] = GetSessionConfig(num_recent_events=window)
            if keeps_one_summary(self._bound.runner):
                self._turn.complete = partial(history.complete, window=window)
        if config.telemetry is None:
            update["telemetry"] = _telemetry_config()
        return config.model_copy(update=update)

    def shows(self, event: Event) -> None:
        """Note what the client gets of an event, be it of the run or of a step inside of it."""
        if event.partial:
            self.partial_text = self.partial_text or bool(resume.text_of(event))
        elif resume.has_content(event):
            self.partial_text = False

    def _track(self, event: Event) -> bool:
        """Update the attempt's state from an event; return whether to yield it to the client."""
        if resume.is_error(event):
            self._reported = event
            return False
        if not event.partial and resume.has_content(event):
            self._last = event
            if resume.is_answer(event) or resume.is_waiting(event):
                self._reported = None
        return True


@cache
def _telemetry_config() -> TelemetryConfig:
    # Cached, as ADK would read the environment for every streamed chunk.
    return TelemetryConfig()
