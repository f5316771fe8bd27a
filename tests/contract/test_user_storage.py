"""What users keep is counted once, on all nodes together, and given back when it is deleted."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from google.adk.artifacts import InMemoryArtifactService
from google.adk.sessions import InMemorySessionService
from google.genai.types import Blob, Content, Part
from sqlalchemy import select

from oda.context import OdaContext
from oda.database.database import Database, open_database
from oda.database.migrate import upgrade
from oda.database.schema import kept_items, kept_totals
from oda.errors import SessionBusyError, StorageQuotaError
from oda.session.counted_services import CountedArtifacts, CountedSessions
from oda.session.user_storage import AROUND_BYTES, UserStorage, item_of
from oda.settings import LimitSettings
from oda.turn.store import TurnStore
from oda.turn.submission import IdempotencyKey, TurnInput
from tests.support.turns import new_turn, said

AGENTS = Path(__file__).parents[1] / "support" / "agents"
APP, USER = "app", "u"
S = (APP, USER, "s")
ROOM = 100_000
FILE = {"app_name": APP, "user_id": USER, "filename": "a"}


@pytest.fixture
async def databases(empty_database_url: str) -> AsyncIterator[tuple[Database, Database]]:
    """One database as two nodes have opened it."""
    async with open_database(empty_database_url) as one, open_database(empty_database_url) as other:
        await upgrade(one.engine)
        yield one, other


def storage(database: Database, **limits: int) -> UserStorage:
    return UserStorage(database, LimitSettings(**{"user_storage_bytes": ROOM, **limits}))


async def kept(database: Database, user: str = USER) -> tuple[int, int]:
    """Bytes and sessions of a user; the total is that of the items."""
    with database.engine.connect() as connection:
        total = select(kept_totals).where(kept_totals.c.user_id == user)
        row = connection.execute(total).one_or_none()
        sizes = select(kept_items.c.bytes).where(kept_items.c.user_id == user)
        of_items = sum(connection.execute(sizes).scalars().all())
    if row is None:
        assert of_items == 0
        return 0, 0
    assert row.bytes == of_items
    return row.bytes, row.sessions


async def test_what_comes_at_once_on_two_nodes_never_takes_more_than_there_is(
    databases: tuple[Database, Database],
) -> None:
    nodes = [storage(database) for database in databases]
    size = 9_000
    fit = ROOM // (size + AROUND_BYTES)
    taken = 0

    async def take(number: int) -> None:
        nonlocal taken
        with suppress(StorageQuotaError):
            await nodes[number % 2].take((APP, USER, f"s{number % 3}"), size, f"i{number % 4}")
            taken += 1

    await asyncio.gather(*(take(number) for number in range(60)))
    assert taken == fit
    assert (await kept(databases[0]))[0] == fit * (size + AROUND_BYTES) <= ROOM
    await nodes[0].take((APP, "somebody else", "s"), size)


async def test_what_cannot_be_refused_counts_and_the_next_is_refused(database: Database) -> None:
    full = storage(database)
    await full.take(S, 2 * ROOM, "artifact", bounded=False)
    with pytest.raises(StorageQuotaError, match="delete sessions or artifacts"):
        await full.take(S, 1)
    assert await kept(database) == (2 * ROOM + AROUND_BYTES, 0)


async def test_a_session_gives_back_all_it_has_kept_and_nothing_else(
    databases: tuple[Database, Database],
) -> None:
    here, there = (storage(database) for database in databases)
    other, of_the_user = (APP, USER, "other"), (APP, USER, "")
    for session in (S, other):
        assert await here.open_session(session, 100)
        await there.take(session, 200)
        await here.take(session, 300, item_of("a"))
    await here.take(of_the_user, 400, item_of("user:a"))
    before = await kept(databases[0])
    assert before[1] == 2
    await asyncio.gather(here.forget(S), there.forget(S))
    left = (600 + 400 + 4 * AROUND_BYTES, 1)
    assert await kept(databases[0]) == left
    await here.forget(of_the_user, item_of("user:a"))
    await there.forget(other)
    assert await kept(databases[0]) == (0, 0)


async def test_no_more_sessions_than_allowed_are_opened_at_once(
    databases: tuple[Database, Database],
) -> None:
    nodes = [storage(database, user_sessions=3) for database in databases]
    opened: list[str] = []

    async def open_one(number: int) -> None:
        with suppress(StorageQuotaError):
            await nodes[number % 2].open_session((APP, USER, f"s{number}"), 0)
            opened.append(f"s{number}")

    await asyncio.gather(*(open_one(number) for number in range(20)))
    assert len(opened) == 3
    assert await kept(databases[0]) == (3 * AROUND_BYTES, 3)
    await nodes[0].forget((APP, USER, opened[0]))
    assert await nodes[1].open_session((APP, USER, "another"), 0)


async def test_a_session_from_before_it_was_counted_counts_from_its_next_message(
    database: Database,
) -> None:
    full = storage(database, user_sessions=1)
    await full.open_session((APP, USER, "new"), 0)
    await full.take(S, 10)
    assert (await kept(database))[1] == 2
    await full.forget(S)
    assert (await kept(database))[1] == 1


async def test_a_store_that_has_lost_its_sessions_keeps_what_is_the_users(
    database: Database,
) -> None:
    some = storage(database)
    await some.open_session(S, 10)
    await some.take((APP, USER, ""), 20, item_of("user:a"))
    await some.open_session((APP, "v", "s"), 10)
    await some.forget_sessions()
    assert await kept(database) == (20 + AROUND_BYTES, 0)
    assert await kept(database, "v") == (0, 0)


async def test_sessions_in_memory_are_not_counted_after_a_restart(tmp_path: Path) -> None:
    for _ in range(2):
        async with OdaContext.from_settings(
            agents_dir=AGENTS,
            data_dir=tmp_path,
            config_dir=tmp_path,
            session_service="memory://",
            limits=LimitSettings(user_sessions=1),
        ) as oda:
            await oda.sessions.create("calculator", USER)
            with pytest.raises(StorageQuotaError):
                await oda.sessions.create("calculator", USER)


# --- messages


def file_of(size: int) -> TurnInput:
    part = Part(inline_data=Blob(mime_type="image/png", data=bytes(size)))
    return TurnInput(message=Content(role="user", parts=[Part(text="look"), part]))


async def test_a_message_counts_with_its_files_its_state_and_its_metadata() -> None:
    bare = file_of(0).size
    assert file_of(3000).size == bare + 4000
    assert said("hello").size > len("hello")
    with_state = said("hello").model_copy(update={"state_delta": {"a": "x" * 500}})
    assert with_state.size > said("hello").size + 500


async def test_a_refused_message_leaves_nothing(database: Database) -> None:
    store = TurnStore(database, storage=storage(database))
    before = await kept(database)
    with pytest.raises(StorageQuotaError):
        await store.accept(new_turn(session="s"), file_of(ROOM))
    assert await kept(database) == before
    assert await store.unfinished_of(("app", "u", "s")) == []
    with pytest.raises(StorageQuotaError):
        await store.accept(new_turn(session="s", metadata={"a": "x" * ROOM}), said("hello"))
    assert (await store.accept(new_turn(session="s"), said("hello"))).turn.status == "queued"


async def test_a_message_counts_once_and_not_when_it_is_not_accepted(database: Database) -> None:
    store = TurnStore(database, storage=storage(database))
    key, given = IdempotencyKey(key="k", route="/turns", body_hash="b"), file_of(3000)
    turn = new_turn()
    await store.accept(turn, given, key=key)
    once = await kept(database)
    assert once == (given.size + len("{}") + AROUND_BYTES, 1)
    assert (await store.accept(new_turn(), given, key=key)).replayed
    with pytest.raises(SessionBusyError):
        await store.accept(new_turn(), given, on_busy="reject")
    assert await kept(database) == once
    await store.withdraw(turn, given)
    assert await kept(database) == (0, 1)


# --- ADK's services


class Full(InMemoryArtifactService):
    """A disk on which nothing can be stored."""

    async def save_artifact(self, **_: Any) -> int:
        raise OSError("no space left")


async def test_versions_count_and_a_deleted_artifact_gives_all_of_them_back(
    database: Database,
) -> None:
    some = storage(database)
    disk = InMemoryArtifactService()
    uploads = CountedArtifacts(disk, some, bounded=True)
    agents = CountedArtifacts(disk, some, bounded=False)
    part = Part(inline_data=Blob(mime_type="image/png", data=bytes(30_000)))
    of_session: dict[str, Any] = {**FILE, "session_id": "s"}
    assert await uploads.save_artifact(**of_session, artifact=part) == 0
    assert await agents.save_artifact(**of_session, artifact=part) == 1
    assert (await kept(database))[0] == 2 * (30_002 + AROUND_BYTES)
    await agents.save_artifact(**of_session, artifact=Part(text="x" * ROOM))
    with pytest.raises(StorageQuotaError):
        await uploads.save_artifact(**of_session, artifact=Part(text="x"))
    assert await uploads.list_versions(**of_session) == [0, 1, 2]
    await uploads.delete_artifact(**of_session)
    assert await kept(database) == (0, 0)
    with pytest.raises(OSError, match="no space"):
        broken = CountedArtifacts(Full(), some, bounded=True)
        await broken.save_artifact(**of_session, artifact=part)
    assert await kept(database) == (0, 0)


async def test_artifact_that_is_deleted_while_a_version_arrives_counts_what_is_stored(
    database: Database,
) -> None:
    """A version that is stored after the deletion is counted, so nobody gets room for nothing."""
    some = storage(database)
    arriving, go_on = asyncio.Event(), asyncio.Event()

    class Slow(InMemoryArtifactService):
        async def save_artifact(self, **values: Any) -> int:
            arriving.set()
            await go_on.wait()
            return await super().save_artifact(**values)

    uploads = CountedArtifacts(Slow(), some, bounded=True)
    of_session: dict[str, Any] = {**FILE, "session_id": "s"}
    saving = asyncio.create_task(uploads.save_artifact(**of_session, artifact=Part(text="x" * 500)))
    async with asyncio.timeout(20):
        await arriving.wait()
        await uploads.delete_artifact(**of_session)
        go_on.set()
        await saving
    assert (await kept(database))[0] == 502 + AROUND_BYTES


async def test_a_session_that_is_not_created_counts_nothing(database: Database) -> None:
    sessions = CountedSessions(InMemorySessionService(), storage(database, user_sessions=2))
    of_user: dict[str, Any] = {"app_name": APP, "user_id": USER}
    await sessions.create_session(**of_user, session_id="s", state={"a": "x" * 500})
    once = await kept(database)
    assert once[1] == 1
    with pytest.raises(Exception, match="already"):
        await sessions.create_session(**of_user, session_id="s", state={"a": "x" * 700})
    assert await kept(database) == once
    await sessions.create_session(**of_user)
    with pytest.raises(StorageQuotaError, match="2 sessions"):
        await sessions.create_session(**of_user)
    listed = await sessions.list_sessions(**of_user)
    assert len(listed.sessions) == 2
    await sessions.delete_session(**of_user, session_id="s")
    await sessions.create_session(**of_user, session_id="s")
