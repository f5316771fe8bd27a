"""The tool ledger says the same on every database."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection

from oda.database.database import Database, open_database
from oda.database.migrate import upgrade
from oda.database.write_queue import WriteQueue, current_writes
from oda.errors import OwnershipLostError, UnavailableError
from oda.testing import FakeClock
from oda.tools.idempotency import CallKey
from oda.tools.ledger import MAX_STORED_CHARS, CallRecord, SqlToolLedger, ToolCall

KEY = CallKey("turn-1", "c-pay")
PAY = ToolCall(KEY, ("app", "user", "session"), agent="clerk", tool="pay", idempotent=False)
FILE = replace(PAY, tool="file", idempotent=True)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    url = (
        f"sqlite:///{tmp_path / 'oda.db'}"
        if request.param == "sqlite"
        else request.getfixturevalue("postgres_url")
    )
    async with open_database(url) as opened:
        await upgrade(opened.engine)
        with opened.engine.begin() as connection:
            connection.exec_driver_sql("DELETE FROM oda_tool_calls")
        yield opened


@pytest.fixture
def ledger(database: Database, fake_clock: FakeClock) -> SqlToolLedger:
    return SqlToolLedger(database, fake_clock)


async def known(ledger: SqlToolLedger, key: CallKey = KEY) -> CallRecord | None:
    """What is stored of a call."""
    return (await ledger.of_turn(key.turn)).get(key.call_id)


async def test_call_is_on_record_before_it_runs(ledger: SqlToolLedger) -> None:
    record = await ledger.begin(PAY)
    assert record == CallRecord("pay", "started", idempotent=False, runs=1)
    assert await ledger.of_turn("turn-1") == {"c-pay": record}
    assert await ledger.of_turn("turn-2") == {}


async def test_result_is_kept_and_the_call_not_made_again(ledger: SqlToolLedger) -> None:
    await ledger.begin(PAY)
    ledger.finish(KEY, '{"paid": "五"}')
    record = await known(ledger)
    assert record == CallRecord("pay", "succeeded", False, 1, '{"paid": "五"}')
    assert await ledger.begin(PAY) == record
    assert await known(ledger) == record


async def test_error_is_a_result(ledger: SqlToolLedger) -> None:
    await ledger.begin(FILE)
    ledger.fail(KEY, '{"error": "no"}')
    assert await ledger.begin(FILE) == CallRecord("file", "failed", True, 1, '{"error": "no"}')


async def test_unfinished_call_is_made_again_only_if_it_may_run_twice(
    ledger: SqlToolLedger,
) -> None:
    await ledger.begin(PAY)
    assert await ledger.begin(PAY) == CallRecord("pay", "unknown", False, 1)
    assert (await ledger.begin(PAY)).status == "unknown"
    file = replace(FILE, key=CallKey("turn-1", "c-file"))
    await ledger.begin(file)
    assert await ledger.begin(file) == CallRecord("file", "started", True, 2)
    ledger.lose(file.key)
    assert (await ledger.begin(file)).runs == 3


async def test_call_that_waits_for_a_person_runs_when_it_was_answered(
    ledger: SqlToolLedger,
) -> None:
    await ledger.begin(PAY)
    ledger.waiting(KEY)
    assert (await ledger.begin(PAY)).status == "started"
    ledger.finish(KEY, "{}")
    assert await known(ledger) == CallRecord("pay", "succeeded", False, 2, "{}")


async def test_calls_inside_of_a_repeated_call_are_made_again(ledger: SqlToolLedger) -> None:
    inner = replace(PAY, inside_another=True)
    await ledger.begin(inner)
    ledger.finish(KEY, '{"old": true}')
    assert await ledger.begin(inner) == CallRecord("pay", "started", False, 2)


async def test_withdrawn_call_never_ran(ledger: SqlToolLedger) -> None:
    await ledger.begin(FILE)
    ledger.withdraw(KEY)
    assert await known(ledger) is None
    await ledger.begin(FILE)
    await ledger.begin(FILE)
    ledger.withdraw(KEY)
    assert await known(ledger) == CallRecord("file", "started", True, 1)


async def test_outcome_of_what_still_runs_when_its_turn_is_over_is_unknown(
    ledger: SqlToolLedger,
) -> None:
    other = replace(PAY, key=CallKey("turn-1", "c-done"))
    await ledger.begin(PAY)
    await ledger.begin(other)
    ledger.finish(other.key, "{}")
    await ledger.close_turn("turn-1")
    records = await ledger.of_turn("turn-1")
    assert {key: record.status for key, record in records.items()} == {
        "c-pay": "unknown",
        "c-done": "succeeded",
    }


async def test_what_has_ended_is_not_lost(ledger: SqlToolLedger) -> None:
    await ledger.begin(PAY)
    ledger.finish(KEY, "{}")
    ledger.lose(KEY)
    record = await known(ledger)
    assert record is not None
    assert record.status == "succeeded"


async def test_long_result_is_not_kept_but_that_it_succeeded_is(ledger: SqlToolLedger) -> None:
    await ledger.begin(PAY)
    ledger.finish(KEY, "x" * (MAX_STORED_CHARS + 1))
    assert await known(ledger) == CallRecord("pay", "succeeded", False, 1, None)


async def test_of_calls_begun_at_the_same_time_each_is_recorded_once(
    ledger: SqlToolLedger,
) -> None:
    calls = [replace(PAY, key=CallKey("turn-1", f"c-{n}")) for n in range(50)]
    records = await asyncio.gather(*(ledger.begin(call) for call in [*calls, *calls]))
    assert [record.status for record in records] == ["started"] * 50 + ["unknown"] * 50


async def test_ids_that_no_column_takes_are_made_to_fit(ledger: SqlToolLedger) -> None:
    odd = replace(PAY, key=CallKey("t\x00" * 99, "c-\x00"), tool="t" * 300, agent="a" * 300)
    assert (await ledger.begin(odd)).status == "started"
    ledger.finish(odd.key, "{}")
    assert (await ledger.begin(odd)).status == "succeeded"


async def test_call_does_not_begin_when_the_database_is_away(
    tmp_path: Path, fake_clock: FakeClock
) -> None:
    nowhere = "postgresql+psycopg://nobody@127.0.0.1:1/none?connect_timeout=2"
    async with open_database(nowhere) as away:
        ledger = SqlToolLedger(away, fake_clock)
        with pytest.raises(UnavailableError):
            await ledger.begin(PAY)
        with pytest.raises(UnavailableError):
            await ledger.of_turn("turn-1")


async def test_call_of_a_turn_begins_behind_what_the_turn_wrote_before(
    database: Database, ledger: SqlToolLedger
) -> None:
    written: list[str] = []
    writes = WriteQueue(database.journal, lambda _: written.append("guard"), "turn-1")
    writes.put(lambda _: written.append("event"))
    token = current_writes.set(writes)
    try:
        assert (await ledger.begin(PAY)).status == "started"
    finally:
        current_writes.reset(token)
    assert written == ["guard", "event"]
    assert await known(ledger) == CallRecord("pay", "started", False, 1)


async def test_call_of_a_turn_that_may_not_write_does_not_begin(
    database: Database, ledger: SqlToolLedger
) -> None:
    def refuse(_: Connection) -> None:
        raise OwnershipLostError("runs elsewhere")

    token = current_writes.set(WriteQueue(database.journal, refuse, "turn-1"))
    try:
        with pytest.raises(OwnershipLostError):
            await ledger.begin(PAY)
    finally:
        current_writes.reset(token)
    assert await known(ledger) is None
