"""procrastinate as a long-lived process needs it: outages and lost jobs end no worker."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, LiteralString, TypeVar

from procrastinate import PsycopgConnector, RetryDecision
from procrastinate.exceptions import ConnectorException, JobAborted
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager, NotificationCallback
from procrastinate.retry import BaseRetryStrategy
from psycopg import InterfaceError, OperationalError
from psycopg_pool import AsyncConnectionPool

from oda.database.listener import libpq_url
from oda.database.postgres import TRANSPORT, ImpatientAsyncConnection
from oda.telemetry import get_logger

log = get_logger(__name__)

T = TypeVar("T")

CHANNEL = "procrastinate_any_queue_v1"
"""Where procrastinate tells of new jobs, and of those to be aborted."""
_POOL_SIZE = 4
_AGAIN_WITHIN_S = 1.0
"""A fetch this long after the one before is not the one that follows each job."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 2.0
_PASSING = OperationalError | InterfaceError
_LONG_AGO = datetime.fromtimestamp(0, UTC)
"""A time that has come by the clock of every machine."""


class PatientConnector(PsycopgConnector):
    """Repeats queries while the database cannot be reached."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url
        self.patient = True
        self.in_doubt = False
        """Whether a job may have been fetched without our knowing."""

    async def execute_query_async(self, query: LiteralString, **arguments: Any) -> None:
        await self._patiently(super().execute_query_async, query, arguments)

    async def execute_query_one_async(
        self, query: LiteralString, **arguments: Any
    ) -> dict[str, Any]:
        return await self._patiently(super().execute_query_one_async, query, arguments)

    async def execute_query_all_async(
        self, query: LiteralString, **arguments: Any
    ) -> list[dict[str, Any]]:
        return await self._patiently(super().execute_query_all_async, query, arguments)

    async def _patiently(
        self,
        execute: Callable[..., Awaitable[T]],
        query: LiteralString,
        arguments: Mapping[str, Any],
    ) -> T:
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                return await execute(query, **arguments)
            except ConnectorException as error:
                if not (self.patient and isinstance(error.__cause__, _PASSING)):
                    raise
                log.debug("queue_not_reached", again_in_s=pause_s, exc_info=error)
                self.in_doubt = True
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


class PatientJobs(JobManager):
    """Hears by the process's listener, and ends no job that another process has replaced."""

    def __init__(self, connector: PatientConnector) -> None:
        super().__init__(connector)
        self.heard: asyncio.Queue[Any] = asyncio.Queue()
        """Notifications that the worker has not been told of."""
        self.queues: frozenset[str] = frozenset()
        """Queues of which jobs are fetched; they change while the worker runs."""
        self._fetched = asyncio.Event()
        self._to_fetch = 0
        """How many jobs may wait, by what was heard."""
        self._looks, self._looked = 1, 0
        """How often to look for jobs that nothing was heard of, and how often that was done."""
        self._asked_at = -math.inf

    def look(self) -> None:
        """Fetch until no job is left."""
        self._looks += 1
        self.heard.put_nowait({"type": "job_inserted", "job_id": 0})

    async def listen_for_jobs(
        self, *, on_notification: NotificationCallback, queues: Iterable[str] | None = None
    ) -> None:
        while True:
            notification = await self.heard.get()
            self._to_fetch += 1
            await on_notification(channel=CHANNEL, notification=notification)
            if not self._fetched.is_set():  # a worker forgets what it is told while it fetches
                await self._fetched.wait()
                await on_notification(channel=CHANNEL, notification=notification)

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:
        """Return the next job of `queues`.

        A worker asks again after each job. Unless there may be another one, the database is not
        asked: one notification comes for each job that can be fetched.
        """
        expected, looks = self._to_fetch, self._looks
        is_poll = time.monotonic() - self._asked_at > _AGAIN_WITHIN_S
        if not (expected or looks > self._looked or is_poll):
            return None
        self._fetched.clear()
        try:
            job = await super().fetch_job(sorted(self.queues), worker_id)
        finally:
            self._fetched.set()
        self._asked_at = time.monotonic()
        if job is None:
            self._to_fetch -= expected
            self._looked = looks
        else:
            self._to_fetch -= min(expected, 1)
        return job

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        with _replaced(job):
            await super().finish_job(job, status, delete_job)

    async def retry_job(self, job: Job, *args: Any, **options: Any) -> None:
        with _replaced(job):
            await super().retry_job(job, *args, **options)


@contextmanager
def _replaced(job: Job) -> Iterator[None]:
    try:
        yield
    except ConnectorException as error:
        log.info("job_replaced", job_id=job.id, exc_info=error)


class GivenBack(BaseRetryStrategy):
    """Puts a job back that its worker had no time to end; others start it at once.

    Args:
        priority: Priority from then on.
    """

    def __init__(self, priority: int) -> None:
        self._priority = priority

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        if not isinstance(exception, JobAborted):
            return None
        return RetryDecision(retry_at=_LONG_AGO, priority=self._priority)


def queue_pool(url: str) -> "AsyncConnectionPool[Any]":
    """Return a pool, not opened: single statements, which a pooler in between may spread."""
    return AsyncConnectionPool(
        libpq_url(url),
        connection_class=ImpatientAsyncConnection,
        kwargs={"autocommit": True, "prepare_threshold": None, **TRANSPORT},
        min_size=1,
        max_size=_POOL_SIZE,
        timeout=4.0,
        open=False,
    )
