"""The engine that runs turns in this process, each in a task that no client's connection owns."""

import asyncio
import itertools
import uuid
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from google.adk.agents._streaming_mode import StreamingMode
from google.adk.agents.run_config import RunConfig
from google.genai.types import Content

from oda.agent.failure import classify
from oda.agent.limits import TurnLimits
from oda.agent.notices import RETRY_ATTEMPT
from oda.agent.oda_agent import OdaAgent
from oda.agent.outcome import outcome_of
from oda.clock import Clock
from oda.errors import ConflictError, TurnNotFoundError
from oda.session.lane import OnBusy, Place
from oda.session.oda_session import OdaSession
from oda.telemetry import get_logger
from oda.turn.log import TurnLog
from oda.turn.record import ENDED, Turn, TurnError, TurnStatus, TurnUsage

log = get_logger(__name__)

_STREAMING = RunConfig(streaming_mode=StreamingMode.SSE)
_WHOLE = RunConfig()


@dataclass(frozen=True)
class Submission:
    """A message to a session, with what its sender wants."""

    message: Content
    agent: str | None = None
    on_busy: OnBusy = "queue"
    limits: TurnLimits | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    stream_tokens: bool = False
    """Whether partial texts are wanted."""


@dataclass
class _Running:
    """A turn with its log, its session and the task that runs it."""

    turn: Turn
    log: TurnLog
    session: OdaSession
    task: asyncio.Task[None] | None = None
    agent: OdaAgent | None = None
    cancelled: bool = False


