"""One run of a turn in this process: from its place in the lane to the record of its end."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial
from typing import Any, ParamSpec, TypeVar

from google.adk.agents._streaming_mode import StreamingMode
from google.adk.agents.run_config import RunConfig
from google.adk.events import Event
from tenacity import AsyncRetrying, retry_if_exception, wait_exponential

from oda.agent.failure import classify
from oda.agent.limits import TurnLimits, exceeded_limit
from oda.agent.notices import RETRY_ATTEMPT, is_limit_notice
from oda.agent.oda_agent import OdaAgent
from oda.agent.outcome import TurnOutcome, outcome_of
from oda.clock import Clock, utc
from oda.database.journal import may_pass
from oda.errors import OdaError, OwnershipLostError, SessionNotFoundError
from oda.session.fence import current_fence
from oda.session.lane import Place
from oda.session.oda_session import OdaSession
from oda.settings import OnLimit
from oda.telemetry import get_logger
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

_STREAMING = RunConfig(streaming_mode=StreamingMode.SSE)
_WHOLE = RunConfig()
_CLAIM_AGAIN_S = 0.1
_AGAIN_S = wait_exponential(multiplier=0.1, max=2.0)


class TurnRun:
    """Runs a turn when its time has come, and stores how it ended.

    Args:
        live: The turn's record and log.
        session: Answers.
        given: The message and what goes with it.
        begun: Whether the message may be in the session already.
        claimed: Whether the record says already that the turn runs here.
        first_question: What a person is asked before the turn may begin.
        events: Complete events of the turn since it last waited for a person.
        on_limit: What happens when the turn's limits are used up.
        refused: Why it is not to run: when its time has come it ends as failed.
    """

    def __init__(
        self,
        live: LiveTurn,
        session: OdaSession,
        given: TurnInput,
        store: TurnStore,
        clock: Clock,
        observer: TurnObserver,
        *,
        begun: bool,
        claimed: bool,
        first_question: dict[str, Any] | None,
        events: list[Event],
        on_limit: OnLimit,
        refused: OdaError | None,
    ) -> None:
        self.live = live
        self.session = session
        self._given = given
        self._store = store
        self._clock = clock
        self._observer = observer
        self._begun = begun
        self._claimed = claimed
        self._first_question = first_question
        self._events = events
        self._on_limit = on_limit
        self._refused = refused
        self._limit_notice: Event | None = None
        """Withheld until it is known what happens then."""
        self._agent: OdaAgent | None = None
        self._cancelled = False
        self._ending = False
        self.task: asyncio.Task[None] | None = None

    @property
    def turn(self) -> Turn:
        return self.live.turn

    def start(self, place: Place) -> "asyncio.Task[None]":
        """Begin, in a task of its own."""
        self.task = asyncio.create_task(self._carry_out(place), name=self.turn.turn_id)
        return self.task

    def cancel(self) -> None:
        """End it, whatever it is doing; what it stores at its end is not touched."""
        self._cancelled = True
        if self._agent is not None:
            self._agent.cancel()
        elif self.task is not None and not self._ending:
            self.task.cancel()

    def catch_up(self, stored: Sequence[Event]) -> None:
        """Add to the log what the session has stored of the turn and the log lacks."""
        for event in stored:
            self._note(event)
        self.live.change(attempts=self.turn.attempts + 1)

    # --- inside

    async def _carry_out(self, place: Place) -> None:
        try:
            try:
                outcome = await self._outcome(place)
            except asyncio.CancelledError:
                if not self._cancelled:
                    raise
                outcome = TurnOutcome("cancelled", "")
            except OwnershipLostError:
                raise
            except Exception as error:
                outcome = broken(self.turn, error, self._clock)
            self._ending = True
            await end(self.live, outcome, self._clock)
            self._observer.ended(self.turn)
        except OwnershipLostError as error:
            log.warning("turn_lost", turn_id=self.turn.turn_id, reason=error.message)
        finally:
            if not self.live.log.ended:
                self.live.abandon()
                self._observer.left(self.turn)

    async def _outcome(self, place: Place) -> TurnOutcome:
        if self._first_question is not None:
            place.give_up()
            return TurnOutcome("waiting_input", "", pending_input=(self._first_question,))
        while True:
            async with place:
                if place.interrupted:
                    return TurnOutcome("cancelled", "")
                if outcome := await self._run(place):
                    return outcome
            await asyncio.sleep(_CLAIM_AGAIN_S)  # a turn on another node goes first
            place = self.session.reserve_again()

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
        try:
            if not self._claimed and not await self._claim():
                return None
            self._observer.started(self.turn)
            if self._refused is not None:
                raise self._refused
            outcome = await self._answer(place)
        except OwnershipLostError:
            raise
        except Exception as error:
            outcome = broken(self.turn, error, self._clock)
        if outcome.status == "failed":
            await self._keep_message()
        return outcome

    async def _keep_message(self) -> None:
        """Store the message unless it is stored."""
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

    async def _answer(self, place: Place) -> TurnOutcome:
        limits = self._limits()
        events = self.session.stream(
            self._given.message,
            agent=self.turn.agent,
            place=place,
            run_config=_STREAMING if self._given.stream_tokens else _WHOLE,
            limits=limits,
            invocation_id=self.turn.turn_id,
            begun=self._begun,
            state_delta=self._given.state_delta,
            on_start=self._take_agent,
        )
        try:
            async with aclosing(events):
                async for event in events:
                    self._note(event)
        finally:
            agent, self._agent = self._agent, None
        usage = agent.last_turn.usage if agent and agent.last_turn else None
        if usage is not None:
            self.live.charge(TurnUsage.model_validate(usage, from_attributes=True))
        if self._limit_notice is not None:
            limit = exceeded_limit(usage, limits) if usage and limits else None
            if limit is not None:
                asked = question(limit, self.turn.usage, grants=self._given.grants)
                return TurnOutcome("waiting_input", "", pending_input=(asked,))
            self._add(self._limit_notice)
        return still_waiting(outcome_of(self._events), self.turn.pending_input)

    def _limits(self) -> TurnLimits | None:
        limits = self._given.limits
        return limits and limits.raised(1 + self._given.grants)

    def _take_agent(self, agent: OdaAgent) -> None:
        self._agent = agent

    def _note(self, event: Event) -> None:
        if self._on_limit == "ask" and is_limit_notice(event):
            self._limit_notice = event
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


def started(turn: Turn) -> Turn:
    """A queued turn as it is when it runs; the store says since when."""
    return turn.model_copy(update={"status": "running", "attempts": turn.attempts + 1})


async def end(live: LiveTurn, outcome: TurnOutcome, clock: Clock) -> None:
    """Store how a turn has ended, or what it waits for.

    Raises:
        OwnershipLostError: another node has taken it over.
    """
    await live.end(
        status=outcome.status,
        reply=outcome.reply,
        error=TurnError.model_validate(outcome.error) if outcome.error else None,
        pending_input=list(outcome.pending_input),
        finished_at=utc(clock) if outcome.status != "waiting_input" else None,
    )


def broken(turn: Turn, error: Exception, clock: Clock) -> TurnOutcome:
    """The outcome of a turn that could not be run."""
    log.error("turn_broken", turn_id=turn.turn_id, exc_info=error)
    failure = classify(error, now=clock.now())
    reason = {
        "code": failure.code,
        "message": failure.message,
        "retryable": failure.retryable,
    }
    return TurnOutcome("failed", "", error=reason)


def tools_cut_off(event: Event) -> Sequence[str]:
    """Names of the tools of which an event says that nobody knows what a call has done. Pure."""
    return [
        response.name or ""
        for response in event.get_function_responses()
        if (response.response or {}).get("status") == OUTCOME_UNKNOWN["status"]
    ]


def still_waiting(outcome: TurnOutcome, unanswered: Sequence[dict[str, Any]]) -> TurnOutcome:
    """The outcome of a run that was given answers to some of the questions only. Pure."""
    if not unanswered or outcome.status not in ("succeeded", "waiting_input"):
        return outcome
    known = {item["id"] for item in unanswered}
    new = [item for item in outcome.pending_input if item["id"] not in known]
    return replace(outcome, status="waiting_input", pending_input=(*unanswered, *new))
