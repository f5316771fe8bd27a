"""The queue of jobs that run turns on any process: procrastinate, in the turns' own database."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass

from procrastinate import App, JobContext, SyncPsycopgConnector
from procrastinate.exceptions import ConnectorException, NoResult
from procrastinate.job_context import AbortReason
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager
from procrastinate.worker import Worker
from sqlalchemy import Connection, text

from oda.telemetry import get_logger
from oda.turn.patience import (
    FIRST_PAUSE_S,
    LONGEST_PAUSE_S,
    GivenBack,
    PatientConnector,
    PatientJobs,
    queue_pool,
)
from oda.turn.record import Turn
from oda.turn.rows import key_of

log = get_logger(__name__)

TASK = "run_turn"
_NORMAL, _URGENT, _AGAIN = 0, 1, 2
"""Priorities of jobs; among those of a session, the highest goes first."""
_LONGEST_QUEUE_NAME = 39
"""Bytes; a channel is named after the queue, and PostgreSQL allows it 63."""
_POLLED_EVERY_S = 30.0
"""How often a worker looks for jobs in case that a notification was lost."""

_LOST = text(
    """
    WITH job AS (
        SELECT job.id, job.status = 'todo' OR (
            job.status = 'doing'
            AND worker.last_heartbeat >= now() - :silent_s * interval '1s'
            AND (job.id = ANY(:running) OR worker.id IS DISTINCT FROM :doubted)
        ) IS TRUE AS lives
        FROM procrastinate_jobs AS job
        LEFT JOIN procrastinate_workers AS worker ON worker.id = job.worker_id
        WHERE job.task_name = :task
    ), turn AS (
        SELECT turn_id, job_id, position
        FROM oda_turns WHERE finished_at IS NULL AND status IN ('queued', 'running')
    )
    SELECT turn.turn_id, coalesce(turn.job_id, job.id) AS job_id
    FROM turn FULL JOIN job ON job.id = turn.job_id
    WHERE job.lives IS NOT TRUE
    ORDER BY turn.position
    """
)
"""Unfinished turns without a job that somebody will run, and such jobs without a turn."""
_UNPIN = text(
    "UPDATE procrastinate_jobs SET queue_name = :queue"
    " WHERE id = :id AND status = 'todo' AND queue_name <> :queue"
)
_DROP = text("DELETE FROM procrastinate_jobs WHERE id = :id")
_LENGTH = text(
    """
    SELECT count(*) FILTER (WHERE status = 'todo') AS waiting,
        count(*) FILTER (WHERE status = 'doing') AS running,
        (SELECT extract(epoch FROM now() - min(event.at))
            FROM procrastinate_jobs AS job
            JOIN procrastinate_events AS event ON event.job_id = job.id
            WHERE job.status = 'todo' AND event.type = 'deferred')::float AS oldest_seconds
    FROM procrastinate_jobs WHERE task_name = :task AND status IN ('todo', 'doing')
    """
)


@dataclass(frozen=True)
class QueueLength:
    """Turns that wait or run, on all processes."""

    waiting: int
    running: int
    oldest_seconds: float
    """Time since the one that has waited longest was accepted; 0 without any."""


class JobQueue:
    """Adds jobs in the store's transactions, and runs those that this process gets.

    Args:
        url: URL of the database.
        silent_s: Time without a heartbeat after which a worker counts as dead.
    """

    def __init__(self, url: str, *, silent_s: float) -> None:
        self._silent_s = silent_s
        self._beats_every_s = silent_s / 2.5
        self._connector = PatientConnector(url)
        self._app = App(connector=self._connector)
        self._jobs = self._app.job_manager = PatientJobs(self._connector)
        self._added = JobManager(SyncPsycopgConnector())
        """Adds jobs on connections that it is given."""
        self._worker: Worker | None = None
        self._working: asyncio.Task[None] | None = None
        self._running: set[int] = set()
        """Jobs that have begun here."""

    async def open(self) -> None:
        pool = queue_pool(self._connector.url)
        await pool.open()
        await self._connector.open_async(pool)

    async def close(self) -> None:
        await self._connector.pool.close()

    # --- jobs of a transaction: `oda.turn.store.Jobs`

    def add(
        self, connection: Connection, turn: Turn, *, urgent: bool, lost: int | None = None
    ) -> int:
        if lost is not None:
            self.drop(connection, lost)
        job = Job(
            queue=queue_of(turn.app, turn.agent_version if turn.pinned else None),
            priority=_AGAIN if lost or turn.status == "running" else _URGENT if urgent else _NORMAL,
            lock="\n".join(key_of(turn)),
            queueing_lock=None,
            task_name=TASK,
            task_kwargs={"turn_id": turn.turn_id},
        )
        added = self._added.defer_job(job, connection.connection.driver_connection)
        assert added.id is not None
        return added.id

    def drop(self, connection: Connection, job_id: int) -> None:
        """Delete a job that nobody runs."""
        connection.execute(_DROP, {"id": job_id})

    def abort(self, connection: Connection, job_id: int, app: str) -> None:
        own = connection.connection.driver_connection
        # procrastinate would drop a job that waits, and its turn must still be ended by a run.
        with suppress(NoResult):  # it has just ended, or was lost
            if self._added.get_job_status(job_id, own) is Status.DOING:
                self._added.cancel_job_by_id(job_id, abort=True, connection=own)
            else:
                connection.execute(_UNPIN, {"id": job_id, "queue": queue_of(app)})

    # --- the worker

    def work(
        self,
        run: Callable[[JobContext, str], Awaitable[None]],
        *,
        concurrency: int,
        grace_s: float,
    ) -> None:
        """Run the jobs of the queues that this process serves in the background, until `stop`.

        Args:
            run: Runs the turn of that id. It is cancelled when the job is aborted, and when it has
                not ended in time; see `is_shutdown`.
            concurrency: Maximum number of jobs at a time.
            grace_s: Time for running jobs to end before they are given back.
        """

        async def run_turn(context: JobContext, turn_id: str) -> None:
            job_id = context.job.id or 0
            self._running.add(job_id)
            try:
                await run(context, turn_id)
            finally:
                self._running.discard(job_id)

        self._app.task(name=TASK, pass_context=True, retry=GivenBack(_AGAIN))(run_turn)
        self._working = asyncio.create_task(self._work(concurrency, grace_s), name="oda worker")

    async def _work(self, concurrency: int, grace_s: float) -> None:
        """Run workers, one after the other: each ends when something unexpected has failed."""
        pause_s = FIRST_PAUSE_S
        while self._connector.patient:
            self._worker = Worker(
                self._app,
                concurrency=concurrency,
                install_signal_handlers=False,
                fetch_job_polling_interval=_POLLED_EVERY_S,
                abort_job_polling_interval=_POLLED_EVERY_S,
                shutdown_graceful_timeout=grace_s,
                update_heartbeat_interval=self._beats_every_s,
                stalled_worker_timeout=10 * self._silent_s,
                delete_jobs="always",
            )
            try:
                await self._worker.run()  # type: ignore[no-untyped-call]
            except Exception as error:
                log.warning("worker_failed", again_in_s=pause_s, exc_info=error)
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def stop(self) -> None:
        """Begin no more jobs, and wait for those that run; see `work`."""
        if self._working is not None:
            self._connector.patient = False
            if self._worker is not None:
                self._worker.stop()  # type: ignore[no-untyped-call]
            while not self._working.done():
                # procrastinate ends its heartbeat before the jobs, and others would take them over.
                if self._worker is not None and self._worker.worker_id is not None:
                    with suppress(ConnectorException):
                        await self._jobs.update_heartbeat(self._worker.worker_id)
                await asyncio.wait([self._working], timeout=self._beats_every_s)

    def serve(self, queues: Set[str]) -> None:
        """Fetch jobs of these queues from now on, and of no others."""
        if queues != self._jobs.queues:
            self._jobs.queues = frozenset(queues)
            self._jobs.look()

    def heard(self, payload: str) -> None:
        """Pass on what was heard on `CHANNEL`."""
        self._jobs.heard.put_nowait(json.loads(payload))

    def look(self) -> None:
        """Have the worker look for jobs."""
        self._jobs.look()

    async def notify(self, channel: str, payload: str) -> None:
        """Send a notification, at once."""
        await self._connector.execute_query_async(
            "SELECT pg_notify(%(channel)s, %(payload)s)", channel=channel, payload=payload
        )

    def lost(self, connection: Connection) -> Sequence[tuple[str | None, int | None]]:
        """Return unfinished turns whose jobs nobody will run, and those jobs, in order.

        A job without a turn has died after its turn had ended; it blocks the session.
        """
        worker_id = self._worker.worker_id if self._worker else None
        # A job that was fetched in a moment in which the connection was lost never begins.
        doubt, self._connector.in_doubt = self._connector.in_doubt, False
        given = {
            "silent_s": self._silent_s,
            "doubted": worker_id if doubt else None,
            "running": list(self._running),
            "task": TASK,
        }
        return [(row.turn_id, row.job_id) for row in connection.execute(_LOST, given)]


def length(connection: Connection) -> QueueLength:
    """Return how many turns wait and run, on all processes."""
    row = connection.execute(_LENGTH, {"task": TASK}).one()
    return QueueLength(row.waiting, row.running, row.oldest_seconds or 0.0)


def is_shutdown(context: JobContext) -> bool:
    """Return whether a job was cancelled because its worker stops."""
    return context.abort_reason() is AbortReason.SHUTDOWN


def queue_of(app: str, version: str | None = None) -> str:
    """Return the name of an app's queue, or of that of its turns which need a version."""
    name = app if version is None else f"{app}@{version}"
    if len(name.encode()) <= _LONGEST_QUEUE_NAME:
        return name
    return hashlib.sha256(name.encode()).hexdigest()[:_LONGEST_QUEUE_NAME]
