"""The turn engine: it accepts turns and runs each to its end, in a task that no client owns.

The turns of a session run one at a time, in order of acceptance, again if their process dies.
"""

import asyncio
import os
import socket
import uuid
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from google.genai.types import Content

from oda.agent.day_budget import DayBudgets
from oda.agent.definition import Definitions
from oda.clock import Clock, utc
from oda.config import WebhookRecord
from oda.database.database import Database
from oda.database.journal import REQUEST_S
from oda.errors import ConflictError, OverloadedError, UnavailableError
from oda.identity.principal import current_principal
from oda.session.answers import Answer, answer_content, answered_by
from oda.session.manager import OdaSessionManager
from oda.session.oda_session import OdaSession
from oda.session.user_storage import UserStorage
from oda.settings import Settings
from oda.telemetry import get_logger
from oda.turn.admission import Accepted, Jobs
from oda.turn.budget import GRANT, allowance
from oda.turn.follow import Follower
from oda.turn.log import Entry, TurnLog
from oda.turn.observer import TurnObserver
from oda.turn.record import Turn, TurnError
from oda.turn.rows import StoredTurn
from oda.turn.runner import TurnRunner
from oda.turn.store import TurnStore
from oda.turn.submission import Submission, TurnInput
from oda.webhooks.notify import Notify
from oda.webhooks.sender import WebhookSender
from oda.webhooks.standing import standing

if TYPE_CHECKING:
    from oda.turn.queue import QueueLength

log = get_logger(__name__)

_RETRY_AFTER_S = 2.0
_CLEANING_EVERY_S, _FIRST_CLEANING_S = 60.0, 1.0
_AGAIN_S = 0.25
"""Pause after a failure."""
_EXPIRED = TurnError(code="input_expired", message="Nobody answered in time.", retryable=False)


PROCESS = f"{socket.gethostname()[:48]}:{os.getpid()}"
"""Name of this process, by which operators know who runs a turn."""


@dataclass(frozen=True)
class EngineParts:
    """The parts of a process that an engine works with."""

    database: Database
    days: DayBudgets
    """Daily budgets of the users."""
    sessions: OdaSessionManager
    definitions: Definitions
    storage: UserStorage
    settings: Settings
    clock: Clock
    """Clock for the times in records."""
    trace_id: Callable[[], str]
    """Returns the id of the current trace."""
    webhooks: Callable[[], Mapping[str, WebhookRecord]] = dict
    """Returns the standing webhooks as they are configured now."""


