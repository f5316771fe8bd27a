"""What is kept of published articles, on every database."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection

from agents.researcher.articles.records import Article, Content, Draft, File, Run
from agents.researcher.articles.schema import ARTICLE_SCHEMA
from agents.researcher.articles.store import ArticleStore
from oda.application_database import ApplicationDatabase
from oda.database.database import default_database, open_database
from oda.errors import ConflictError, InvalidRequestError, NotFoundError

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
HTML = Content("article.html", "text/html; charset=utf-8", b"<h1>x</h1>")
BOOK = Content("data/results.xlsx", "application/octet-stream", bytes(range(256)) * 40)


@pytest.fixture
async def store(empty_database_url: str) -> AsyncIterator[ArticleStore]:
    async with open_database(empty_database_url) as database:
        with default_database.set(database):
            yield ArticleStore(ApplicationDatabase(ARTICLE_SCHEMA))


def draft(run_id: str = "run-1", title: str = "Tea", **fields: Any) -> Draft:
    run = Run(app="researcher", session_id="s1", run_id=run_id)
    said = {"template": "deep-research", "summary": "About tea.", "language": "en", **fields}
    return Draft(run=run, title=title, **said)


async def titles(store: ArticleStore, owner: str = "ana", **wanted: Any) -> list[str]:
    return [one.title for one in (await store.list(owner, **wanted)).articles]


async def test_article_is_kept_with_its_files(store: ArticleStore) -> None:
    saved = await store.save("ana", draft(), [HTML, BOOK], NOON)
    assert saved == Article(
        id=saved.id,
        app="researcher",
        run_id="run-1",
        session_id="s1",
        template="deep-research",
        title="Tea",
        summary="About tea.",
        language="en",
        created_at=NOON,
        files=(
            File(name="article.html", mime_type=HTML.mime_type, bytes=10),
            File(name="data/results.xlsx", mime_type=BOOK.mime_type, bytes=10240),
        ),
    )
    assert await store.get("ana", saved.id) == saved
    assert await store.of_run("ana", "run-1") == saved
    assert await store.content("ana", saved.id, "data/results.xlsx") == BOOK


async def test_publishing_a_run_again_replaces_its_article(store: ArticleStore) -> None:
    first = await store.save("ana", draft(), [HTML, BOOK], NOON)
    later = NOON + timedelta(hours=1)
    again = await store.save("ana", draft(title="Green tea"), [HTML], later)
    assert (again.id, again.created_at, again.title) == (first.id, NOON, "Green tea")
    assert [file.name for file in again.files] == ["article.html"]
    assert await titles(store) == ["Green tea"]
    with pytest.raises(ConflictError):
        await store.save("ben", draft(title="Mine"), [], later)
    assert await titles(store) == ["Green tea"]


async def test_everyone_sees_their_own_only(store: ArticleStore) -> None:
    article = await store.save("ana", draft(), [HTML], NOON)
    assert await titles(store, "ben") == []
    assert await store.of_run("ben", "run-1") is None
    for refused in (
        store.get("ben", article.id),
        store.content("ben", article.id, "article.html"),
        store.delete("ben", article.id),
        store.get("ana", "no\0such"),
        store.content("ana", article.id, "no\0such"),
    ):
        with pytest.raises(NotFoundError):
            await refused
    assert await titles(store) == ["Tea"]


async def test_deleted_article_is_gone_with_its_files(store: ArticleStore) -> None:
    article = await store.save("ana", draft(), [HTML], NOON)
    await store.delete("ana", article.id)
    for refused in (
        store.get("ana", article.id),
        store.content("ana", article.id, "article.html"),
        store.delete("ana", article.id),
    ):
        with pytest.raises(NotFoundError):
            await refused


async def test_list_is_searched_in_any_case_and_language(store: ArticleStore) -> None:
    for number, (title, summary, template) in enumerate(
        [
            ("新能源汽车市场研究", "渗透率继续上升。", "deep-research"),
            ("Straße nach ÉVORA", "A way of 100% gravel_road.", "daily-brief"),
            ("Tea", "Back\\slash and ＦＵＬＬ width.", "daily-brief"),
        ]
    ):
        one = draft(f"run-{number}", title, summary=summary, template=template)
        await store.save("ana", one, [], NOON + timedelta(minutes=number))
    newest_first = ["Tea", "Straße nach ÉVORA", "新能源汽车市场研究"]
    assert await titles(store) == newest_first
    for query, found in {
        "新能源": newest_first[2:],
        "市场 渗透": newest_first[2:],
        "évora STRASSE": newest_first[1:2],
        "100%": newest_first[1:2],
        "l_r": newest_first[1:2],
        "lyr": [],
        "%": newest_first[1:2],
        "k\\s": newest_first[:1],
        "full": newest_first[:1],
        "' OR 1=1 --": [],
        "\0": [],
        "  ": newest_first,
    }.items():
        assert await titles(store, query=query) == found, query
    assert await titles(store, template="daily-brief") == newest_first[:2]
    assert await titles(store, template="daily-brief", query="tea") == ["Tea"]
    with pytest.raises(InvalidRequestError, match="too long"):
        await store.list("ana", query="x" * 201)


async def test_list_goes_on_where_a_page_has_ended(store: ArticleStore) -> None:
    for number in range(7):
        made_at = NOON + timedelta(minutes=number // 3)
        await store.save("ana", draft(f"run-{number}", str(number)), [HTML], made_at)
    seen: list[Article] = []
    cursor = None
    while len(seen) < 7:
        page = await store.list("ana", limit=2, cursor=cursor)
        seen += page.articles
        cursor = page.next_cursor
    assert cursor is None
    assert {one.title for one in seen} == set("0123456")
    times = [one.created_at for one in seen]
    assert times == sorted(times, reverse=True)
    for wrong in ("x", "!!", "5LiN5piv", "MjAyNi0wNS0wNCB4"):
        with pytest.raises(InvalidRequestError, match="cursor"):
            await store.list("ana", cursor=wrong)


async def test_migrated_schema_is_the_one_in_the_code(
    store: ArticleStore, empty_database_url: str
) -> None:
    await store.list("ana")

    def differences(connection: Connection) -> list[Any]:
        ours = ARTICLE_SCHEMA.metadata.tables
        options = {
            "version_table": ARTICLE_SCHEMA.version_table,
            "compare_type": True,
            "include_name": lambda name, kind, _: kind != "table" or name in ours,
        }
        found: list[Any] = compare_metadata(
            MigrationContext.configure(connection, opts=options), ARTICLE_SCHEMA.metadata
        )
        return found

    async with open_database(empty_database_url) as database:
        assert await database.read(differences) == []
