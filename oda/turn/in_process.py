"""The turn engine: each turn runs in a task that no client's connection owns."""

import asyncio
import uuid
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from google.genai.types import Content

from oda.agent.day_budget import DayBudgets
from oda.agent.outcome import OpenQuestion
from oda.clock import Clock, utc
from oda.database.database import Database
from oda.database.journal import REQUEST_S
from oda.errors import ConflictError, OverloadedError, UnavailableError
from oda.session.answers import Answer, answer_content, answered_by
from oda.session.lane import Place
from oda.session.manager import OdaSessionManager
from oda.session.oda_session import OdaSession
from oda.session.user_storage import UserStorage
from oda.settings import Settings
from oda.telemetry import get_logger
from oda.turn.budget import GRANT, allowance
from oda.turn.follow import Follower
from oda.turn.log import Entry
from oda.turn.node import Node
from oda.turn.observer import TurnObserver
from oda.turn.record import Turn, TurnError
from oda.turn.rows import StoredTurn
from oda.turn.run import TurnRun, started
from oda.turn.runs import Runs
from oda.turn.store import Accepted, TurnStore
from oda.turn.submission import Submission, TurnInput

log = get_logger(__name__)

_CANCEL_AGAIN_S = 1.0
_RETRY_AFTER_S = 2.0


