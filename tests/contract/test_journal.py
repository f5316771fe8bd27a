"""Group commit: in order, few transactions, and one that fails does not hurt the others."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.exc import IntegrityError

from oda.database.engine import database_engine
from oda.database.journal import Journal, Operation, may_pass
from oda.errors import AgentStateError

pytestmark = pytest.mark.asyncio(loop_factories=["asyncio", "uvloop"])

PATIENCE_S = 20.0
MANY = 200


@pytest.fixture
async def engine(empty_database_url: str) -> AsyncIterator[Engine]:
    """With a table `lines` of unique numbers, in the order in which they were written."""
    engine = database_engine(empty_database_url)
    serial = "SERIAL" if engine.dialect.name == "postgresql" else "INTEGER"
    with engine.begin() as connection:
        connection.execute(
            text(f"CREATE TABLE lines (place {serial} PRIMARY KEY, number INTEGER UNIQUE)")
        )
    yield engine
    engine.dispose()


@pytest.fixture
async def journal(engine: Engine) -> AsyncIterator[Journal]:
    async with asyncio.timeout(PATIENCE_S), Journal(engine) as journal:
        yield journal


def write(number: int, then: Callable[[], object] = lambda: None) -> Operation[int]:
    def operation(connection: Connection) -> int:
        connection.execute(text("INSERT INTO lines (number) VALUES (:n)"), {"n": number})
        then()
        return number

    return operation


def refuse() -> None:
    raise ValueError("refused")


async def numbers(engine: Engine) -> list[int]:
    with engine.connect() as connection:
        found = connection.execute(text("SELECT number FROM lines ORDER BY place"))
        return list(found.scalars())


@contextmanager
def commits(engine: Engine) -> Iterator[list[None]]:
    """Grows by one with each commit."""
    counted: list[None] = []

    def count(_: object) -> None:
        counted.append(None)

    event.listen(engine, "commit", count)
    yield counted
    event.remove(engine, "commit", count)


async def end_connections(engine: Engine) -> None:
    """What a restart of the server does to everybody else."""
    with engine.connect() as connection:
        connection.execute(
            text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )


async def test_result_comes_when_it_is_committed(journal: Journal, engine: Engine) -> None:
    assert await journal.run(write(7)) == 7
    assert await numbers(engine) == [7]


async def test_what_is_written_together_shares_a_transaction(
    journal: Journal, engine: Engine
) -> None:
    with commits(engine) as counted:
        results = await asyncio.gather(*(journal.run(write(n)) for n in range(MANY)))
    assert results == list(range(MANY))
    assert await numbers(engine) == list(range(MANY))
    assert len(counted) <= 3


async def test_deferred_writes_wait_for_each_other_and_keep_the_order(
    journal: Journal, engine: Engine
) -> None:
    with commits(engine) as counted:
        deferred = [journal.defer(write(n)) for n in range(MANY)]
        assert await asyncio.gather(*deferred) == list(range(MANY))
    assert await numbers(engine) == list(range(MANY))
    assert len(counted) <= 3


async def test_what_was_deferred_is_written_before_what_is_run_after_it(
    journal: Journal, engine: Engine
) -> None:
    first = journal.defer(write(1))
    await journal.run(write(2))
    assert first.done()
    assert await numbers(engine) == [1, 2]


async def test_a_deferred_write_waits_no_longer_than_the_least_patient(journal: Journal) -> None:
    deferred = [journal.defer(write(n), within_s=s) for n, s in enumerate((3600.0, 0.0, 0.0, 60.0))]
    assert await asyncio.gather(*deferred) == [0, 1, 2, 3]


async def test_hurry_writes_what_was_deferred(journal: Journal, engine: Engine) -> None:
    first = journal.defer(write(1))
    journal.hurry()
    await first
    assert await numbers(engine) == [1]


@pytest.mark.parametrize("position", [0, 5, 9])
async def test_one_that_fails_fails_alone_and_leaves_nothing(
    journal: Journal, engine: Engine, position: int
) -> None:
    operations = [write(n, refuse) if n == position else write(n) for n in range(10)]
    results = await asyncio.gather(*map(journal.run, operations), return_exceptions=True)
    assert isinstance(results[position], ValueError)
    others = [n for n in range(10) if n != position]
    assert [one for one in results if isinstance(one, int)] == others
    assert await numbers(engine) == others


async def test_what_the_database_refuses_fails_alone(journal: Journal, engine: Engine) -> None:
    results = await asyncio.gather(
        *(journal.run(write(n)) for n in (1, 2, 1, 3)), return_exceptions=True
    )
    assert isinstance(results[2], IntegrityError)
    assert not may_pass(results[2])
    assert await numbers(engine) == [1, 2, 3]


async def test_only_one_that_failed_alone_is_refused_after_another(
    journal: Journal, engine: Engine
) -> None:
    with pytest.raises(ValueError, match="refused"):
        await journal.run(write(1, refuse))
    assert await journal.run(write(1)) == 1
    assert await numbers(engine) == [1]


async def test_who_does_not_wait_any_more_disturbs_nobody(journal: Journal, engine: Engine) -> None:
    leaving = asyncio.create_task(journal.run(write(1)))
    staying = asyncio.create_task(journal.run(write(2)))
    await asyncio.sleep(0)
    leaving.cancel()
    assert await staying == 2
    assert leaving.cancelled()
    assert await numbers(engine) == [1, 2]


async def test_closing_writes_what_waits_and_refuses_what_comes_then(engine: Engine) -> None:
    async with asyncio.timeout(PATIENCE_S):
        async with Journal(engine) as journal:
            deferred = [journal.defer(write(n)) for n in range(5)]
            running = asyncio.create_task(journal.run(write(5)))
            await asyncio.sleep(0)
        assert [one.result() for one in deferred] == [0, 1, 2, 3, 4]
        assert await running == 5
    assert await numbers(engine) == [0, 1, 2, 3, 4, 5]
    with pytest.raises(AgentStateError):
        journal.defer(write(6))
    with pytest.raises(AgentStateError):
        await journal.run(write(6))


async def test_what_a_write_brings_about_while_the_journal_closes_is_written_or_refused(
    engine: Engine,
) -> None:
    async with asyncio.timeout(PATIENCE_S):
        async with Journal(engine) as journal:
            chained: list[asyncio.Future[int]] = []

            def go_on(_: object) -> None:
                with contextlib.suppress(AgentStateError):
                    chained.append(journal.defer(write(2)))

            journal.defer(write(1)).add_done_callback(go_on)
        assert all(one.done() for one in chained)
    assert await numbers(engine) == [1, 2][: 1 + len(chained)]


@pytest.mark.parametrize(
    "empty_database_url", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True
)
async def test_lost_connection_is_replaced(journal: Journal, engine: Engine) -> None:
    for number in range(0, 12, 4):
        await journal.run(write(number))
        await end_connections(engine)
        results = await asyncio.gather(
            *(journal.run(write(number + more)) for more in (1, 2, 3)), return_exceptions=True
        )
        assert results == [number + 1, number + 2, number + 3]
    assert await numbers(engine) == list(range(12))


@pytest.mark.parametrize("empty_database_url", ["sqlite"], indirect=True)
async def test_locked_database_fails_what_waits_at_once_and_not_one_after_the_other(
    empty_database_url: str, engine: Engine
) -> None:
    impatient = database_engine(empty_database_url)
    begun: list[None] = []

    def count(connection: object, cursor: object, statement: str, *_: object) -> None:
        if statement == "BEGIN IMMEDIATE":
            begun.append(None)

    event.listen(
        impatient,
        "connect",
        lambda connection, _: connection.execute("PRAGMA busy_timeout=50"),
    )
    event.listen(impatient, "before_cursor_execute", count)
    try:
        async with asyncio.timeout(PATIENCE_S), Journal(impatient) as journal:
            with engine.connect() as holder:
                holder.exec_driver_sql("BEGIN EXCLUSIVE")
                results = await asyncio.gather(
                    *(journal.run(write(n)) for n in range(20)), return_exceptions=True
                )
                holder.rollback()
            assert all(isinstance(one, Exception) and may_pass(one) for one in results)
            assert len(begun) <= 2
            assert await journal.run(write(1)) == 1
    finally:
        impatient.dispose()
    assert await numbers(engine) == [1]
