"""What a run has left in its workspace becomes an article in the store."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agents.researcher.articles.records import Article, Run
from agents.researcher.articles.schema import ARTICLE_SCHEMA
from agents.researcher.articles.store import ArticleStore
from agents.researcher.publishing import publish
from agents.researcher.templates import templates
from oda import ApplicationDatabase
from oda.database.database import default_database, open_database
from oda.errors import NoContentError
from oda.settings import WorkspaceSettings
from oda.testing import FakeClock
from oda.workspace.workspace import Workspace
from oda.workspace.workspaces import Workspaces
from tests.support.pages import PNG, faults, svg_faults

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
RUN = Run(app="researcher", session_id="s1", run_id="run-1")
REPORT = """<h1>季度销量</h1><p>销量比上一季度增长了百分之二十三，北方区贡献最大，见下图。</p>
<img src="charts/a.png" alt="销量"><img src="b.png" alt="在 data"><a href="results.xlsx">表</a>
<script>alert(1)</script>"""


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[ArticleStore]:
    async with open_database(f"sqlite:///{tmp_path / 'oda.db'}") as database:
        with default_database.set(database):
            yield ArticleStore(ApplicationDatabase(ARTICLE_SCHEMA))


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    workspaces = Workspaces(tmp_path / "workspaces", WorkspaceSettings(), FakeClock())
    async with await workspaces.open("s1", "run-1") as opened:
        yield opened


async def published(
    workspace: Workspace, store: ArticleStore, template: str = "data-analysis", **said: Any
) -> Article:
    wanted = templates().get(template)
    words = {"reply": "", **said}
    return await publish(
        workspace, owner="ana", run=RUN, template=wanted, now=NOW, store=store, **words
    )


async def test_article_of_a_workspace_is_kept_whole(
    workspace: Workspace, store: ArticleStore
) -> None:
    await workspace.write("output/article.html", REPORT.encode())
    await workspace.write("output/charts/a.png", PNG)
    await workspace.write("output/results.xlsx", b"PK workbook")
    await workspace.write("output/page.html", b"<script>alert(1)</script>")
    await workspace.write("data/b.png", PNG)
    await workspace.write("data/notes.md", b"not for readers")
    article = await published(workspace, store, reply="Done.")
    assert (article.title, article.language) == ("季度销量", "zh")
    assert article.summary.startswith("销量比上一季度增长")
    assert {file.name: file.mime_type.rpartition("/")[2] for file in article.files} == {
        "article.html": "html; charset=utf-8",
        "charts/a.png": "png",
        "cover.svg": "svg+xml",
        "page.html": "octet-stream",
        "results.xlsx": "vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    }
    html = (await store.content("ana", article.id, "article.html")).content.decode()
    assert faults(html) == []
    assert html.count("data:image/png;base64,") == 2
    assert 'href="files/results.xlsx"' in html
    cover = (await store.content("ana", article.id, "cover.svg")).content
    assert svg_faults(cover) == []
    assert "数据分析" in cover.decode()
    assert (await store.content("ana", article.id, "results.xlsx")).content == b"PK workbook"


async def test_reply_is_the_article_where_there_is_no_file(
    workspace: Workspace, store: ArticleStore
) -> None:
    article = await published(
        workspace, store, "tutorial", reply="Here:\n```html\n<h1>Go</h1>\n```"
    )
    assert article.title == "Go"
    again = await published(
        workspace, store, "tutorial", reply="Only words.", request="\nA title\n"
    )
    assert (again.id, again.title) == (article.id, "A title")
    assert len((await store.list("ana")).articles) == 1


async def test_slides_come_with_a_presentation(workspace: Workspace, store: ArticleStore) -> None:
    article = await published(workspace, store, "slides", reply="<h1>A</h1><h2>B</h2><p>c</p>")
    names = [file.name for file in article.files]
    assert names == ["article.html", "cover.svg", "slides.pptx"]
    assert templates().get("slides").missing_results(names, []) == []
    deck = await store.content("ana", article.id, "slides.pptx")
    assert deck.content.startswith(b"PK")


async def test_nothing_is_published_where_nothing_can_be_read(
    workspace: Workspace, store: ArticleStore
) -> None:
    for reply in ("", "<script>alert(1)</script>", "<div>" * 1000):
        with pytest.raises(NoContentError):
            await published(workspace, store, reply=reply)
    assert (await store.list("ana")).articles == ()


async def test_files_beyond_the_limits_stay_in_the_workspace(
    workspace: Workspace, store: ArticleStore
) -> None:
    await workspace.write("output/big.bin", bytes(26 * 2**20))
    for number in range(52):
        await workspace.write(f"output/f{number:02}.txt", b"x")
    article = await published(workspace, store, reply="# Title\n\nText.")
    names = {file.name for file in article.files}
    assert "big.bin" not in names
    assert names == {"article.html", "cover.svg", *(f"f{number:02}.txt" for number in range(50))}