class InProcessEngine:
    """Accepts and runs turns, and takes over the turns of dead nodes.

    Several nodes may share a database: the turns of a session run one at a time, in order, on
    whichever nodes they were accepted.

    Args:
        database: Database of the turns.
        days: Daily budgets of the users.
        sessions: Sessions of this node.
        storage: Storage quotas of the users.
        settings: Lease, grace time, retention.
        clock: Clock for the times in records.
        node_id: Id of this process among those that share the database.
        trace_id: Returns the id of the current trace.
    """

    def __init__(
        self,
        database: Database,
        days: DayBudgets,
        sessions: OdaSessionManager,
        storage: UserStorage,
        settings: Settings,
        clock: Clock,
        *,
        node_id: str,
        trace_id: Callable[[], str],
    ) -> None:
        self._store = TurnStore(database, node_id, clock, storage)
        self._runs = Runs(database, self._store, days, sessions, settings, clock)
        self._node = Node(self._runs)
        self._days = days
        self._sessions = sessions
        self._settings = settings
        self._clock = clock
        self._trace_id = trace_id
        self._closing = False
        self._accepting: set[asyncio.Task[Accepted]] = set()
        self._refused: set[str] = set()
        """Turns whose client was told that they are not accepted, before that was known."""

    def observe(self, observer: TurnObserver) -> None:
        """Report to `observer` what happens to the turns of this node."""
        self._runs.observer = observer

    async def recover(self) -> None:
        """Take over the turns of dead nodes, now and periodically."""
        await self._node.recover()

    async def recover_session(self, session: OdaSession) -> Sequence[str]:
        """Take over the turns of a session from dead nodes; return their ids in order."""
        return await self._node.recover_session(session)

    async def close(self) -> None:
        """Wait for running turns for the grace time, and leave the rest to other nodes."""
        self._closing = True
        if self._accepting:
            await asyncio.wait(self._accepting, timeout=self._settings.turn.grace_s)
        await self._node.close()

    # --- for clients

    async def submit(self, session: OdaSession, submission: Submission) -> Accepted:
        """Accept a message and start its turn, which no disconnect ends.

        Raises:
            AgentNotFoundError, AgentLoadError: the agent does not exist or cannot be loaded.
            SessionBusyError, OverloadedError: the session takes no message now.
            IdempotencyConflictError: the key was used with another body.
            StorageQuotaError: the message exceeds the user's quota.
        """
        self._refuse_if_closing()
        if submission.key is not None:
            now = utc(self._clock)
            if known := await self._store.of_key(session.user_id, submission.key, now):
                return Accepted(known, replayed=True)
        await self._node.register()
        session.agent(submission.agent)
        self._refuse_too_many(session.user_id, submission.turns_at_once)
        limits = submission.limits or self._sessions.agents.limits()
        allowed = await allowance(limits, self._days, session.user_id)
        given = submission.input.model_copy(
            update={"limits": allowed.limits, "is_drawn": self._days.limited}
        )
        queued = self._new_turn(session, submission)
        accepting = asyncio.create_task(
            self._accept(session, submission, queued, given, allowed.question)
        )
        self._accepting.add(accepting)
        accepting.add_done_callback(self._forget_accepting)
        await asyncio.wait({accepting}, timeout=REQUEST_S)
        if not accepting.done():
            self._refused.add(queued.turn_id)
            raise UnavailableError("The database has not taken the message in time; try again.")
        return accepting.result()

    async def _accept(
        self,
        session: OdaSession,
        submission: Submission,
        queued: Turn,
        given: TurnInput,
        question: OpenQuestion | None,
    ) -> Accepted:
        """Store a turn and start it, or withdraw it if it was refused meanwhile."""
        place = session.reserve(submission.on_busy)
        running = started(queued) if place.first and not question else None
        with self._runs.arriving(queued.turn_id), self._started_or_given_up(place) as start:
            try:
                accepted = await self._store.accept(
                    queued,
                    given,
                    interrupts=submission.on_busy == "interrupt",
                    only_if_idle=submission.on_busy == "reject",
                    start=running,
                    key=submission.key,
                )
            finally:
                refused = queued.turn_id in self._refused
                self._refused.discard(queued.turn_id)
            if refused:
                await self._store.withdraw(queued, given)
            elif not accepted.replayed:
                claimed = accepted.turn.status == "running"
                run = self._runs.make(
                    session,
                    accepted.turn,
                    given,
                    claimed=claimed,
                    first_question=question,
                )
                run.live.publish(*([queued, accepted.turn] if claimed else [queued]))
                start(run, queued)
        return accepted

    async def answer(
        self,
        turn_id: str,
        answer: Content | Sequence[Answer],
        user_id: str | None = None,
    ) -> int:
        """Resume a waiting turn with a person's answers, as such or as ADK content.

        Returns the number of the last log entry before that.

        Raises:
            TurnNotFoundError: as `get`.
            ConflictError: the turn does not wait, or waits for other answers.
            OverloadedError: the session takes no message now.
            StorageQuotaError: the answer exceeds the user's quota.
        """
        self._refuse_if_closing()
        stored = await self._store.stored(turn_id, user_id)
        turn = stored.turn
        if turn.status != "waiting_input":
            raise ConflictError(
                f"The turn {turn_id!r} does not wait for input; it is {turn.status}.",
                remedy="it may have been answered already",
            )
        await self._node.register()
        if [item["name"] for item in turn.pending_input] == [GRANT]:
            return await self._answer_grant(stored, answer)
        message = (
            answer if isinstance(answer, Content) else answer_content(turn.pending_input, answer)
        )
        answered = answered_by(message)
        if not answered or not answered <= {item["id"] for item in turn.pending_input}:
            raise ConflictError("The message does not answer what the turn asks.")
        given = stored.input.model_copy(update={"message": message, "state_delta": None})
        return await self._requeue(stored, given, answered, begun=False, size=given.size)

    async def _answer_grant(self, stored: StoredTurn, answer: Content | Sequence[Answer]) -> int:
        """Resume or end a turn that has reached a limit."""
        asked = stored.turn.pending_input[0]
        if isinstance(answer, Content) or [answer_id for answer_id, _, _ in answer] != [
            asked["id"]
        ]:
            raise ConflictError(
                f"The turn asks for one answer, with the id {asked['id']!r}.",
                remedy='send it with "confirmed"',
            )
        if answer[0][1]:
            granted: dict[str, Any] = {"grants": stored.input.grants + 1}
            if asked["args"].get("period") == "day":
                granted["goes_beyond_day"] = True
            given = stored.input.model_copy(update=granted)
            return await self._requeue(stored, given, {asked["id"]}, begun=stored.begun)
        refused = TurnError(
            code="limit_exceeded",
            message=f"The limit of {asked['args']['limit']} was not raised.",
            retryable=False,
        )
        await self._runs.end_waiting(stored.turn, "failed", refused)
        return stored.last

    async def _requeue(
        self,
        stored: StoredTurn,
        given: TurnInput,
        answered: Container[str],
        *,
        begun: bool,
        size: int = 0,
    ) -> int:
        """Queue a waiting turn again; return the number of the last log entry before that."""
        turn = stored.turn
        session = await self._sessions.get(turn.app, turn.user_id, turn.session_id)
        open_questions = [item for item in turn.pending_input if item["id"] not in answered]
        queued = turn.model_copy(update={"status": "queued", "pending_input": open_questions})
        recorded = await self._runs.recorded(turn.turn_id)
        place = session.reserve()
        with self._runs.arriving(turn.turn_id), self._started_or_given_up(place) as start:
            last = await self._store.answer(queued, given, begun=begun, size=size)
            run = self._runs.make(session, queued, given, recorded, last=last - 1, begun=begun)
            run.live.publish(queued)
            start(run, queued)
        return last - 1

    async def get(self, turn_id: str, user_id: str | None = None) -> Turn:
        """Return the record of a turn; with `user_id`, only of that user.

        Raises:
            TurnNotFoundError: the turn does not exist, or was deleted.
        """
        return await self._store.get(turn_id, user_id)

    async def of_session(
        self, session: OdaSession, *, limit: int, cursor: str | None = None
    ) -> tuple[Sequence[Turn], str | None]:
        """Return a page of a session's turns, newest first, and the cursor of the next page.

        Raises:
            InvalidRequestError: the cursor is malformed.
        """
        return await self._store.of_session(session.key, limit=limit, cursor=cursor)

    async def unfinished(self, session: OdaSession) -> Sequence[StoredTurn]:
        """Return the turns of a session that are not final, in order."""
        return await self._store.unfinished_of(session.key)

    async def is_told(self, turn_id: str, after: int) -> bool:
        """Return whether the turn is final, and its log has no entry after that number.

        Raises:
            TurnNotFoundError: as `get`.
        """
        stored = await self._store.stored(turn_id)
        return stored.turn.final and after >= stored.last

    def follow(self, turn_id: str, after: int = 0, *, previews: bool = False) -> Follower:
        """Return a reader of the turn's log from after the entry of that number."""
        return Follower(turn_id, after, self._store, self._runs.live, previews=previews)

    async def waiting_for(self, session: OdaSession, message: Content) -> Turn:
        """Return the turn of a session that waits for this answer.

        Raises:
            ConflictError: no turn does.
        """
        answered = answered_by(message)
        for stored in reversed(await self._store.unfinished_of(session.key)):
            turn = stored.turn
            if answered <= {item["id"] for item in turn.pending_input}:
                return turn
        raise ConflictError(
            f"Nothing waits for an answer under {', '.join(map(repr, answered))}.",
            remedy="it may have been answered already",
        )

    async def entries(self, turn_id: str, after: int = 0) -> Sequence[Entry]:
        """Return the stored log entries of a turn after that number."""
        return await self._store.entries(turn_id, after)

    async def result(self, turn_id: str) -> tuple[Turn, Sequence[bytes]]:
        """Wait until a turn ends or waits; return it and its complete ADK events as JSON."""
        run = self._runs.get(turn_id)
        turn = await self.wait(turn_id)
        if run is not None and not run.live.log.base and not run.live.log.abandoned:
            entries: Sequence[Entry] = run.live.log.read(0)
        else:
            entries = await self._store.entries(turn_id, 0)
        events = (entry for entry in entries if entry.kind == "event")
        return turn, [entry.json for entry in events if not entry.partial]

    async def wait(self, turn_id: str) -> Turn:
        """Wait until a turn ends or waits for a person; return its record."""
        run = self._runs.get(turn_id)
        follower = self.follow(turn_id, run.live.log.last if run else 0)
        while not follower.ended:
            await follower.read()
        if run is not None and run.turn.ended and not run.live.log.abandoned:
            return run.turn
        return await self._store.get(turn_id)

    async def cancel(self, turn_id: str, user_id: str | None = None) -> Turn:
        """End a turn, running or waiting, and return its final record.

        A turn that is final stays as it is.

        Raises:
            TurnNotFoundError: as `get`.
        """
        while not (turn := await self._store.get(turn_id, user_id)).final:
            if turn.status == "waiting_input":
                await self._runs.end_waiting(turn, "cancelled")
            elif (run := self._runs.get(turn_id)) is not None:
                run.cancel()
                await self.wait(turn_id)
            else:
                await self._cancel_elsewhere(turn_id)
        return turn

    async def _cancel_elsewhere(self, turn_id: str) -> None:
        """Let the node that runs a turn end it, or this node if that one is dead."""
        await self._store.request_cancel(turn_id)
        await self._node.register()
        follower = self.follow(turn_id, (await self._store.stored(turn_id)).last)
        while not follower.ended and not await self._node.adopt(turn_id):
            await follower.read(_CANCEL_AGAIN_S)
        await self.wait(turn_id)

    async def cancel_all(self, session: OdaSession) -> None:
        """End all turns of a session, the latest first."""
        for stored in reversed(await self._store.unfinished_of(session.key)):
            await self.cancel(stored.turn.turn_id)

    async def forget_session(self, session: OdaSession) -> Sequence[str]:
        """Delete the records of a session's turns, and return their ids."""
        return await self._store.forget_session(session.key)

    # --- inside

    def _forget_accepting(self, accepting: "asyncio.Task[Accepted]") -> None:
        self._accepting.discard(accepting)
        if not accepting.cancelled() and (error := accepting.exception()) is not None:
            log.debug("turn_not_accepted", exc_info=error)

    def _new_turn(self, session: OdaSession, submission: Submission) -> Turn:
        return Turn(
            turn_id=f"turn_{uuid.uuid4().hex}",
            app=session.app_name,
            user_id=session.user_id,
            session_id=session.session_id,
            agent=submission.agent or session.app_name,
            metadata=dict(submission.metadata),
            trace_id=self._trace_id(),
            created_at=utc(self._clock),
        )

    @contextmanager
    def _started_or_given_up(self, place: Place) -> Iterator[Callable[[TurnRun, Turn], None]]:
        """Yield a function that starts a run; give the place up if it is not called."""
        begun = False

        def start(run: TurnRun, queued: Turn) -> None:
            nonlocal begun
            begun = True
            self._runs.observer.accepted(queued)
            self._runs.start(run, place)

        try:
            yield start
        finally:
            if not begun:
                place.give_up()

    def _refuse_if_closing(self) -> None:
        if self._closing:
            raise OverloadedError("The server is stopping.", retry_after_s=_RETRY_AFTER_S)

    def _refuse_too_many(self, user_id: str, limit: int | None) -> None:
        if limit is None:
            return
        unfinished = self._runs.unfinished_of(user_id)
        if unfinished >= limit:
            raise OverloadedError(
                f"You have {unfinished} turns that are not finished.",
                retry_after_s=_RETRY_AFTER_S,
                remedy="wait for one of them",
            )
