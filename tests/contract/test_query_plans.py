"""What is asked of the database again and again finds its rows by an index, however many turns
are kept."""

import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, event, text

from oda.agent.day_budget import DayBudgets
from oda.agent.limits import Usage
from oda.clock import SystemClock
from oda.session.user_storage import UserStorage
from oda.settings import LimitSettings, Settings
from oda.tools.idempotency import CallKey
from oda.tools.ledger import SqlToolLedger, ToolCall
from oda.turn.submission import IdempotencyKey
from tests.support.turns import START, Node, became, new_turn, open_node, said

KEPT = 3_000
SMALL = ("oda_schema_version",)
"""Tables that may be read whole."""
IN_WORK = "oda_turns_unfinished"
"""Indices that hold only what is not finished; these may be read whole, too."""

Statement = tuple[str, Any]


@pytest.fixture
async def node(empty_database_url: str) -> AsyncIterator[Node]:
    """A process on a database with many finished turns, those of one long session among them."""
    async with open_node(empty_database_url, "a") as opened:
        await fill(opened.database.engine)
        yield opened


async def fill(engine: Engine) -> None:
    postgres = engine.dialect.name == "postgresql"
    series = f"SELECT generate_series(1, {KEPT}) AS n" if postgres else "SELECT n FROM series"
    recursive = (
        ""
        if postgres
        else f"WITH RECURSIVE series(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series "
        f"WHERE n < {KEPT}) "
    )
    old = "2025-12-31 00:00:00.000000"
    fills = (
        "INSERT INTO oda_turns (turn_id, app, user_id, session_id, position, interrupts, agent, "
        "status, attempts, reply, model_calls, input_tokens, output_tokens, pending_input, "
        "metadata, created_at, started_at, finished_at, input, message_may_be_stored, run, "
        f"recoveries, cancel_requested) {recursive}SELECT 'old_' || n, 'app', 'u', "
        "CASE WHEN n % 2 = 0 THEN 's' ELSE 's' || n END, n, false, 'app', 'succeeded', 1, '', 0, "
        f"0, 0, '[]', '{{}}', '{old}', '{old}', '{old}', '{{}}', true, 1, 0, false "
        f"FROM ({series}) x",
        "INSERT INTO oda_turn_entries (turn_id, number, kind, data) "
        f"{recursive}SELECT 'old_' || n, 1, 'done', '{{}}' FROM ({series}) x",
        "INSERT INTO oda_idempotency_keys (user_id, route, key, body_hash, turn_id, created_at) "
        f"{recursive}SELECT 'u', '/turns', 'old_' || n, '', 'old_' || n, '{old}' "
        f"FROM ({series}) x",
        "INSERT INTO oda_tool_calls (invocation_id, call_id, app, user_id, session_id, agent, "
        "tool, status, idempotent, runs, started_at) "
        f"{recursive}SELECT 'old_' || n, 'c', 'app', 'u', 's' || n, 'app', 'pay', 'succeeded', "
        f"false, 1, '{old}' FROM ({series}) x",
        "INSERT INTO oda_usage_days (user_id, day, turns, model_calls, input_tokens, "
        f"output_tokens, cost_usd) {recursive}SELECT 'u' || n, '2026-01-01', 1, 1, 1, 1, 0 "
        f"FROM ({series}) x WHERE true ON CONFLICT DO NOTHING",
        "INSERT INTO oda_kept_totals (user_id, bytes, sessions) "
        f"{recursive}SELECT 'u' || n, 1, 1 FROM ({series}) x "
        "WHERE true ON CONFLICT DO NOTHING",
        "INSERT INTO oda_kept_items (user_id, app, session_id, item, bytes) "
        f"{recursive}SELECT 'u', 'app', 's' || n, '', 1 FROM ({series}) x "
        "WHERE true ON CONFLICT DO NOTHING",
    )
    with engine.begin() as connection:
        for one in fills:
            connection.execute(text(one))
        if postgres:
            connection.execute(text("ANALYZE"))


@contextmanager
def statements(engine: Engine) -> Iterator[list[Statement]]:
    """All that is sent to the database meanwhile."""
    sent: list[Statement] = []

    def note(_c: Any, _cursor: Any, statement: str, given: Any, _k: Any, many: bool) -> None:
        sent.append((statement, given[0] if many else given))

    event.listen(engine, "before_cursor_execute", note)
    yield sent
    event.remove(engine, "before_cursor_execute", note)


async def scans(engine: Engine, sent: Sequence[Statement]) -> Mapping[str, str]:
    """The statements that read a large table whole, and how."""
    found: dict[str, str] = {}
    for statement, given in sent:
        if not statement.startswith(("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")):
            continue
        with engine.connect() as connection:
            if engine.dialect.name == "postgresql":
                connection.execute(text("SET LOCAL enable_seqscan = off"))
                explained = connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {statement}", given)
                whole = list(_read_whole(_parsed(explained.scalar_one())[0]["Plan"]))
            else:
                explained = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", given)
                whole = [row.detail for row in explained if _is_scan(row.detail)]
        if whole:
            found[statement] = "; ".join(whole)
    return found


async def indices(engine: Engine, sent: Sequence[Statement], part: str) -> set[str]:
    """The indices that the statements with a certain part are answered by."""
    names: set[str] = set()
    explain = "EXPLAIN" if engine.dialect.name == "postgresql" else "EXPLAIN QUERY PLAN"
    for statement, given in sent:
        if part in statement:
            with engine.connect() as connection:
                rows = connection.exec_driver_sql(f"{explain} {statement}", given)
                names.update(re.findall(r"oda_turns_[a-z]\w+", str(rows.all())))
    return names


