"""The costs that the simulation starts from, measured on a real server and a filled database."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import psycopg

from oda.database.database import open_database
from oda.database.listener import Listener
from oda.turn.patience import CHANNEL
from oda.turn.remote import ENTRIES, PREVIEWS, WANTED
from oda.turn.store import TurnStore
from scripts.benchmark.model_stub import model_stub
from scripts.benchmark.postgres import Database, fresh_database
from scripts.benchmark.servers import OdaServeOnPostgres
from scripts.scaling.model import Costs

_SESSIONS_AT_ONCE, _TURNS_OF_EACH = 8, 20
_ENTRIES, _EVENTS = 5, 4
"""Entries and events of a stored turn."""
_WAITING_JOBS = 10_000
_FETCHES = 20
_LISTENERS, _SENT = 60, 3_000
_WRITERS, _COMMIT_FOR_S = 8, 3.0
_SWEEPS, _SWEPT_AT_ONCE = 20, 100
_RETENTION = timedelta(days=30)
_CONNECTIONS = 17
_PAUSE_S = 1.0
"""For what a turn leaves to be done after it."""

_FILL = (
    """
    INSERT INTO sessions (app_name, user_id, id, state, create_time, update_time)
    SELECT 'calculator', 'user-' || n %% 10000, 'filled-' || n, '{}', now(), now()
    FROM generate_series(1, %(sessions)s) AS n
    """,
    """
    INSERT INTO oda_turns (
        turn_id, app, user_id, session_id, position, interrupts, agent, status, attempts, reply,
        model_calls, input_tokens, output_tokens, pending_input, metadata, created_at, finished_at,
        input, message_may_be_stored, recoveries, cancel_requested
    )
    SELECT 'turn_' || md5(n::text), 'calculator', 'user-' || n %% 10000, 'filled-' || n, 1, false,
        'calculator', 'succeeded', 1, repeat('x', 100), 2, 200, 40, '[]', '{}',
        now() - interval '40 days', now() - interval '40 days',
        json_build_object('message', repeat('x', 100)), true, 0, false
    FROM generate_series(1, %(sessions)s) AS n
    """,
    """
    INSERT INTO oda_turn_entries (turn_id, number, kind, event_id, data)
    SELECT 'turn_' || md5(n::text), number, 'turn', null, repeat('x', 80)
    FROM generate_series(1, %(sessions)s) AS n, generate_series(1, %(entries)s) AS number
    """,
    """
    INSERT INTO events (id, app_name, user_id, session_id, invocation_id, timestamp, event_data)
    SELECT md5(n::text || '-' || number), 'calculator', 'user-' || n %% 10000, 'filled-' || n,
        'turn_' || md5(n::text), now() - interval '40 days',
        json_build_object('x', repeat('x', 300))
    FROM generate_series(1, %(sessions)s) AS n, generate_series(1, %(events)s) AS number
    """,
)
_WAIT = """
    INSERT INTO procrastinate_jobs (queue_name, task_name, lock, args)
    SELECT 'filled', 'run_turn', 'filled-' || n, '{}' FROM generate_series(1, %(jobs)s) AS n
"""
_FETCH = "SELECT id FROM procrastinate_fetch_job_v2(ARRAY['filled'], null)"
_SEND = """
DO $$ BEGIN
    FOR n IN 1..%d LOOP
        PERFORM pg_notify('oda_entries', 'turn_' || md5(n::text) || ' 3');
        COMMIT;
    END LOOP;
