"""The engine of one process, which runs all turns of its database as tasks of its own."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext, suppress

from oda.agent.turn_plugin import SessionKey
from oda.database.owner import DatabaseOwner
from oda.errors import AgentNotFoundError, ConfigurationError, OdaError
from oda.session.lane import Place
from oda.session.oda_session import OdaSession
from oda.telemetry import get_logger
from oda.turn.admission import Accepted
from oda.turn.engine import EngineParts, TurnEngine
from oda.turn.log import Entry, TurnLog
from oda.turn.record import Turn
from oda.turn.rows import StoredTurn
from oda.turn.run import once_stored
from oda.turn.store import TakenTurn
from oda.turn.submission import Submission, TurnInput

log = get_logger(__name__)

_AGAIN_S = 1.0
_LOOK_FOR_CANCELS_EVERY_S = 1.0
"""Only commands beside this process store a wish to cancel that it does not know of."""


class InProcessEngine(TurnEngine):
    """Runs turns in this process, and goes on with those that were left; see `TurnEngine`.

    A second process that wants to run turns of the same database is refused.
    """

    def __init__(self, parts: EngineParts) -> None:
        super().__init__(parts)
        self._owner = DatabaseOwner(parts.database.url)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._logs: dict[str, TurnLog] = {}
        """Logs of turns that were accepted here, from then on."""
        self._arriving: set[str] = set()
        """Turns that may be stored, and have no task yet."""
        self._recovered: set[SessionKey] | None = set()
        """Sessions whose turns were looked for; None after all were."""
        self._recovering = asyncio.Lock()

    # --- the process

    async def _start(self) -> None:
        await asyncio.to_thread(self._owner.acquire)
        await self._store.deliveries.reclaim()
        self._repeat(self._end_cancelled, _LOOK_FOR_CANCELS_EVERY_S)

    async def recover(self) -> None:
        await self.start()
        async with self._recovering:
            await self._go_on(await self._store.unfinished())
            self._recovered = None

    async def recover_session(self, session: OdaSession) -> Sequence[str]:
        await self.start()
        async with self._recovering:  # keeps those who wait in their order
            if self._recovered is None or session.key in self._recovered:
                return ()
            found = await self._go_on(await self._store.unfinished(session.key))
            self._recovered.add(session.key)
            return found

    async def _go_on(self, turn_ids: Sequence[str]) -> Sequence[str]:
        """Go on with unfinished turns, in that order, unless they run or wait here."""
        here = self._tasks.keys() | self._arriving
        left = [one for one in turn_ids if one not in here]
        for turn_id in left:
            turn = await self._store.get(turn_id)
            place = None
            with suppress(OdaError):  # the run tells why there is no session
                session = await self._sessions.get(turn.app, turn.user_id, turn.session_id)
                place = session.reserve_again()
            self._begin(turn, place)
        return left

    async def _stop(self) -> None:
        if tasks := set(self._tasks.values()):
            await asyncio.wait(tasks, timeout=self._settings.grace_s)
        left = {turn_id: run.live.run for turn_id, run in self._runner.runs.items()}
        if tasks := set(self._tasks.values()):
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        for turn_id, run in left.items():
            await self._release(turn_id, run)
        self._owner.release()

    # --- turns

    async def _accept(
        self, session: OdaSession, submission: Submission, turn: Turn, given: TurnInput
    ) -> Accepted:
        if self._recovered is not None and session.key not in self._recovered:
            await self.recover_session(session)
        session = await self._sessions.get(*session.key)  # it may have been evicted meanwhile
        place = session.reserve(submission.on_busy)
        self._arriving.add(turn.turn_id)
        try:
            accepted, is_new = await self._store_or_withdraw(
                submission, turn, given, starts=place.first and not turn.ended
            )
            if is_new and not turn.ended:
                self._begin_accepted(accepted.turn, turn, given, place)
        finally:
            self._arriving.discard(turn.turn_id)
            if turn.turn_id not in self._tasks:
                place.give_up()
        return accepted

    def _begin_accepted(self, record: Turn, queued: Turn, given: TurnInput, place: Place) -> None:
        """Run a turn that was just accepted, at once if its record says that it runs."""
        stages = [queued] if record.status == "queued" else [queued, record]
        shown = TurnLog()
        shown.publish([Entry.of(n, "turn", stage) for n, stage in enumerate(stages, start=1)])
        taken = None
        if record.status == "running":
            stored = StoredTurn(
                record,
                given,
                message_may_be_stored=False,
                run=1,
                recoveries=0,
                cancel_requested=False,
                last=shown.last,
            )
            taken = TakenTurn(stored, was_running=False)
        self._runner.process.observer.accepted(queued)
        self._begin(record, place, shown, taken)

    async def _queue_again(
        self, session: OdaSession, queued: Turn, store: Callable[[], Awaitable[int]]
    ) -> int:
        place = session.reserve()
        self._arriving.add(queued.turn_id)
        try:
            last = await store()
            shown = TurnLog(last - 1)
            shown.publish([Entry.of(last, "turn", queued)])
            self._runner.process.observer.accepted(queued)
            self._begin(queued, place, shown)
        finally:
            self._arriving.discard(queued.turn_id)
            if queued.turn_id not in self._tasks:
                place.give_up()
        return last

    def _begin(
        self,
        turn: Turn,
        place: Place | None,
        shown: TurnLog | None = None,
        taken: TakenTurn | None = None,
    ) -> None:
        turn_id = turn.turn_id
        task = asyncio.create_task(self._run(turn, place, shown, taken), name=turn_id)
        self._tasks[turn_id] = task
        if shown is not None:
            self._logs[turn_id] = shown

        def forget(_: "asyncio.Task[None]") -> None:
            if self._tasks.get(turn_id) is task:
                del self._tasks[turn_id]
                self._logs.pop(turn_id, None)
            if shown is not None and not shown.ended:
                shown.abandon()
            if place is not None:  # a task that is cancelled at once never enters it
                place.give_up()

        task.add_done_callback(forget)

    async def _run(
        self,
        turn: Turn,
        place: Place | None,
        shown: TurnLog | None,
        taken: TakenTurn | None,
    ) -> None:
        """Wait for the turn's place and version, and run it unless it has ended meanwhile."""
        turn_id = turn.turn_id
        async with nullcontext(None) if place is None else place as entered:
            if turn.pinned and not await self._has_version(turn):
                await self._wait_for_version(turn)
            while True:
                try:
                    if taken is None:
                        taken = await once_stored(self._clock, self._store.take, turn_id)
                    if taken is not None:
                        await self._runner.run(taken, place=entered, log=shown)
                    return
                except Exception as error:  # the next run counts this one as a death
                    log.error("run_broken", turn_id=turn_id, exc_info=error)
                if shown is not None:
                    del self._logs[turn_id]
                    shown.abandon()
                taken = shown = None
                await self._clock.sleep(_AGAIN_S)

    async def _wait_for_version(self, turn: Turn) -> None:
        """Return when a pinned turn may run here, or is to be cancelled."""
        log.warning("turn_waits_for_version", turn_id=turn.turn_id, version=turn.agent_version)
        while not await self._has_version(turn):
            stored = await once_stored(self._clock, self._store.stored, turn.turn_id)
            if stored.cancel_requested:
                return
            await self._clock.sleep(_LOOK_FOR_CANCELS_EVERY_S)

    async def _has_version(self, turn: Turn) -> bool:
        with suppress(AgentNotFoundError):
            return (await self._definitions.version(turn.app)).name == turn.agent_version
        return False

    async def _cancel_running(self, turn: Turn) -> None:
        turn_id = turn.turn_id
        if run := self._runner.runs.get(turn_id):
            run.cancel()
        else:
            await self._store.request_cancel(turn_id)
            with suppress(ConfigurationError):  # the process that runs it looks for such wishes
                await self.start()
                async with self._recovering:
                    await self._go_on([turn_id])
        await self.wait(turn_id)

    def _show_end(self, turn_id: str, last: Entry) -> None:
        if (shown := self._logs.get(turn_id)) is not None:
            shown.publish([last], ended=True)
        if (task := self._tasks.get(turn_id)) is not None:
            task.cancel()

    def log_of(self, turn_id: str) -> TurnLog | None:
        return self._logs.get(turn_id) or self._runner.log_of(turn_id)

    async def _end_cancelled(self) -> None:
        if not self._runner.runs:
            return
        for turn_id in await self._store.cancels_requested():
            if run := self._runner.runs.get(turn_id):
                run.cancel()
