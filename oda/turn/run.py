"""One run of a turn: from its place in the lane to its stored end."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ParamSpec, TypeVar

from google.adk.agents._streaming_mode import StreamingMode
from google.adk.agents.run_config import RunConfig
from google.adk.events import Event
from google.adk.telemetry.context import TelemetryConfig
from sqlalchemy.exc import SQLAlchemyError
from tenacity import AsyncRetrying, retry_if_exception, wait_exponential

from oda.agent.day_budget import DayBudgets
from oda.agent.failure import classify, classify_event
from oda.agent.limits import TurnLimits, Usage, exceeded_limit
from oda.agent.model.gate import ModelGate, current_gate
from oda.agent.notices import RETRY_ATTEMPT, final_code, is_store_notice, retry_attempt
from oda.agent.oda_agent import OdaAgent
from oda.agent.outcome import OpenQuestion, TurnOutcome, outcome_of
from oda.agent.resume import is_error
from oda.agent.running_turn import TurnRequest
from oda.clock import Clock, utc
from oda.database.journal import may_pass
from oda.database.write_queue import current_writes
from oda.errors import (
    CancelRequestedError,
    DailyLimitError,
    LimitExceededError,
    OwnershipLostError,
    SessionNotFoundError,
    SessionsUnavailableError,
)
from oda.session.lane import Place
from oda.session.live_history import current_fence
from oda.session.oda_session import OdaSession
from oda.settings import TurnSettings
from oda.telemetry import get_logger
from oda.tools.recording import OUTCOME_UNKNOWN
from oda.turn.budget import question
from oda.turn.live import LiveTurn
from oda.turn.observer import TurnObserver, Unobserved
from oda.turn.record import Turn, TurnError, TurnUsage
from oda.turn.rows import StoredTurn
from oda.turn.store import TurnStore

log = get_logger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

# Without one, ADK reads its telemetry settings from the environment again for each chunk.
_TELEMETRY = TelemetryConfig()
_STREAMING = RunConfig(streaming_mode=StreamingMode.SSE, telemetry=_TELEMETRY)
_WHOLE = RunConfig(telemetry=_TELEMETRY)
_OF_STORES = (SQLAlchemyError, SessionsUnavailableError)
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 2.0
_AGAIN_S = wait_exponential(multiplier=_FIRST_PAUSE_S, max=_LONGEST_PAUSE_S)


@dataclass
class RunContext:
    """The parts that the runs of a process share."""

    store: TurnStore
    days: DayBudgets
    settings: TurnSettings
    clock: Clock
    observer: TurnObserver = field(default_factory=Unobserved)


class TurnRun:
    """One run of a turn that this process has taken.

    Args:
        live: The turn's record and log.
        session: The session that answers.
        stored: The turn as it was taken.
        events: Complete events of the turn since it last waited for a person.
        process: Parts that the runs of this process share.
    """

    def __init__(
        self,
        live: LiveTurn,
        session: OdaSession,
        stored: StoredTurn,
        events: list[Event],
        process: RunContext,
    ) -> None:
        self.live = live
        self.session = session
        self._given = stored.input
        self._store = process.store
        self._days = process.days
        self._on_limit = process.settings.on_limit
        self._clock = process.clock
        self._observer = process.observer
        self._message_may_be_stored = stored.message_may_be_stored
        self._events = events
        self._limit_notice: Event | None = None
        """Withheld until the policy has decided."""
        self._gate = ModelGate(
            self._days if self._given.is_drawn else None,
            live.turn.user_id,
            bounded=not self._given.goes_beyond_day,
            before_call=self._ready_for_model,
        )
        self._has_asked_model = False
        self._store_is_away = False
        self._agent: OdaAgent | None = None
        self._cancelled = stored.cancel_requested
        self._ending = False
        self._task: asyncio.Task[None] | None = None

    @property
    def turn(self) -> Turn:
        return self.live.turn

    async def carry_out(self, place: Place, *, refused: Exception | None = None) -> None:
        """Run the turn in the place that the caller has entered, and store its end.

        Args:
            refused: Error with which the turn ends instead of running.

        Raises:
            OwnershipLostError: there is a later run of the turn.
        """
        self._task = asyncio.current_task()
        try:
            outcome = None
            if not (self._cancelled or place.interrupted):
                outcome = await self._run(place, refused)
        except asyncio.CancelledError:
            if not self._cancelled:
                raise
            if self._task is not None:
                self._task.uncancel()
            outcome = None
        except CancelRequestedError:
            outcome = None
        except OwnershipLostError:
            raise
        except Exception as error:
            outcome = broken(self.turn, error, self._clock)
        self._ending = True
        await end(self.live, outcome or TurnOutcome("cancelled", ""), self._clock)
        self._observer.ended(self.turn)

    def cancel(self) -> None:
        """Cancel the run; storing its end is not interrupted."""
        self._cancelled = True
        if self._agent is not None:
            self._agent.cancel()
        elif self._task is not None and not self._ending:
            self._task.cancel()

    def catch_up(self, stored: Sequence[Event], *, discard_partial: bool) -> None:
        """Log the events of the turn that the session holds and the log lacks.

        `discard_partial` says whether the log ends with partial text.
        """
        failed = untold_failure(stored, self._events)
        for event in stored:
            if not is_error(event):
                self._note(event)
        if failed is None:
            self.live.change(attempts=self.turn.attempts + 1)
            return
        max_retries = self.session.agent(self.turn.agent).policy.max_retries
        notice = retry_attempt(
            classify_event(failed.error_code or "", failed.error_message),
            invocation_id=self.turn.turn_id,
            retry=min(self.turn.attempts, max_retries),
            max_retries=max_retries,
            delay_s=0.0,
            discard_partial=discard_partial,
            timestamp=self._clock.now(),
        )
        self._add(notice)

    # --- inside

    async def _run(self, place: Place, refused: Exception | None) -> TurnOutcome:
        """Run the turn; its message is stored whatever happens."""
        current_fence.set(partial(self._store.hold, self.turn.turn_id, self.live.run))
        current_gate.set(self._gate)
        current_writes.set(self.live.writes)
        try:
            if refused is not None:
                raise refused
            outcome = await self._answer_when_the_store_is_there(place)
        except (CancelRequestedError, OwnershipLostError):
            raise
        except Exception as error:
            outcome = broken(self.turn, error, self._clock)
        if outcome.status == "failed":
            await self._keep_message()
        return outcome

    async def _keep_message(self) -> None:
        """Store the message unless the session has it."""
        with suppress(SessionNotFoundError):
            await once_stored(
                self._clock,
                self.session.keep_message,
                self._given.message,
                invocation_id=self.turn.turn_id,
                state_delta=self._given.state_delta,
            )

    async def _answer_when_the_store_is_there(self, place: Place) -> TurnOutcome:
        """Answer, resuming after each outage of the session store."""
        pause_s = _FIRST_PAUSE_S
        while True:
            self._store_is_away = False
            try:
                outcome = await self._answer(place)
                if not self._store_is_away:
                    return outcome
            except Exception as error:
                if not (isinstance(error, _OF_STORES) and may_pass(error)):
                    raise
            if self._cancelled:
                return TurnOutcome("cancelled", "")
            log.warning("turn_waits_for_store", turn_id=self.turn.turn_id, again_in_s=pause_s)
            self._message_may_be_stored = True
            await self._clock.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    async def _answer(self, place: Place) -> TurnOutcome:
        limits = self._limits()
        request = TurnRequest(
            self._given.message,
            turn_id=self.turn.turn_id,
            may_be_stored=self._message_may_be_stored,
            state_delta=self._given.state_delta,
            run_config=_STREAMING if self._given.stream_tokens else _WHOLE,
            limits=limits,
            client_tools=self._given.client_tools,
            context=self._given.context,
        )
        agent = self._agent = self.session.agent(self.turn.agent)
        try:
            events = self.session.run_turn(request, place, agent=self.turn.agent)
            async with aclosing(events):
                async for event in events:
                    self._note(event)
        finally:
            self._agent = None
        usage = agent.last_turn.usage if agent.last_turn else None
        if usage is not None:
            self.live.charge(TurnUsage.model_validate(usage, from_attributes=True))
        if self._limit_notice is not None:
            if (asked := await self._question(usage, limits)) is not None:
                return TurnOutcome("waiting_input", "", pending_input=(asked,))
            self._add(self._limit_notice)
        return still_waiting(outcome_of(self._events), self.turn.pending_input)

    async def _ready_for_model(self) -> None:
        """Wait until all work of the turn is stored, so that no crash repeats a paid call.

        Raises:
            CancelRequestedError: the turn is to end, says another process.
        """
        if self._has_asked_model:
            await self.live.writes.flushed()
            is_to_end = self.live.is_to_end
        else:  # nothing is paid for yet, and the turn keeps the message: the answer need not wait
            self._has_asked_model = True
            self.live.writes.hurry()
            is_to_end = await self._store.cancel_requested(self.turn.turn_id)
        if is_to_end:
            self.cancel()
            raise CancelRequestedError(f"The turn {self.turn.turn_id!r} has been cancelled.")

    async def _question(
        self, usage: Usage | None, limits: TurnLimits | None
    ) -> OpenQuestion | None:
        """Return the question about the limit that ended the run; None for the time limit."""
        grants = self._given.grants
        if self._gate.exceeded is not None:
            used = await self._days.used(self.turn.user_id)
            today = TurnUsage.model_validate(used, from_attributes=True)
            return question(self._gate.exceeded, today, grants=grants, period="day")
        exceeded = exceeded_limit(usage, limits) if usage and limits else None
        if exceeded is None:
            return None
        return question(exceeded, self.turn.usage, grants=grants, period="turn")

    def _limits(self) -> TurnLimits | None:
        limits = self._given.limits
        return limits and limits.raised(1 + self._given.grants)

    def _note(self, event: Event) -> None:
        on_limit = {
            LimitExceededError.code: self._on_limit,
            DailyLimitError.code: self._days.on_limit,
        }
        if on_limit.get(final_code(event) or "") == "ask":
            self._limit_notice = event
        elif is_store_notice(event):
            self._store_is_away = True
        else:
            self._add(event)

    def _add(self, event: Event) -> None:
        if not self.live.append(event) or event.partial:
            return
        self._events.append(event)
        for tool in tools_cut_off(event):
            self._observer.outcome_unknown(self.turn, tool)
        if event.error_code == RETRY_ATTEMPT:
            self.live.change(attempts=self.turn.attempts + 1)


def untold_failure(stored: Sequence[Event], logged: Sequence[Event]) -> Event | None:
    """Return the failure of the last attempt if the process died before logging its notice.

    Args:
        stored: Events of the turn in the session; error events there are not for clients.
        logged: Complete events in the turn's log.
    """
    if not stored or not is_error(stored[-1]):
        return None
    is_told = bool(logged) and logged[-1].error_code == RETRY_ATTEMPT
    return None if is_told else stored[-1]


async def once_stored(
    clock: Clock, work: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Do work on the database, again and again while that cannot be reached."""
    again = AsyncRetrying(retry=retry_if_exception(may_pass), wait=_AGAIN_S, sleep=clock.sleep)
    return await again(work, *args, **kwargs)