END $$
"""
_NOTIFY = "SELECT pg_notify('oda_entries', 'turn_' || md5(random()::text) || ' 3')"

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Turns:
    """What a turn costs."""

    process_cpu_s: float
    database_cpu_s: float
    notifications: float
    bytes_stored: float


@dataclass(frozen=True)
class Measured:
    """Results of the measurement."""

    empty: Turns
    filled: Turns
    sessions: int
    """In the filled database."""
    costs: Costs


async def measured(server_url: str, directory: Path, *, sessions: int, tell: Tell) -> Measured:
    """Measure all costs on a temporary database.

    Args:
        server_url: A PostgreSQL server on this machine.
        sessions: Number of sessions to fill the database with.

    Raises:
        RuntimeError: the server under test does not start.
        TurnFailed: one of its turns fails.
    """
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(fresh_database(server_url))
        tell("turns on an empty database")
        async with _served(database, directory / "empty") as target:
            empty = await _turns(target, database)
        tell(f"filling the database with {sessions:,} sessions")
        await _fill(database, sessions)
        tell("turns on the filled database")
        async with _served(database, directory / "filled") as target:
            filled = await _turns(target, database)
        tell("notifications")
        heard_cpu_s = await _heard(database)
        alone = await _sent(database, 0)
        sent_cpu_s = max(0.0, await _sent(database, _LISTENERS) - alone) / _LISTENERS
        costs = Costs(
            process_cpu_s=filled.process_cpu_s,
            database_cpu_s=filled.database_cpu_s,
            commits=filled.notifications,
            commits_per_s=await _commits_per_s(database),
            notifications=filled.notifications,
            heard_cpu_s=heard_cpu_s,
            sent_cpu_s=sent_cpu_s,
            bytes_stored=filled.bytes_stored,
            deleted_per_s=await _deleted_per_s(database),
            fetch_s=await _fetch_s(database),
            waiting=_WAITING_JOBS,
            connections=_CONNECTIONS,
        )
        return Measured(empty, filled, sessions, costs)


@asynccontextmanager
async def _served(database: Database, directory: Path) -> AsyncIterator[OdaServeOnPostgres]:
    work = directory / "work"
    work.mkdir(parents=True)
    async with model_stub(directory) as model:
        target = OdaServeOnPostgres(model_base=model.openai_base, work=work, database=database)
        try:
            await target.start()
            await target.turn(await target.new_session())
            yield target
        finally:
            await target.stop()


async def _turns(target: OdaServeOnPostgres, database: Database) -> Turns:
    sessions = [await target.new_session() for _ in range(_SESSIONS_AT_ONCE)]
    heard = 0

    def hear(_: str) -> None:
        nonlocal heard
        heard += 1

    async def talk(session: str) -> None:
        for _ in range(_TURNS_OF_EACH):
            await target.turn(session)

    async with _listening(database, hear):
        size = await database.size()
        process, backends = target.process.cpu_s(), await database.cpu_s()
        await asyncio.gather(*map(talk, sessions))
        await asyncio.sleep(_PAUSE_S)
        count = _SESSIONS_AT_ONCE * _TURNS_OF_EACH
        return Turns(
            (target.process.cpu_s() - process) / count,
            (await database.cpu_s() - backends) / count,
            heard / count,
            (await database.size() - size) / count,
        )


@asynccontextmanager
async def _listening(database: Database, hear: Callable[[str], None]) -> AsyncIterator[None]:
    """Listen as a process does."""
    connected = asyncio.Event()
    handlers = dict.fromkeys((CHANNEL, ENTRIES, PREVIEWS, WANTED), hear)
    async with Listener(database.url, handlers, connected.set):
        await connected.wait()
        yield


async def _fill(database: Database, sessions: int) -> None:
    given = {"sessions": sessions, "entries": _ENTRIES, "events": _EVENTS}
    async with _connection(database) as connection:
        for statement in _FILL:
            await connection.execute(statement, given)
        await connection.execute("VACUUM ANALYZE")


async def _heard(database: Database) -> float:
    """Return the CPU seconds of a process for a notification."""
    left = _SENT
    all_heard = asyncio.Event()

    def hear(_: str) -> None:
        nonlocal left
        left -= 1
        if not left:
            all_heard.set()

    async with _listening(database, hear), _connection(database) as connection:
        began = time.process_time()
        await connection.execute(_SEND % _SENT)
        await all_heard.wait()
        return (time.process_time() - began) / _SENT


async def _sent(database: Database, listeners: int) -> float:
    """Return the CPU seconds of PostgreSQL for a notification that so many connections hear."""
    async with AsyncExitStack() as stack:
        for _ in range(listeners):
            listening = await stack.enter_async_context(_connection(database))
            await listening.execute(f"LISTEN {ENTRIES}")
        sender = await stack.enter_async_context(_connection(database))
        before = await database.cpu_s()
        await sender.execute(_SEND % _SENT)
        await asyncio.sleep(_PAUSE_S)
        return (await database.cpu_s() - before) / _SENT


async def _commits_per_s(database: Database) -> float:
    """Return how many transactions that write and notify are committed in a second."""
    async with _connection(database) as connection:
        await connection.execute("CREATE TABLE written (n integer)")

    async def write(until: float) -> int:
        count = 0
        async with _connection(database) as connection:
            while time.perf_counter() < until:
                async with connection.transaction():
                    await connection.execute("INSERT INTO written VALUES (1)")
                    await connection.execute(_NOTIFY)
                count += 1
        return count

    until = time.perf_counter() + _COMMIT_FOR_S
    return sum(await asyncio.gather(*(write(until) for _ in range(_WRITERS)))) / _COMMIT_FOR_S


async def _fetch_s(database: Database) -> float:
    """Return the median time to fetch a job of many."""
    times = []
    async with _connection(database) as connection:
        await connection.execute(_WAIT, {"jobs": _WAITING_JOBS})
        await connection.execute("ANALYZE procrastinate_jobs")
        for _ in range(_FETCHES):
            began = time.perf_counter()
            await connection.execute(_FETCH)
            times.append(time.perf_counter() - began)
    return median(times)


async def _deleted_per_s(database: Database) -> float:
    """Return how many old turns are deleted in a second, in batches as a process does it."""
    async with open_database(database.url) as opened:
        store, now = TurnStore(opened), datetime.now(UTC)
        began = time.perf_counter()
        for _ in range(_SWEEPS):
            await store.forget_old(now, _RETENTION)
        return _SWEEPS * _SWEPT_AT_ONCE / (time.perf_counter() - began)


@asynccontextmanager
async def _connection(database: Database) -> AsyncIterator[psycopg.AsyncConnection]:
    url = urlsplit(database.url)._replace(scheme="postgresql").geturl()
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        yield connection