class InProcessEngine:
    """Runs turns, keeps their records and logs, the finished ones up to a number.

    Args:
        clock: For the times in the records.
        kept: Most finished turns to keep.
        trace_id: Gives the id of the current trace.
    """

    def __init__(self, clock: Clock, *, kept: int, trace_id: Callable[[], str]) -> None:
        self._clock = clock
        self._kept = kept
        self._trace_id = trace_id
        self._turns: OrderedDict[str, _Running] = OrderedDict()

    async def submit(self, session: OdaSession, submission: Submission) -> Turn:
        """Accept a message and start its turn; it goes on whoever leaves.

        Raises:
            AgentNotFoundError, AgentLoadError: there is no such agent, or it is broken.
            SessionBusyError, OverloadedError: the session does not take it now.
        """
        session.agent(submission.agent)
        place = session.reserve(submission.on_busy)
        turn = Turn(
            turn_id=f"turn_{uuid.uuid4().hex}",
            app=session.app_name,
            user_id=session.user_id,
            session_id=session.session_id,
            agent=submission.agent or session.app_name,
            metadata=dict(submission.metadata),
            trace_id=self._trace_id(),
            created_at=self._now(),
        )
        running = _Running(turn, TurnLog(), session)
        running.log.append("turn", turn)
        self._turns[turn.turn_id] = running
        await self._start(running, submission, place)
        return running.turn

    async def answer(
        self,
        turn_id: str,
        responses: Sequence[tuple[str, bool | None, Any]],
        user_id: str | None = None,
    ) -> Turn:
        """Go on with a waiting turn; the responses are as for `OdaSession.answer`.

        Raises:
            TurnNotFoundError: as `get`.
            ConflictError: the turn does not wait, or not for this.
        """
        running = self._find(turn_id, user_id)
        if running.turn.status != "waiting_input":
            raise ConflictError(
                f"The turn {turn_id!r} does not wait for input; it is {running.turn.status}."
            )
        message = await running.session.answer(responses)
        place = running.session.reserve()
        self._change(running, status="queued", pending_input=[], finished_at=None)
        await self._start(running, Submission(message, agent=running.turn.agent), place)
        return running.turn

    def get(self, turn_id: str, user_id: str | None = None) -> Turn:
        """The record of a turn; with `user_id`, only if it is that user's.

        Raises:
            TurnNotFoundError: there is none, or it is not kept any more.
        """
        return self._find(turn_id, user_id).turn

    def log_of(self, turn_id: str, user_id: str | None = None) -> TurnLog:
        """The events of a turn.

        Raises:
            TurnNotFoundError: as `get`.
        """
        return self._find(turn_id, user_id).log

    def of_session(self, session: OdaSession) -> list[Turn]:
        """The turns of a session that are known, newest first."""
        return [
            running.turn
            for running in reversed(self._turns.values())
            if running.session.key == session.key
        ]

    async def wait(self, turn_id: str) -> Turn:
        """The record of a turn when it has ended."""
        running = self._find(turn_id, None)
        if running.task is not None:
            await asyncio.wait({running.task})
        return running.turn

    async def cancel(self, turn_id: str, user_id: str | None = None) -> Turn:
        """End a turn, also one that waits in its lane; the record of it as it ended.

        A turn that has ended already is left as it is.

        Raises:
            TurnNotFoundError: as `get`.
        """
        running = self._find(turn_id, user_id)
        if running.turn.status == "waiting_input":
            running.cancelled = True
            self._end(running, "cancelled")
        elif not running.turn.ended:
            running.cancelled = True
            if running.agent is not None:
                await running.agent.cancel()
            elif running.task is not None:
                running.task.cancel()
        return await self.wait(turn_id)

    async def cancel_all(self, session: OdaSession) -> None:
        """End all turns of a session, the waiting ones first."""
        for turn in self.of_session(session):
            if not turn.ended:
                await self.cancel(turn.turn_id)

    async def close(self) -> None:
        """Stop all turns; what they have stored can be gone on with."""
        tasks = {r.task for r in self._turns.values() if r.task and not r.task.done()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    # --- inside

    async def _start(self, running: _Running, submission: Submission, place: Place) -> None:
        running.task = asyncio.create_task(
            self._run(running, submission, place), name=running.turn.turn_id
        )
        await asyncio.sleep(0)

    async def _run(self, running: _Running, submission: Submission, place: Place) -> None:
        begun_after = running.log.last

        def started(agent: OdaAgent) -> None:
            running.agent = agent
            self._change(
                running,
                status="running",
                attempts=running.turn.attempts + 1,
                started_at=running.turn.started_at or self._now(),
            )

        try:
            events = running.session.stream(
                submission.message,
                agent=submission.agent,
                place=place,
                run_config=_STREAMING if submission.stream_tokens else _WHOLE,
                limits=submission.limits,
                on_start=started,
            )
            async with aclosing(events):
                async for event in events:
                    running.log.append("event", event)
                    if event.error_code == RETRY_ATTEMPT:
                        self._change(running, attempts=running.turn.attempts + 1)
        except asyncio.CancelledError:
            self._end(running, "cancelled")
            if not running.cancelled:
                raise
        except Exception as error:
            log.error("turn_broken", turn_id=running.turn.turn_id, exc_info=error)
            failure = classify(error, now=self._clock.now())
            self._end(
                running,
                "failed",
                error=TurnError(
                    code=failure.code, message=failure.message, retryable=failure.retryable
                ),
            )
        else:
            self._finish(running, begun_after)
        finally:
            self._forget_old()

    def _finish(self, running: _Running, begun_after: int) -> None:
        outcome = outcome_of(running.log.events(begun_after))
        self._end(
            running,
            outcome.status,
            reply=outcome.reply,
            error=TurnError.model_validate(outcome.error) if outcome.error else None,
            pending_input=list(outcome.pending_input),
        )

    def _end(self, running: _Running, status: TurnStatus, **changes: Any) -> None:
        loop = running.agent.last_turn if running.agent else None
        if loop is not None:
            usage = loop.usage
            changes["usage"] = TurnUsage(
                model_calls=usage.model_calls,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cost_usd=usage.cost_usd,
            )
        self._change(running, status=status, finished_at=self._now(), **changes)
        running.log.append("done", running.turn)

    def _change(self, running: _Running, **changes: Any) -> None:
        running.turn = running.turn.model_copy(update=changes)
        if running.turn.status not in ENDED:
            running.log.append("turn", running.turn)

    def _forget_old(self) -> None:
        surplus = len(self._turns) - self._kept
        ended = (turn_id for turn_id, running in self._turns.items() if running.turn.ended)
        for turn_id in list(itertools.islice(ended, max(0, surplus))):
            del self._turns[turn_id]

    def _find(self, turn_id: str, user_id: str | None) -> _Running:
        running = self._turns.get(turn_id)
        if running is None or (user_id is not None and running.turn.user_id != user_id):
            raise TurnNotFoundError(f"There is no turn {turn_id!r}.")
        return running

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now(), UTC)