async def end(live: LiveTurn, outcome: TurnOutcome, clock: Clock) -> None:
    """Store the outcome of a run.

    Raises:
        OwnershipLostError: there is a later run of the turn.
    """
    await live.end(
        status=outcome.status,
        reply=outcome.reply,
        error=TurnError.model_validate(outcome.error) if outcome.error else None,
        pending_input=list(outcome.pending_input),
        finished_at=utc(clock) if outcome.status != "waiting_input" else None,
    )


def broken(turn: Turn, error: Exception, clock: Clock) -> TurnOutcome:
    """Return the outcome of a turn that could not be run."""
    log.error("turn_broken", turn_id=turn.turn_id, exc_info=error)
    failure = classify(error, now=clock.now())
    reason = {
        "code": failure.code,
        "message": failure.message,
        "retryable": failure.retryable,
    }
    return TurnOutcome("failed", "", error=reason)


def tools_cut_off(event: Event) -> Sequence[str]:
    """Return the names of tools whose calls have an unknown outcome, according to an event."""
    return [
        response.name or ""
        for response in event.get_function_responses()
        if (response.response or {}).get("status") == OUTCOME_UNKNOWN["status"]
    ]


def still_waiting(outcome: TurnOutcome, unanswered: Sequence[OpenQuestion]) -> TurnOutcome:
    """Return the outcome of a run that got answers to some of the questions only."""
    if not unanswered or outcome.status not in ("succeeded", "waiting_input"):
        return outcome
    known = {item["id"] for item in unanswered}
    new = [item for item in outcome.pending_input if item["id"] not in known]
    return replace(outcome, status="waiting_input", pending_input=(*unanswered, *new))
