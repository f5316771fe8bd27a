"""The engine of many processes: jobs of a queue in PostgreSQL, which any of them runs."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial

from procrastinate import JobContext
from procrastinate.exceptions import JobAborted

from oda.database.listener import Listener
from oda.session.oda_session import OdaSession
from oda.telemetry import get_logger
from oda.turn.admission import Accepted
from oda.turn.engine import EngineParts, TurnEngine
from oda.turn.log import Entry, TurnLog
from oda.turn.patience import CHANNEL
from oda.turn.queue import JobQueue, QueueLength, is_shutdown, length, queue_of
from oda.turn.queue_schema import install
from oda.turn.record import Turn
from oda.turn.remote import ENTRIES, PREVIEWS, WANTED, Previewing, RemoteLogs
from oda.turn.rows import StoredTurn
from oda.turn.run import once_stored
from oda.turn.submission import Submission, TurnInput

log = get_logger(__name__)

_SWEEPS_PER_SILENCE = 2.5
_LOOK_FOR_APPS_EVERY_S = 5.0
_LATE, _LATE_AT_MOST = 1.5, 3
"""Intervals after which a sweep is late, and number of late ones in a row that change nothing."""


class Punctuality:
    """Tells whether what a sweep finds may be due to a standstill, of this process or of all.

    After one, the others must have had the time for a heartbeat.

    Args:
        every_s: Interval of the sweeps.
    """

    def __init__(self, every_s: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._every_s = every_s
        self._monotonic = monotonic
        self.begin()

    def begin(self) -> None:
        """Have the first interval begin now."""
        self._swept_at = self._monotonic()
        self._late_in_a_row = 0

    def is_late(self) -> bool:
        """Return whether a sweep must judge nobody. Called once in each sweep."""
        before, self._swept_at = self._swept_at, self._monotonic()
        late = self._swept_at - before > _LATE * self._every_s
        self._late_in_a_row = self._late_in_a_row + 1 if late else 0
        return 0 < self._late_in_a_row <= _LATE_AT_MOST


class DistributedEngine(TurnEngine):
    """Shares turns with the other processes of a PostgreSQL database; see `TurnEngine`.

    The queue runs the jobs of a session one at a time, in order. A worker that has been silent for
    too long is taken for dead: its turns get new jobs, and its runs may not write any more.
    """

    def __init__(self, parts: EngineParts) -> None:
        settings = parts.settings
        self._queue = JobQueue(parts.database.url, silent_s=settings.turn.silent_s)
        super().__init__(parts, self._queue)
        self._database = parts.database
        self._listen_url = settings.listen_url or parts.database.url
        self._works = not settings.accept_only
        self._apps = settings.apps
        self._remote = RemoteLogs(self._store, self._queue.notify)
        self._previewing = Previewing(self._queue.notify)
        self._open = AsyncExitStack()
        self._punctuality = Punctuality(self._sweeps_every_s)

    # --- the process

    async def _start(self) -> None:
        async with AsyncExitStack() as stack:
            await asyncio.to_thread(install, self._database.engine)
            await self._queue.open()
            stack.push_async_callback(self._queue.close)
            await stack.enter_async_context(self._remote)
            await stack.enter_async_context(self._previewing)
            handlers = {
                CHANNEL: self._queue.heard,
                ENTRIES: self._remote.heard_entries,
                PREVIEWS: self._remote.heard_preview,
                WANTED: self._previewing.heard_wish,
            }
            await stack.enter_async_context(
                Listener(self._listen_url, handlers, self._on_connected)
            )
            if self._works:
                await self._serve_apps()
                stack.push_async_callback(self._queue.stop)
                self._queue.work(
                    self._run_job,
                    concurrency=self._settings.concurrency,
                    grace_s=self._settings.grace_s,
                )
                self._punctuality.begin()
                self._repeat(self._replace_lost_jobs, self._sweeps_every_s)
                self._repeat(self._serve_apps, _LOOK_FOR_APPS_EVERY_S)
            self._open = stack.pop_all()

    async def recover(self) -> None:
        await self.start()

    async def recover_session(self, session: OdaSession) -> Sequence[str]:
        await self.start()
        return ()

    async def _stop(self) -> None:
        await self._open.aclose()

    def _on_connected(self) -> None:
        """Look again for what was not heard while there was no connection."""
        self._remote.refresh()
        self._queue.look()

    async def queue_length(self) -> QueueLength | None:
        return await self._database.read(length)

    @property
    def _sweeps_every_s(self) -> float:
        return self._settings.silent_s / _SWEEPS_PER_SILENCE

    async def _serve_apps(self) -> None:
        """Serve the apps that this process has, also those that have come since its start."""
        names = set(await asyncio.to_thread(self._definitions.names))
        queues = set()
        for app in names & set(self._apps) if self._apps else names:
            version = await self._definitions.version(app)
            queues |= {queue_of(app), queue_of(app, version.name)}
        self._queue.serve(queues)

    async def _replace_lost_jobs(self) -> None:
        lost = await self._database.read(self._queue.lost)
        if self._punctuality.is_late():
            return
        for turn_id, job_id in lost:
            if turn_id is None and job_id is not None:
                await self._database.journal.run(partial(self._queue.drop, job_id=job_id))
            elif turn_id is not None and await self._store.replace_job(turn_id, job_id):
                log.warning("job_lost", turn_id=turn_id, job_id=job_id)

    # --- turns

    async def _accept(
        self, session: OdaSession, submission: Submission, turn: Turn, given: TurnInput
    ) -> Accepted:
        log = self._remote.expect(turn.turn_id)
        accepted, is_new = await self._store_or_withdraw(submission, turn, given, starts=False)
        if is_new and turn.status == "queued":
            self._remote.begin(log, turn)
        return accepted

    async def _queue_again(
        self, session: OdaSession, queued: Turn, store: Callable[[], Awaitable[int]]
    ) -> int:
        last = await store()
        self._remote.forget(queued.turn_id)  # it has ended with the question
        return last

    async def _run_job(self, context: JobContext, turn_id: str) -> None:
        """Run a turn as a job; give it back if the worker stops before it ends."""
        running = asyncio.create_task(self._run(context, turn_id), name=turn_id)
        leaves = False
        while not running.done():
            try:
                await asyncio.wait([running])
            except asyncio.CancelledError:
                if leaves := is_shutdown(context):
                    run = self._runner.runs.get(turn_id)
                    running.cancel()
                    await asyncio.wait([running])
                    if run is not None and not run.live.log.ended:
                        await self._release(turn_id, run.live.run)
                elif run := self._runner.runs.get(turn_id):
                    run.cancel()
        if leaves:
            raise JobAborted
        running.result()

    async def _run(self, context: JobContext, turn_id: str) -> None:
        with self._previewing.turn(turn_id), self._remote.taking(turn_id):
            taken = await once_stored(self._clock, self._store.take, turn_id, job_id=context.job.id)
            if taken is not None:
                self._runner.process.observer.accepted(taken.stored.turn)
                shown = self._remote.leave_to_run(taken)
                self._previewing.begin(turn_id, shown)
                await self._runner.run(taken, log=shown)

    async def _cancel_running(self, turn: Turn) -> None:
        if run := self._runner.runs.get(turn.turn_id):
            run.cancel()
        else:
            await self._store.request_cancel(turn.turn_id)
        await self.wait(turn.turn_id)

    def _show_end(self, turn_id: str, last: Entry) -> None:
        """Readers hear of it from the database, like all others."""

    def log_of(self, turn_id: str) -> TurnLog | None:
        return self._runner.log_of(turn_id) or self._remote.get(turn_id)

    async def _open_log(self, stored: StoredTurn, last: int) -> TurnLog | None:
        if self._closing:
            return None
        await self.start()
        return await self._remote.open(stored, last)
