"""A PostgreSQL server that takes requests and answers none: nobody waits long, nothing is lost or
done twice, and it heals by itself."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from oda import OdaContext
from oda.cli.chaos.relay import Relay, open_relay
from oda.database.engine import database_engine
from oda.database.journal import Journal, Operation, may_pass
from oda.database.postgres import is_silence, unhurried
from oda.errors import UnavailableError
from tests.support.cues import cues
from tests.support.transcript import transcript
from tests.support.turn_node import APP, USER, node, submission

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.timeout(60),
    pytest.mark.parametrize("empty_database_url", ["postgres"], indirect=True),
]

MANY = 20


@pytest.fixture
async def relay(empty_database_url: str) -> AsyncIterator[Relay]:
    """In front of the server."""
    server = make_url(empty_database_url)
    async with open_relay(server.host or "127.0.0.1", server.port or 5432) as opened:
        yield opened


@pytest.fixture
def relayed(empty_database_url: str, relay: Relay) -> str:
    """URL of the database through the relay."""
    return (
        make_url(empty_database_url)
        .set(host="127.0.0.1", port=relay.port)
        .render_as_string(hide_password=False)
    )


# --- the journal


@pytest.fixture
async def direct(empty_database_url: str) -> AsyncIterator[Engine]:
    """Not through the relay; with a table of unique numbers."""
    engine = database_engine(empty_database_url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE lines (number INTEGER UNIQUE)"))
    yield engine
    engine.dispose()


@pytest.fixture
async def journal(direct: Engine, relayed: str) -> AsyncIterator[Journal]:
    """It has written a zero, so that it has a connection."""
    engine = database_engine(relayed)
    async with Journal(engine) as opened:
        await opened.run(write(0))
        yield opened
    engine.dispose()


def write(number: int) -> Operation[int]:
    def operation(connection: Connection) -> int:
        connection.execute(text("INSERT INTO lines VALUES (:n)"), {"n": number})
        return number

    return operation


async def numbers(engine: Engine) -> list[int]:
    with engine.connect() as connection:
        found = connection.execute(text("SELECT number FROM lines ORDER BY number"))
        return list(found.scalars())


@pytest.mark.parametrize("at", ["silent_after", "silent_before", "lose_answer_to"])
async def test_commit_in_doubt_is_looked_up(
    journal: Journal, direct: Engine, relay: Relay, at: str
) -> None:
    setattr(relay, at, b"COMMIT")
    writing = [asyncio.create_task(journal.run(write(n))) for n in range(1, MANY)]
    if at != "lose_answer_to":
        await relay.fell_silent.wait()
        relay.speak()
    assert await asyncio.gather(*writing) == list(range(1, MANY))
    assert await numbers(direct) == list(range(MANY))


async def test_what_comes_while_a_commit_is_in_doubt_fails_at_once_and_is_not_stored(
    journal: Journal, direct: Engine, relay: Relay
) -> None:
    relay.silent_after = b"COMMIT"
    writing = asyncio.create_task(journal.run(write(1)))
    await relay.fell_silent.wait()
    later = [asyncio.create_task(journal.run(write(n))) for n in (2, 3)]
    results = await asyncio.gather(*later, return_exceptions=True)
    assert all(isinstance(one, Exception) and may_pass(one) for one in results)
    assert not writing.done()
    relay.speak()
    assert await writing == 1
    assert await journal.run(write(4)) == 4
    assert await numbers(direct) == [0, 1, 4]


async def test_statement_that_is_not_answered_fails_and_nothing_of_it_is_stored(
    journal: Journal, direct: Engine, relay: Relay
) -> None:
    relay.fall_silent()
    results = await asyncio.gather(
        *(journal.run(write(n)) for n in range(1, MANY)), return_exceptions=True
    )
    assert all(isinstance(one, DBAPIError) and may_pass(one) for one in results)
    relay.speak()
    while True:
        try:
            assert await journal.run(write(1)) == 1
            break
        except DBAPIError as error:
            assert may_pass(error)
            await asyncio.sleep(0.1)
    assert await numbers(direct) == [0, 1]


async def test_journal_is_closed_while_a_commit_is_in_doubt(
    relayed: str, direct: Engine, relay: Relay
) -> None:
    engine = database_engine(relayed)
    async with Journal(engine) as journal:
        await journal.run(write(0))
        relay.silent_after = b"COMMIT"
        writing = asyncio.create_task(journal.run(write(1)))
        await relay.fell_silent.wait()
    with pytest.raises(DBAPIError):
        await writing
    engine.dispose()


async def test_question_for_the_transactions_id_that_is_not_answered_may_pass(
    journal: Journal, direct: Engine, relay: Relay
) -> None:
    relay.silent_before = b"pg_current_xact_id_if_assigned"
    with pytest.raises(DBAPIError) as raised:
        await journal.run(write(1))
    assert may_pass(raised.value)
    assert await numbers(direct) == [0]


async def test_locks_of_a_client_that_vanished_within_a_transaction_are_given_back(
    relayed: str, direct: Engine, relay: Relay
) -> None:
    vanishing = database_engine(relayed)
    connection = await asyncio.to_thread(vanishing.connect)
    await asyncio.to_thread(write(1), connection)
    relay.fall_silent()
    # A unique number waits for the transaction that has written the same one.
    async with Journal(direct) as journal:
        while True:
            try:
                assert await journal.run(write(1)) == 1
                break
            except DBAPIError as error:
                assert is_silence(error)
    assert await numbers(direct) == [1]
    connection.invalidate()
    connection.close()
    vanishing.dispose()


@pytest.mark.parametrize("opened", [Engine.connect, unhurried])
def test_only_long_work_is_done_without_a_limit_for_idle_transactions(
    empty_database_url: str, opened: Callable[[Engine], AbstractContextManager[Connection]]
) -> None:
    engine = database_engine(empty_database_url)
    with opened(engine) as connection:
        limit = connection.scalar(text("SHOW idle_in_transaction_session_timeout"))
    assert limit == ("0" if opened is unhurried else "10s")
    with engine.connect() as connection:
        limit = connection.scalar(text("SHOW idle_in_transaction_session_timeout"))
    assert limit == "10s"
    engine.dispose()


# --- turns


@pytest.fixture
def fresh_cues() -> Iterator[None]:
    cues.clear()
    yield


@pytest.fixture
async def oda(relayed: str, tmp_path: Path, fresh_cues: None) -> AsyncIterator[OdaContext]:
    async with node(relayed, tmp_path) as opened:
        await opened.turns.recover()
        yield opened


async def test_running_turn_waits_for_the_database_and_is_answered_once(
    oda: OdaContext, relay: Relay
) -> None:
    session = await oda.sessions.get_or_create(APP, USER, "s")
    held = (await oda.turns.submit(session, submission("hold a"))).turn
    await cues.begun["a"].wait()
    relay.fall_silent()
    cues.go["a"].set()
    refused = await asyncio.gather(
        *(oda.turns.submit(session, submission(f"refused {n}")) for n in range(3)),
        oda.turns.get(held.turn_id),
        oda.sessions.get_or_create(APP, USER, "other"),
        return_exceptions=True,
    )
    for error in refused:
        assert isinstance(error, Exception)
        assert isinstance(error, UnavailableError) or may_pass(error)
    relay.speak()
    assert (await oda.turns.wait(held.turn_id)).status == "succeeded"
    later = await accepted_at_last(oda, "later")
    assert (await oda.turns.wait(later)).status == "succeeded"
    lines = transcript(await session.history())
    assert [line for line in lines if "attempt" not in line] == [
        "user: hold a",
        "actor: hold a",
        "user: later",
        "actor: later",
    ]


async def accepted_at_last(oda: OdaContext, message: str) -> str:
    while True:
        try:
            session = await oda.sessions.get_or_create(APP, USER, "s")
            return (await oda.turns.submit(session, submission(message))).turn.turn_id
        except (DBAPIError, UnavailableError):
            await asyncio.sleep(0.1)


async def test_turn_that_was_refused_while_its_commit_was_in_doubt_is_taken_back(
    oda: OdaContext, relay: Relay
) -> None:
    session = await oda.sessions.get_or_create(APP, USER, "s")
    assert (await oda.turns.wait(await accepted_at_last(oda, "first"))).status == "succeeded"
    submitting = asyncio.create_task(oda.turns.submit(session, submission("refused")))
    relay.silent_after = b"COMMIT"
    with pytest.raises((UnavailableError, DBAPIError)):
        await submitting
    relay.speak()
    later = await accepted_at_last(oda, "later")
    assert (await oda.turns.wait(later)).status == "succeeded"
    page, _ = await oda.turns.of_session(session, limit=10)
    assert [turn.reply for turn in page] == ["later", "first"]
    assert cues.asked == ["first", "later"]
