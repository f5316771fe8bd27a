"""The audit keeps what it is told, in the order of the telling, and loses nothing."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, FastAPI, Request
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError
from starlette.types import ASGIApp, Receive, Scope, Send

from oda.database.database import Database, open_database
from oda.database.migrate import upgrade
from oda.identity.audit import AuditLog
from oda.identity.principal import Principal, current_principal
from oda.server.audit import AuditMiddleware, audit_answers
from oda.testing import FakeClock

CANCEL: dict[str, Any] = {
    "actor": "root",
    "user_id": "ann",
    "key_id": "key_1",
    "action": "POST /v1/turns/{tid}/cancel",
    "target": "/v1/turns/turn_1/cancel",
    "status": 200,
    "trace_id": "0" * 32,
}


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    url = (
        f"sqlite:///{tmp_path / 'oda.db'}"
        if request.param == "sqlite"
        else request.getfixturevalue("postgres_url")
    )
    async with open_database(url) as database:
        await upgrade(database.engine)
        yield database


async def test_entries_are_read_in_order_page_by_page(
    database: Database, fake_clock: FakeClock
) -> None:
    log = AuditLog(database, fake_clock)
    fake_clock.advance(1_000_000)
    start = max([0, *(entry.id for entry in await log.read(limit=1000))])
    answers = {"answers": [{"id": "call_1", "confirmed": True}]}
    for number in range(4):
        log.record(**CANCEL | {"status": 200 + number})
    await log.record(**CANCEL | {"key_id": None, "trace_id": None, "detail": answers})
    first = await log.read(after=start, limit=2)
    rest = await log.read(after=first[-1].id)
    assert [entry.status for entry in first] == [200, 201]
    assert [entry.status for entry in rest] == [202, 203, 200]
    assert first[0].model_dump(exclude={"id", "at"}) == CANCEL | {"detail": {}}
    assert first[0].at.timestamp() == 1_000_000
    assert (rest[-1].key_id, rest[-1].trace_id, rest[-1].detail) == (None, None, answers)


async def test_what_no_column_takes_is_made_fit(database: Database, fake_clock: FakeClock) -> None:
    log = AuditLog(database, fake_clock)
    strange = {"target": "/v1/\0" + "x" * 600, "action": "POST " + "y" * 300, "actor": "a" * 200}
    await log.record(**CANCEL | strange | {"detail": {"id": "\0\ud800"}})
    entry = (await log.read(limit=1000))[-1]
    assert (len(entry.target), len(entry.action), len(entry.actor)) == (512, 256, 128)
    assert "\0" not in entry.target + entry.detail["id"]


async def test_the_database_refuses_to_change_the_past(
    database: Database, fake_clock: FakeClock
) -> None:
    log = AuditLog(database, fake_clock)
    await log.record(**CANCEL | {"status": 403})
    before = await log.read(limit=1000)
    statements = ["UPDATE oda_audit SET status = 200", "DELETE FROM oda_audit"]
    if database.engine.dialect.name == "postgresql":
        statements.append("TRUNCATE oda_audit")
    for statement in statements:
        with (
            pytest.raises(DBAPIError, match="append-only"),
            database.engine.begin() as connection,
        ):
            connection.execute(text(statement))
    assert await log.read(limit=1000) == before


async def test_requests_that_change_something_are_recorded(
    database: Database, fake_clock: FakeClock
) -> None:
    log = AuditLog(database, fake_clock)
    start = max([0, *(entry.id for entry in await log.read(limit=1000))])
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(_app(log), raise_app_exceptions=False),
        base_url="http://oda.example",
    ) as client:
        await client.get("/v1/turns/t1/input")
        answered = {"responses": [{"id": "c1", "confirmed": True, "payload": "secret"}]}
        await client.post("/v1/turns/t1/input?token=secret", json=answered)
        await client.delete("/v1/turns/t1/input")
        await client.put("/nowhere")
    await database.journal.run(_nothing)
    entries = await log.read(after=start)
    assert [(entry.action, entry.target, entry.status) for entry in entries] == [
        ("POST /v1/turns/{tid}/input", "/v1/turns/t1/input", 200),
        ("DELETE /v1/turns/{tid}/input", "/v1/turns/t1/input", 500),
        ("PUT (none)", "/nowhere", 404),
    ]
    assert entries[0].detail == {"answers": [{"id": "c1", "confirmed": True}]}
    assert {(entry.actor, entry.user_id, entry.key_id) for entry in entries} == {
        ("root", "ann", "key_1")
    }
    assert "secret" not in str(entries)


def _app(log: AuditLog) -> FastAPI:
    app = FastAPI()
    app.state.audit = log
    router = APIRouter(prefix="/turns")

    @router.get("/{tid}/input")
    async def look() -> None: ...

    @router.post("/{tid}/input")
    async def answer(request: Request) -> None:
        responses = (await request.json())["responses"]
        audit_answers(request.scope, [(one["id"], one["confirmed"]) for one in responses])

    @router.delete("/{tid}/input")
    async def fail() -> None:
        raise RuntimeError("on purpose")

    app.include_router(router, prefix="/v1")
    app.add_middleware(AuditMiddleware)
    app.add_middleware(_AsRoot)
    return app


class _AsRoot:
    """Who has authenticated as an admin and acts for a user."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        token = current_principal.set(Principal("ann", "admin", actor="root", key_id="key_1"))
        try:
            await self._app(scope, receive, send)
        finally:
            current_principal.reset(token)


def _nothing(connection: Connection) -> None:
    """Comes after all that was deferred before."""
