"""This process as a node: its lease, and the take-over of turns from dead nodes."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta

from oda.agent.outcome import TurnOutcome
from oda.clock import utc
from oda.errors import CrashLoopError, OdaError
from oda.session.oda_session import OdaSession
from oda.telemetry import get_logger
from oda.turn.record import TurnError
from oda.turn.rows import StoredTurn
from oda.turn.run import broken, end
from oda.turn.runs import Runs

log = get_logger(__name__)

_CHECKS_PER_LEASE = 3
_AGAIN_S = 0.25
"""Pause after a failure."""
_CLEANING_EVERY_S = 60.0
_EXPIRED = TurnError(code="input_expired", message="Nobody answered in time.", retryable=False)


class Node:
    """Renews the lease, cancels turns for other nodes, and takes over turns of dead nodes.

    It starts with the first turn that is accepted or taken over.
    """

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._store = runs.store
        self._settings = runs.settings.turn
        self._recovering = False
        self._closing = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._adopts_from = float("-inf")
        """Time of the event loop."""
        self._registering = asyncio.Lock()
        self._adopting = asyncio.Lock()

    async def register(self) -> None:
        """Take the lease and start the periodic tasks."""
        async with self._registering:
            if self._tasks:
                return
            await self._store.renew_lease(self._lease)
            often_s = self._settings.lease_s / _CHECKS_PER_LEASE
            self._tasks = {
                self._repeat(self._renew_lease, often_s),
                self._repeat(self._cancel_requested, often_s),
                self._repeat(self._adopt_orphans, often_s),
                self._repeat(self._clean, _CLEANING_EVERY_S, first_after_s=often_s),
            }

    async def recover(self) -> None:
        """Take over the turns of dead nodes, now and periodically."""
        self._recovering = True
        await self.register()
        await self._take_over()

    async def recover_session(self, session: OdaSession) -> Sequence[str]:
        """Take over the turns of a session from dead nodes; return their ids in order."""
        await self.register()
        orphans = await self._store.orphans(session.key)
        return [turn_id for turn_id in orphans if await self.adopt(turn_id)]

    async def close(self) -> None:
        """Wait for running turns for the grace time, and release the rest."""
        self._closing = True
        if tasks := self._runs.tasks:
            await asyncio.wait(tasks, timeout=self._settings.grace_s)
        if not self._tasks:
            return
        tasks = {*self._runs.tasks, *self._tasks}
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        try:
            await self._store.release()
        except Exception as error:
            log.warning("turns_not_released", exc_info=error)

    async def adopt(self, turn_id: str) -> bool:
        """Take a turn over; return False if a living node has it or it has ended."""
        async with self._adopting:
            if self._closing or self._runs.has(turn_id):
                return False
            stored = await self._store.adopt(turn_id)
            if stored is not None:
                await self._go_on(stored)
            return stored is not None

    @property
    def _lease(self) -> timedelta:
        return timedelta(seconds=self._settings.lease_s)

    def _repeat(
        self, work: Callable[[], Awaitable[None]], every_s: float, *, first_after_s: float = 0.0
    ) -> "asyncio.Task[None]":
        """Run something periodically in a task of its own, so that slow work delays nothing."""

        async def repeat() -> None:
            await asyncio.sleep(first_after_s or every_s)
            while True:
                pause_s = every_s
                try:
                    await work()
                except Exception as error:
                    log.warning("housekeeping_failed", work=work.__name__, exc_info=error)
                    pause_s = min(_AGAIN_S, every_s)
                await asyncio.sleep(pause_s)

        return asyncio.create_task(repeat(), name=f"oda turns: {work.__name__}")

    async def _renew_lease(self) -> None:
        if not await self._store.renew_lease(self._lease):
            # The database was away, perhaps for all: the others get the time to say that they live.
            self._adopts_from = asyncio.get_running_loop().time() + self._settings.lease_s

    async def _cancel_requested(self) -> None:
        for turn_id in await self._store.cancels_requested():
            if run := self._runs.get(turn_id):
                run.cancel()

    async def _adopt_orphans(self) -> None:
        if self._recovering and asyncio.get_running_loop().time() >= self._adopts_from:
            await self._take_over()

    async def _clean(self) -> None:
        now = utc(self._runs.clock)
        while await self._store.forget_old(now, timedelta(days=self._settings.retention_days)):
            pass
        limit = timedelta(seconds=self._settings.input_timeout_s)
        for turn in await self._store.waiting_since(now - limit):
            await self._runs.end_waiting(turn, "failed", _EXPIRED)
        await self._runs.sessions.expire()

    async def _take_over(self) -> None:
        """Take over the unfinished turns that no living node has, in order."""
        lost = [turn_id for turn_id in await self._store.owned() if not self._runs.has(turn_id)]
        for turn_id in (*await self._store.orphans(), *lost):
            try:
                await self.adopt(turn_id)
            except Exception as error:  # the others are not to wait for this one
                log.error("turn_not_taken_over", turn_id=turn_id, exc_info=error)

    async def _go_on(self, stored: StoredTurn) -> None:
        turn, runs = stored.turn, self._runs
        log.warning("turn_taken_over", turn_id=turn.turn_id, recoveries=stored.recoveries)
        try:
            session = await runs.sessions.get(turn.app, turn.user_id, turn.session_id)
        except OdaError as error:
            await self._end(stored, broken(turn, error, runs.clock))
            return
        if stored.cancel_requested:
            await session.withdraw(turn.turn_id)
            await self._end(stored, TurnOutcome("cancelled", ""))
            return
        running = turn.status == "running"
        recorded = await runs.recorded(turn.turn_id)
        run = runs.make(
            session,
            turn,
            stored.input,
            recorded,
            last=stored.last,
            begun=stored.begun,
            claimed=running,
            refused=self._crash_loop(stored),
        )
        if running:
            events = await session.events_of_turn(turn.turn_id)
            run.catch_up(events, discard_partial=recorded.partial)
        runs.observer.recovered(turn)
        runs.start(run, session.reserve_again())

    def _crash_loop(self, stored: StoredTurn) -> CrashLoopError | None:
        if stored.recoveries <= self._settings.max_recoveries:
            return None
        return CrashLoopError(
            f"The process died {stored.recoveries} times while this turn was running."
        )

    async def _end(self, stored: StoredTurn, outcome: TurnOutcome) -> None:
        live = self._runs.live_turn(stored.turn, stored.last)
        await end(live, outcome, self._runs.clock)
        self._runs.observer.ended(live.turn)