def _parsed(plan: Any) -> Any:
    return json.loads(plan) if isinstance(plan, str) else plan


def _read_whole(plan: Mapping[str, Any]) -> Iterator[str]:
    """Scans of tables, and of indices without a condition, in PostgreSQL's plan.

    For the few rows of a test it may choose a scan; if it may not, it has one only for want of
    an index.
    """
    kind, index = plan["Node Type"], plan.get("Index Name", "")
    if kind == "Seq Scan" and plan["Relation Name"] not in SMALL:
        yield f"{kind} on {plan['Relation Name']}"
    if index and "Index Cond" not in plan and not index.startswith((IN_WORK, *SMALL)):
        yield f"{kind} of the whole of {index}"
    for below in plan.get("Plans", ()):
        yield from _read_whole(below)


def _is_scan(detail: str) -> bool:
    words = detail.split()
    return (
        words[0] == "SCAN"
        and words[1] not in (*SMALL, "CONSTANT")
        and not detail.startswith("SCAN (")
        and IN_WORK not in detail
    )


async def test_an_idle_process_scans_nothing(node: Node) -> None:
    store, engine = node.store, node.database.engine
    with statements(engine) as sent:
        assert await store.cancels_requested() == []
        assert await store.unfinished() == []
        assert await store.waiting_since(START) == []
    assert len(sent) >= 3
    assert await scans(engine, sent) == {}


async def test_a_turn_is_accepted_run_and_ended_without_a_scan(node: Node) -> None:
    store, engine = node.store, node.database.engine
    days = DayBudgets(node.database, Settings.load(day={"model_calls": 1}), SystemClock())
    key = IdempotencyKey(key="k", route="/turns", body_hash="b")
    with statements(engine) as sent:
        turn = new_turn()
        await store.of_key("u", key, START)
        running = await node.accept(turn, starts=True, key=key, turns_at_once=2)
        second = await node.accept(new_turn(), on_busy="interrupt")
        await node.add(turn, "text")
        await node.finish(running)
        asked = became(
            await node.begin(second), "waiting_input", pending_input=[{"id": "c", "name": "pay"}]
        )
        await node.change(asked)
        answered = became(asked, "queued", pending_input=[])
        await store.answer(answered, said("yes"), message_may_be_stored=False)
        await store.request_cancel(second.turn_id)
        await node.hold(await node.accept(new_turn("other"), starts=True))
        third = await node.accept(new_turn("third"), starts=True)
        await node.take(third)
        await node.release(third)
        await store.withdraw(third, said("hello"))
        await store.end(became(answered, "cancelled"), before="queued")
        await store.unfinished(("app", "u", "s"))
        await store.unfinished_of(("app", "u", "s"))
        await store.entries(turn.turn_id, 0)
        await days.used("u")
        await days.draw("u", days.today, Usage(model_calls=1), bounded=True)
    assert len(sent) > 20
    assert await scans(engine, sent) == {}
    for part in ("ORDER BY CASE WHEN", "SELECT count(*)"):
        used = await indices(engine, sent, part)
        assert used, part
        assert {name for name in used if not name.startswith(IN_WORK)} <= {"oda_turns_pkey"}


async def test_a_tool_is_called_without_a_scan(node: Node) -> None:
    engine = node.database.engine
    ledger = SqlToolLedger(node.database, SystemClock())
    with statements(engine) as sent:
        turn = await node.accept(new_turn())
        key = CallKey(turn.turn_id, "c1")
        await ledger.begin(ToolCall(key, ("app", "u", "s"), "agent", "pay", idempotent=False))
        ledger.finish(key, "{}")
        await ledger.of_turn(turn.turn_id)
        await ledger.close_turn(turn.turn_id)
    assert await scans(engine, sent) == {}


async def test_a_session_is_listed_and_forgotten_without_a_scan(node: Node) -> None:
    engine = node.database.engine
    with statements(engine) as sent:
        page, cursor = await node.store.of_session(("app", "u", "s"), limit=10)
        assert cursor
        await node.store.of_session(("app", "u", "s"), limit=10, cursor=cursor)
        await node.store.forget_session(("app", "u", "s1"))
    assert len(page) == 10
    assert await scans(engine, sent) == {}


async def test_what_a_user_keeps_is_counted_and_given_back_without_a_scan(node: Node) -> None:
    engine, session = node.database.engine, ("app", "u", "s")
    storage = UserStorage(node.database, LimitSettings())
    with statements(engine) as sent:
        assert await storage.open_session(session, 1)
        await storage.take(session, 1)
        await storage.take(session, 1, "arriving")
        await storage.move(session, "arriving", "artifact")
        await storage.give_back(session, 1)
        await storage.forget(session, "artifact")
        await storage.forget(session)
    assert len(sent) > 10
    assert await scans(engine, sent) == {}


async def test_all_that_is_old_is_forgotten_in_pieces_without_a_scan(node: Node) -> None:
    engine = node.database.engine
    with statements(engine) as sent:
        retention = timedelta(hours=1)
        pieces = 1
        while await node.store.forget_old(START, retention):
            pieces += 1
    assert KEPT / 500 <= pieces <= KEPT / 20
    with engine.connect() as connection:
        for table in ("turns", "turn_entries", "idempotency_keys", "tool_calls"):
            count = connection.scalar(text(f"SELECT count(*) FROM oda_{table}"))
            assert count == 0, table
    once = dict(sent)
    await fill(engine)
    assert await scans(engine, list(once.items())) == {}
