"""One turn of an agent: attempts, waits and resumes, until an answer or one final notice."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from google.adk.agents.invocation_context import new_invocation_context_id
from google.adk.agents.run_config import RunConfig
from google.adk.events import Event
from google.adk.runners import Runner as AdkRunner
from google.adk.sessions.base_session_service import GetSessionConfig
from google.genai.types import Content

from oda.agent import notices, resume
from oda.agent.adk_roots import prepare_runner, takes_invocation_id
from oda.agent.failure import Failure, classify, classify_event
from oda.agent.history import History
from oda.agent.limits import TurnLimits, Usage
from oda.agent.pump import Pump
from oda.agent.retry import Retry, RetryPolicy
from oda.agent.turn_plugin import TurnScope
from oda.clock import Clock
from oda.errors import LimitExceededError
from oda.telemetry import get_logger

log = get_logger(__name__)

Phase = Literal["running", "retrying"]


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


@dataclass
class _Attempt:
    """What one attempt has shown so far."""

    partial_text: bool = False
    produced: bool = False
    reported: Event | None = None
    failure: Failure | None = None

    def note(self, event: Event) -> bool:
        """Take an event into account; whether it may be passed on."""
        if resume.is_error(event):
            self.reported = event
            return False
        if event.partial:
            self.partial_text = self.partial_text or bool(resume.text_of(event))
        elif event.content:
            self.partial_text = False
            self.produced = True
            if resume.is_answer(event) or resume.is_waiting(event):
                self.reported = None
        return True


@dataclass
class TurnLoop:
    """Runs one turn of one session. Make one per turn; it may be watched and cancelled."""

    run_attempt: RunAttempt
    runner: AdkRunner
    user_id: str
    session_id: str
    policy: RetryPolicy
    limits: TurnLimits
    clock: Clock
    recent_events: int | None
    run_config: RunConfig
    on_phase: Callable[[Phase], None]

    retries: int = 0
    failure: Failure | None = None
    """Why the last attempt failed; None when it did not."""
    cancelled: bool = False
    scope: TurnScope = field(init=False)
    _pump: Pump = field(default_factory=Pump, init=False)
    _history: History = field(init=False)
    _resume_window: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.scope = TurnScope(limits=self.limits)
        self._history = History(
            self.runner.session_service,
            (self.runner.app_name, self.user_id, self.session_id),
            self.recent_events,
        )

    @property
    def usage(self) -> Usage:
        return self.scope.usage

    @property
    def invocation_id(self) -> str | None:
        return self.scope.invocation_id

    def cancel(self) -> None:
        """End the turn as soon as possible, whatever it is doing."""
        self.cancelled = True
        self._pump.stop()

    async def begin(
        self,
        message: Content,
        *,
        invocation_id: str | None = None,
        state_delta: dict[str, Any] | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Run a new turn for `message`, or go on with one that may have stored it already."""
        known = invocation_id is not None
        if not known and takes_invocation_id(self.runner.agent) and not _answers_a_call(message):
            invocation_id = new_invocation_context_id()
        self.scope.invocation_id = invocation_id
        async with aclosing(self._turn(message, state_delta, resuming=known)) as events:
            async for event in events:
                yield event

    async def go_on(self, invocation_id: str) -> AsyncGenerator[Event, None]:
        """Go on with a turn that was interrupted, from what the session holds of it.

        If its answer is there already, that event is yielded again and nothing is run.
        """
        self.scope.invocation_id = invocation_id
        async with aclosing(self._turn(None, None, resuming=True)) as events:
            async for event in events:
                yield event

    async def _turn(
        self, message: Content | None, state_delta: dict[str, Any] | None, *, resuming: bool
    ) -> AsyncGenerator[Event, None]:
        started = self.clock.now()
        plugin = prepare_runner(self.runner)
        with plugin.watch(self._history.key, self.scope):
            while not self.cancelled:
                attempt = _Attempt()
                source = self._source(message, state_delta, resuming=resuming, started=started)
                async with aclosing(self._watched(source, attempt, resuming=resuming)) as events:
                    async for event in events:
                        yield event
                self.failure = attempt.failure
                if self.failure is None or self.cancelled:
                    break
                now = self.clock.now()
                decision = self.policy.decide(
                    self.failure, retries=self.retries, elapsed_s=now - started
                )
                if not isinstance(decision, Retry):
                    yield notices.gave_up(
                        self.failure,
                        invocation_id=self.invocation_id or "",
                        retries=self.retries,
                        retries_exhausted=decision.retries_exhausted,
                        discard_partial=attempt.partial_text,
                        timestamp=now,
                    )
                    return
                self.retries += 1
                self.on_phase("retrying")
                yield notices.retry_attempt(
                    self.failure,
                    invocation_id=self.invocation_id or "",
                    retry=self.retries,
                    max_retries=self.policy.max_retries,
                    delay_s=decision.delay_s,
                    discard_partial=attempt.partial_text,
                    timestamp=now,
                )
                await self._wait(decision.delay_s)
                self.on_phase("running")
                resuming = True
            if self.cancelled:
                await self._seal_cancelled()
                yield notices.cancelled(
                    invocation_id=self.invocation_id or "", timestamp=self.clock.now()
                )

    async def _watched(
        self,
        source: Callable[[], AsyncGenerator[Event, None]],
        attempt: _Attempt,
        *,
        resuming: bool,
    ) -> AsyncGenerator[Event, None]:
        """The events of one attempt that a client may see; its failure goes into `attempt`."""
        try:
            async with aclosing(self._pump.events(source)) as events:
                async for event in events:
                    if event.error_code == "INVOCATION_ABORTED":
                        self.cancelled = True
                    elif attempt.note(event):
                        yield event
        except Exception as error:
            attempt.failure = classify(error, now=self.clock.now())
            log.warning(
                "attempt_failed",
                code=attempt.failure.code,
                retryable=attempt.failure.retryable,
                invocation_id=self.invocation_id,
                exc_info=error,
            )
            return
        if attempt.reported is not None:
            attempt.failure = classify_event(
                attempt.reported.error_code or "", attempt.reported.error_message
            )
        elif resuming and not attempt.produced and not self.cancelled:
            attempt.failure = Failure(
                code="silent_end",
                message="The resumed run ended without an answer.",
                error_type="SilentEnd",
                retryable=True,
            )

    def _source(
        self,
        message: Content | None,
        state_delta: dict[str, Any] | None,
        *,
        resuming: bool,
        started: float,
    ) -> Callable[[], AsyncGenerator[Event, None]]:
        async def source() -> AsyncGenerator[Event, None]:
            nonlocal message
            async with _time_limit(self.limits.timeout_s, self.clock.now() - started):
                if resuming:
                    answer, message = await self._prepare_resume(message, started)
                    if answer is not None:
                        yield answer
                        return
                run = self.run_attempt(
                    user_id=self.user_id,
                    session_id=self.session_id,
                    invocation_id=self.invocation_id,
                    new_message=message,
                    state_delta=state_delta if message is not None else None,
                    run_config=self._config(),
                )
                async with aclosing(run) as events:
                    async for event in events:
                        yield event

        return source

    async def _prepare_resume(
        self, message: Content | None, started: float
    ) -> tuple[Event | None, Content | None]:
        """Seal what is open. Returns the answer if it is there, and what is still to send."""
        turn = await self._history.of_turn(self.invocation_id, message, not_before=started)
        if turn is None:
            if not takes_invocation_id(self.runner.agent):
                self.scope.invocation_id = None
            return None, message
        self.scope.invocation_id = turn.invocation_id
        if resume.is_answered(turn.session.events, turn.invocation_id) and takes_invocation_id(
            self.runner.agent
        ):
            return resume.events_of(turn.session.events, turn.invocation_id)[-1], None
        seals, self.scope.repeats = resume.close_to_resume(
            turn.session.events, turn.invocation_id, now=self.clock.now()
        )
        await self._history.append(turn.session, seals)
        self._resume_window = turn.window
        stored = message is None or resume.is_stored(
            turn.session.events, turn.invocation_id, message
        )
        return None, None if stored else message

    async def _seal_cancelled(self) -> None:
        if self.invocation_id is None:
            return
        turn = await self._history.of_turn(self.invocation_id, None, not_before=0)
        if turn is not None:
            seals = resume.close_for_good(
                turn.session.events, [self.invocation_id], "cancelled", now=self.clock.now()
            )
            await self._history.append(turn.session, seals)

    async def _wait(self, delay_s: float) -> None:
        async def sleep() -> None:
            await self.clock.sleep(delay_s)

        await self._pump.run(sleep)

    def _config(self) -> RunConfig:
        """The caller's configuration with our window and what is left of the model calls."""
        update: dict[str, Any] = {}
        window = self._resume_window or self.recent_events
        if window is not None and self.run_config.get_session_config is None:
            update["get_session_config"] = GetSessionConfig(num_recent_events=window)
        return self.run_config.model_copy(update=update)


def _answers_a_call(message: Content) -> bool:
    """Whether the message posts a tool's result; ADK then finds the invocation by itself."""
    return any(part.function_response for part in message.parts or ())


class _time_limit:
    """`asyncio.timeout` for what is left of a turn's time, raising our own error."""

    def __init__(self, timeout_s: float | None, elapsed_s: float) -> None:
        self._limit = timeout_s
        self._timeout = asyncio.timeout(
            None if timeout_s is None else max(0.0, timeout_s - elapsed_s)
        )

    async def __aenter__(self) -> None:
        await self._timeout.__aenter__()

    async def __aexit__(self, *exc_info: Any) -> None:
        try:
            await self._timeout.__aexit__(*exc_info)
        except TimeoutError as error:
            if self._timeout.expired():
                raise LimitExceededError(
                    f"The turn took longer than its limit of {self._limit:g} s.",
                    remedy="raise ODA_TURN__TIMEOUT_S or ask for less in one turn",
                ) from error
            raise