class TurnEngine(ABC):
    """Accepts turns, runs them, and reads and ends them for clients.

    Its two kinds differ in who runs a turn: this process, or any that shares the database.

    Args:
        parts: Parts of this process.
        jobs: The queue of jobs that run the turns; without it, this process runs them.
    """

    def __init__(self, parts: EngineParts, jobs: Jobs | None = None) -> None:
        self._settings = parts.settings.turn
        self._days = parts.days
        self._sessions = parts.sessions
        self._definitions = parts.definitions
        self._clock = parts.clock
        self._trace_id = parts.trace_id
        self._webhooks = parts.webhooks
        self._store = TurnStore(
            parts.database,
            parts.clock,
            parts.storage,
            runner=PROCESS,
            max_queued=parts.settings.session.max_queued,
            jobs=jobs,
        )
        self._runner = TurnRunner(
            self._store,
            parts.database.journal,
            parts.days,
            parts.sessions,
            self._settings,
            parts.clock,
        )
        secret = parts.settings.webhooks.secret
        self._sender = None
        if secret is not None:
            self._sender = WebhookSender(
                self._store.deliveries,
                parts.clock,
                secret=secret.get_secret_value(),
                allow_private=parts.settings.webhooks.allow_private,
            )
        self._closing = False
        self._accepting: set[asyncio.Task[Accepted]] = set()
        self._refused: set[str] = set()
        """Turns whose client was told that they are not accepted, before that was known."""
        self._starting = asyncio.Lock()
        self._started = False
        self._housekeeping: set[asyncio.Task[None]] = set()

    def observe(self, observer: TurnObserver) -> None:
        """Report to `observer` what happens to the turns of this process."""
        self._runner.process.observer = observer

    # --- the process

    async def start(self) -> None:
        """Begin to run turns; the first turn that is submitted does so, too.

        Raises:
            ConfigurationError: another process runs the turns of this database, and alone.
            UnavailableError: the database cannot be reached.
        """
        async with self._starting:
            if not self._started:
                await self._start()
                self._repeat(self._clean, _CLEANING_EVERY_S, first_after_s=_FIRST_CLEANING_S)
                if self._sender is not None:
                    sending = asyncio.create_task(self._sender.run(), name="oda webhooks")
                    self._housekeeping.add(sending)
                self._started = True

    @abstractmethod
    async def _start(self) -> None: ...

    @abstractmethod
    async def recover(self) -> None:
        """Start, and go on with the turns that processes have left unfinished."""

    @abstractmethod
    async def recover_session(self, session: OdaSession) -> Sequence[str]:
        """Go on with the turns of a session that processes have left; return their ids."""

    async def close(self) -> None:
        """Wait for running turns for the grace time, and leave the rest to other processes."""
        self._closing = True
        if self._accepting:
            await asyncio.wait(self._accepting, timeout=self._settings.grace_s)
        async with self._starting:
            if self._started:
                self._started = False
                for task in self._housekeeping:
                    task.cancel()
                await asyncio.wait(self._housekeeping)
                await self._stop()

    @abstractmethod
    async def _stop(self) -> None: ...

    @property
    def closing(self) -> bool:
        """Whether it takes no more messages; what is stored can still be read."""
        return self._closing

    async def queue_length(self) -> "QueueLength | None":
        """Return how many turns wait and run, on all processes; None if there is one process."""
        return None

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
        await self.start()
        session.agent(submission.agent)
        limits = submission.limits or self._sessions.agents.limits()
        allowed = await allowance(limits, self._days, session.user_id)
        given = submission.input.model_copy(
            update={
                "limits": allowed.limits,
                "is_drawn": self._days.limited,
                "notify": (*submission.notify, *self._standing(session.app_name)),
            }
        )
        turn = await self._new_turn(session, submission)
        if allowed.question:
            turn = turn.model_copy(
                update={"status": "waiting_input", "pending_input": [allowed.question]}
            )
        accepting = asyncio.create_task(
            self._accept_unless_refused(session, submission, turn, given)
        )
        self._accepting.add(accepting)
        accepting.add_done_callback(self._forget_accepting)
        await asyncio.wait({accepting}, timeout=REQUEST_S)
        if not accepting.done():
            self._refused.add(turn.turn_id)
            raise UnavailableError("The database has not taken the message in time; try again.")
        return accepting.result()

    def _standing(self, app: str) -> tuple[Notify, ...]:
        """Return who is told of all turns of an app, or of those that the caller's key begins."""
        if self._sender is None:
            return ()
        principal = current_principal.get()
        return standing(self._webhooks(), app, principal.key_id if principal else None)

    async def _accept_unless_refused(
        self, session: OdaSession, submission: Submission, turn: Turn, given: TurnInput
    ) -> Accepted:
        try:
            return await self._accept(session, submission, turn, given)
        finally:
            self._refused.discard(turn.turn_id)

    @abstractmethod
    async def _accept(
        self, session: OdaSession, submission: Submission, turn: Turn, given: TurnInput
    ) -> Accepted:
        """Store a turn and have it run; or withdraw it if it was `_refused` meanwhile."""

    async def _store_or_withdraw(
        self, submission: Submission, turn: Turn, given: TurnInput, *, starts: bool
    ) -> tuple[Accepted, bool]:
        """Store a turn; return what came of it, and whether it is new and stays."""
        accepted = await self._store.accept(
            turn,
            given,
            on_busy=submission.on_busy,
            starts=starts,
            key=submission.key,
            turns_at_once=submission.turns_at_once,
        )
        if turn.turn_id in self._refused:
            await self._store.withdraw(accepted.turn, given)
            return accepted, False
        return accepted, not accepted.replayed

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
        await self.start()
        if [item["name"] for item in turn.pending_input] == [GRANT]:
            return await self._answer_grant(stored, answer)
        message = (
            answer if isinstance(answer, Content) else answer_content(turn.pending_input, answer)
        )
        answered = answered_by(message)
        if not answered or not answered <= {item["id"] for item in turn.pending_input}:
            raise ConflictError("The message does not answer what the turn asks.")
        given = stored.input.model_copy(update={"message": message, "state_delta": None})
        return await self._requeue(
            stored, given, answered, message_may_be_stored=False, size=given.size
        )

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
            return await self._requeue(
                stored,
                stored.input.model_copy(update=granted),
                {asked["id"]},
                message_may_be_stored=stored.message_may_be_stored,
            )
        refused = TurnError(
            code="limit_exceeded",
            message=f"The limit of {asked['args']['limit']} was not raised.",
            retryable=False,
        )
        await self._runner.end_idle(stored.turn, "failed", refused)
        return stored.last

    async def _requeue(
        self,
        stored: StoredTurn,
        given: TurnInput,
        answered: Container[str],
        *,
        message_may_be_stored: bool,
        size: int = 0,
    ) -> int:
        """Queue a waiting turn again; return the number of the last log entry before that."""
        turn = stored.turn
        session = await self._sessions.get(turn.app, turn.user_id, turn.session_id)
        open_questions = [item for item in turn.pending_input if item["id"] not in answered]
        queued = turn.model_copy(update={"status": "queued", "pending_input": open_questions})

        async def store() -> int:
            return await self._store.answer(
                queued, given, message_may_be_stored=message_may_be_stored, size=size
            )

        return await self._queue_again(session, queued, store) - 1

    @abstractmethod
    async def _queue_again(
        self, session: OdaSession, queued: Turn, store: Callable[[], Awaitable[int]]
    ) -> int:
        """Store an answered turn and have it run; return the number of its last entry."""

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
        return Follower(turn_id, after, self._store, self.log_of, self._open_log, previews=previews)

    async def _open_log(self, stored: StoredTurn, last: int) -> TurnLog | None:
        """Keep the log of a turn that may run elsewhere in memory, if this engine hears of it."""
        return None

    def log_of(self, turn_id: str) -> TurnLog | None:
        """Return the log of a turn in memory, if this process has it."""
        return self._runner.log_of(turn_id)

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
        live = self.log_of(turn_id)
        turn = await self.wait(turn_id)
        if live is not None and not live.base and not live.abandoned:
            entries: Sequence[Entry] = live.read(0)
        else:
            entries = await self._store.entries(turn_id, 0)
        events = (entry for entry in entries if entry.kind == "event")
        return turn, [entry.json for entry in events if not entry.partial]

    async def wait(self, turn_id: str) -> Turn:
        """Wait until a turn ends or waits for a person; return its record."""
        live = self.log_of(turn_id)
        follower = self.follow(turn_id, live.last if live else 0)
        while not follower.ended:
            await follower.read()
        if live is not None and live.ended and live.last > live.base:
            last = live.read(live.last - 1)[-1].data
            if isinstance(last, Turn):
                return last
        return await self._store.get(turn_id)

    async def cancel(self, turn_id: str, user_id: str | None = None) -> Turn:
        """End a turn, running or waiting, and return its final record.

        A turn that is final stays as it is.

        Raises:
            TurnNotFoundError: as `get`.
        """
        while not (turn := await self._store.get(turn_id, user_id)).final:
            if turn.status == "running":
                await self._cancel_running(turn)
            elif (last := await self._runner.end_idle(turn, "cancelled")) is not None:
                self._show_end(turn_id, last)
        return turn

    @abstractmethod
    async def _cancel_running(self, turn: Turn) -> None:
        """End a turn that some process runs, or has left."""

    @abstractmethod
    def _show_end(self, turn_id: str, last: Entry) -> None:
        """Tell the readers in this process of the last entry of a turn that did not run."""

    async def cancel_all(self, session: OdaSession) -> None:
        """End all turns of a session, the latest first."""
        for stored in reversed(await self._store.unfinished_of(session.key)):
            await self.cancel(stored.turn.turn_id)

    async def forget_session(self, session: OdaSession) -> Sequence[str]:
        """Delete the records of a session's turns, and return their ids."""
        return await self._store.forget_session(session.key)

    # --- inside

    async def _release(self, turn_id: str, run: int) -> None:
        """Leave a turn to other processes; without the database they count it as a death."""
        try:
            await self._store.release(turn_id, run)
        except Exception as error:
            log.warning("turn_not_released", turn_id=turn_id, exc_info=error)

    def _forget_accepting(self, accepting: "asyncio.Task[Accepted]") -> None:
        self._accepting.discard(accepting)
        if not accepting.cancelled() and (error := accepting.exception()) is not None:
            log.debug("turn_not_accepted", exc_info=error)

    async def _new_turn(self, session: OdaSession, submission: Submission) -> Turn:
        version = await self._definitions.version(session.app_name)
        return Turn(
            turn_id=f"turn_{uuid.uuid4().hex}",
            app=session.app_name,
            user_id=session.user_id,
            session_id=session.session_id,
            agent=submission.agent or session.app_name,
            agent_version=version.name,
            pinned=version.pinned,
            metadata=dict(submission.metadata),
            trace_id=self._trace_id(),
            created_at=utc(self._clock),
        )

    def _refuse_if_closing(self) -> None:
        if self._closing:
            raise OverloadedError("The server is stopping.", retry_after_s=_RETRY_AFTER_S)

    def _repeat(
        self,
        work: Callable[[], Awaitable[None]],
        every_s: float,
        *,
        first_after_s: float | None = None,
    ) -> None:
        """Do something periodically in a task of its own, so that slow work delays nothing."""

        async def repeat() -> None:
            pause_s = every_s if first_after_s is None else first_after_s
            while True:
                await asyncio.sleep(pause_s)
                pause_s = every_s
                try:
                    await work()
                except Exception as error:
                    log.warning("housekeeping_failed", work=work.__name__, exc_info=error)
                    pause_s = min(_AGAIN_S, every_s)

        self._housekeeping.add(asyncio.create_task(repeat(), name=f"oda turns: {work.__name__}"))

    async def _clean(self) -> None:
        now = utc(self._clock)
        while await self._store.forget_old(now, timedelta(days=self._settings.retention_days)):
            pass
        limit = timedelta(seconds=self._settings.input_timeout_s)
        for turn in await self._store.waiting_since(now - limit):
            await self._runner.end_idle(turn, "failed", _EXPIRED)
        await self._sessions.expire()
