"""One run of a turn: from its place in the lane to its stored end."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, nullcontext, suppress
from dataclasses import replace
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
    OdaError,
    OwnershipLostError,
    SessionNotFoundError,
)
from oda.session.lane import Place
from oda.session.live_history import current_fence
from oda.session.oda_session import OdaSession
from oda.settings import OnLimit
from oda.telemetry import bound_trace_id, get_logger
from oda.tools.recording import OUTCOME_UNKNOWN
from oda.turn.budget import question
from oda.turn.live import LiveTurn
from oda.turn.observer import TurnObserver
from oda.turn.record import Turn, TurnError, TurnUsage
from oda.turn.store import TurnStore
from oda.turn.submission import TurnInput

log = get_logger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

# Without one, ADK reads its telemetry settings from the environment again for each chunk.
_TELEMETRY = TelemetryConfig()
_STREAMING = RunConfig(streaming_mode=StreamingMode.SSE, telemetry=_TELEMETRY)
_WHOLE = RunConfig(telemetry=_TELEMETRY)
_CLAIM_AGAIN_S = 0.1
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 2.0
_AGAIN_S = wait_exponential(multiplier=_FIRST_PAUSE_S, max=_LONGEST_PAUSE_S)


class TurnRun:
    """Runs a turn when it is first in the lane, and stores its outcome.

    Args:
        live: The turn's record and log.
        session: The session that answers.
        given: The message and its options.
        days: Daily budgets of the users.
        begun: Whether the message may be in the session already.
        claimed: Whether the stored status is `running` already.
        first_question: Question to a person before the turn starts.
        events: Complete events of the turn since it last waited for a person.
        on_limit: Policy for a turn that reaches a limit.
        refused: Error with which the turn ends instead of running.
    """

    def __init__(
        self,
        live: LiveTurn,
        session: OdaSession,
        given: TurnInput,
        store: TurnStore,
        days: DayBudgets,
        clock: Clock,
        observer: TurnObserver,
        *,
        begun: bool,
        claimed: bool,
        first_question: OpenQuestion | None,
        events: list[Event],
        on_limit: OnLimit,
        refused: OdaError | None,
    ) -> None:
        self.live = live
        self.session = session
        self._given = given
        self._store = store
        self._days = days
        self._on_limit = on_limit
        self._clock = clock
        self._observer = observer
        self._begun = begun
        self._claimed = claimed
        self._first_question = first_question
        self._events = events
        self._refused = refused
        self._limit_notice: Event | None = None
        """Withheld until the policy has decided."""
        self._gate = ModelGate(
            days if given.is_drawn else None,
            live.turn.user_id,
            bounded=not given.goes_beyond_day,
            before_call=self._ready_for_model,
        )
        self._has_asked_model = False
        self._store_is_away = False
        self._agent: OdaAgent | None = None
        self._cancelled = False
        self._ending = False
        self.task: asyncio.Task[None] | None = None

    @property
    def turn(self) -> Turn:
        return self.live.turn

    def start(self, place: Place) -> "asyncio.Task[None]":
        """Start the run in a task of its own."""
        self.task = asyncio.create_task(self._traced(place), name=self.turn.turn_id)
        return self.task

    def cancel(self) -> None:
        """Cancel the run; storing its end is not interrupted."""
        self._cancelled = True
        if self._agent is not None:
            self._agent.cancel()
        elif self.task is not None and not self._ending:
            self.task.cancel()

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

    async def _traced(self, place: Place) -> None:
        """Run the turn in its own trace, whichever request resumed it."""
        trace_id = self.turn.trace_id
        with bound_trace_id(trace_id) if trace_id else nullcontext():
            await self._carry_out(place)

    async def _carry_out(self, place: Place) -> None:
        try:
            if self._first_question is not None:
                place.give_up()
                await self._end(
                    TurnOutcome("waiting_input", "", pending_input=(self._first_question,))
                )
                return
            while not await self._run_in(place):
                await asyncio.sleep(_CLAIM_AGAIN_S)  # a turn on another node goes first
                place = self.session.reserve_again()
        except OwnershipLostError as error:
            log.warning("turn_lost", turn_id=self.turn.turn_id, reason=error.message)
        finally:
            if not self.live.log.ended:
                self.live.abandon()
                self._observer.left(self.turn)

    async def _run_in(self, place: Place) -> bool:
        """Run the turn in its place and end it there; return False if another node goes first.

        The next turn of the session begins when the end of this one is stored, so that it reads
        all of it.
        """
        async with AsyncExitStack() as lane:
            try:
                await lane.enter_async_context(place)
                outcome = None if place.interrupted else await self._run(place)
                if outcome is None and not place.interrupted:
                    return False
            except asyncio.CancelledError:
                if not self._cancelled:
                    raise
                outcome = None
            except CancelRequestedError:
                outcome = None
            except OwnershipLostError:
                raise
            except Exception as error:
                outcome = broken(self.turn, error, self._clock)
            await self._end(outcome or TurnOutcome("cancelled", ""))
        return True

    async def _end(self, outcome: TurnOutcome) -> None:
        self._ending = True
        await end(self.live, outcome, self._clock)
        self._observer.ended(self.turn)

    async def _claim(self) -> bool:
        turn = await self._when_the_database_is_there(self._store.claim, started(self.turn))
        if turn is not None:
            self._claimed = True
            self.live.change(**turn.model_dump(include={"status", "attempts", "started_at"}))
        return self._claimed

    async def _run(self, place: Place) -> TurnOutcome | None:
        """Run the turn; None when one on another node goes first.

        The message is stored whatever happens.
        """
        current_fence.set(partial(self._store.hold, self.turn.turn_id))
        current_gate.set(self._gate)
        current_writes.set(self.live.writes)
        try:
            if not self._claimed and not await self._claim():
                return None
            self._observer.started(self.turn)
            if self._refused is not None:
                raise self._refused
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
            await self._when_the_database_is_there(
                self.session.keep_message,
                self._given.message,
                invocation_id=self.turn.turn_id,
                state_delta=self._given.state_delta,
            )

    async def _when_the_database_is_there(
        self, work: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        again = AsyncRetrying(
            retry=retry_if_exception(may_pass), wait=_AGAIN_S, sleep=self._clock.sleep
        )
        return await again(work, *args, **kwargs)

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
                if not (isinstance(error, SQLAlchemyError) and may_pass(error)):
                    raise
            if self._cancelled:
                return TurnOutcome("cancelled", "")
            log.warning("turn_waits_for_store", turn_id=self.turn.turn_id, again_in_s=pause_s)
            self._begun = True
            await self._clock.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    async def _answer(self, place: Place) -> TurnOutcome:
        limits = self._limits()
        request = TurnRequest(
            self._given.message,
            turn_id=self.turn.turn_id,
            may_be_stored=self._begun,
            state_delta=self._given.state_delta,
            run_config=_STREAMING if self._given.stream_tokens else _WHOLE,
            limits=limits,
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
            CancelRequestedError: another node wants the turn to end.
        """
        await self.live.writes.flushed()
        if not self._has_asked_model:
            self._has_asked_model = True
            if await self._store.cancel_requested(self.turn.turn_id):
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


def started(turn: Turn) -> Turn:
    """Return a queued turn as running; the store sets the time."""
    return turn.model_copy(update={"status": "running", "attempts": turn.attempts + 1})


async def end(live: LiveTurn, outcome: TurnOutcome, clock: Clock) -> None:
    """Store the outcome of a run.

    Raises:
        OwnershipLostError: another node has taken over the turn.
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
