"""What an article says is tied to what was read: by models that read, do not read, and lie."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from oda.testing import ModelServer
from oda.testing.script import Call, Text, ToolCalls
from tests.support.article_runs import ARTICLES, ArticleClient, Json
from tests.support.local_web import Answer, LocalWeb, Received, json_answer
from tests.support.model_settings import gemini

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.sandbox]

AGENTS = Path(__file__).parents[2] / "agents"
PAGES = {
    "survey": "In 2023 the Otter Survey Team counted 2,962 sea otters on the coast of California.",
    "coast": "In 2023 the team counted 3,090 sea otters on the whole coast of California.",
    "fur": "The sea otter has the densest fur, with up to 150,000 hairs per square centimetre.",
    "food": "Sea otters eat clams, crabs and sea urchins, a quarter of their weight each day.",
    "gone": "",
}


class News:
    """A search engine and the pages that it finds, one of which is gone."""

    def __init__(self) -> None:
        self.web = LocalWeb(self._answer)

    def url(self, name: str) -> str:
        return self.web.page_url(name)

    def _answer(self, request: Received) -> Answer:
        if request.path == "/search":
            found = [
                {"url": self.url(name), "title": f"About {name}", "content": "sea otters"}
                for name in ("gone", *(name for name in PAGES if name != "gone"))
            ]
            return json_answer({"results": found})
        text = PAGES.get(request.path.removeprefix("/pages/"), "")
        if not text:
            return Answer(b"gone", status=404)
        filler = "<p>This page has been published by people who watch the animals of the sea.</p>"
        return Answer(
            f"<html lang='en'><head><title>{request.path}</title></head><body><article>"
            f"<h1>Sea otters</h1><p>{text}</p>{filler * 3}</article></body></html>".encode()
        )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def news() -> AsyncIterator[News]:
    news = News()
    async with news.web:
        yield news


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(
    serve_folder: Any,
    shared_model: ModelServer,
    news: News,
    tmp_path_factory: pytest.TempPathFactory,
) -> ArticleClient:
    server = await serve_folder(
        AGENTS,
        tmp_path_factory.mktemp("evidence"),
        news.web.environment,
        LIMITS__REQUESTS_PER_MINUTE="100000",
        **gemini(shared_model),
    )
    http: httpx.AsyncClient = server.client
    return ArticleClient(http)


def calls(*named: tuple[str, Json]) -> ToolCalls:
    return ToolCalls(calls=tuple(Call(name=name, args=args) for name, args in named))


def written(html: str) -> ToolCalls:
    return calls(("write_file", {"path": "output/article.html", "content": html}))


async def page_of(client: ArticleClient, status: Json) -> str:
    assert status["status"] == "succeeded", status
    return (await client.http.get(f"{ARTICLES}/{status['article_id']}/html")).text


async def claims_of(client: ArticleClient, status: Json) -> list[Json]:
    found = await client.http.get(f"{ARTICLES}/{status['article_id']}/files/claims.json")
    claims: list[Json] = found.json()
    left = f"/api/workspaces/{status['run_id']}/files"
    there = await client.http.get(left, params={"path": "output/claims.json"})
    assert there.json() == claims
    return claims


async def test_a_brief_reads_the_pages_that_it_cites(
    client: ArticleClient, model: ModelServer, news: News
) -> None:
    brief = (
        f"<h1>Otters today</h1><p>The day in brief.</p><h2>Counted</h2><p>In 2023 the Otter Survey "
        f'Team counted 2,962 sea otters (<a href="{news.url("survey")}">survey</a>).</p>'
        f'<p>They weigh 45 kg (<a href="{news.url("gone")}">gone</a>).</p>'
    )
    model.play([Text(text=brief)])
    status = await client.ended(await client.order("daily-brief", "sea otters"))
    told = json.dumps(model.requests[0].body)
    assert "densest fur" in told
    assert sum(f"/pages/{name}" in told for name in ("survey", "coast", "fur")) == 3
    assert "Found, but not read" in told
    claims = await claims_of(client, status)
    proven = next(one for one in claims if "2,962" in one["claim"])
    assert proven["quotation"] == PAGES["survey"]
    assert proven["source"] == news.url("survey")
    page = await page_of(client, status)
    assert "[not found in the sources: 45]" in page
    assert f'href="{news.url("gone")}"' not in page
    assert "(not read)" in page
    assert f'href="{news.url("survey")}"' in page
    assert "Sources disagree" in page
    assert "3,090" in page


async def test_a_model_that_proves_what_it_says_is_not_marked(
    client: ArticleClient, model: ModelServer, news: News
) -> None:
    statement = "Each square centimetre of its fur has up to 150,000 hairs."
    noted = {
        "claim": statement,
        "quotation": "up to 150,000 hairs per square centimetre",
        "source": news.url("fur"),
    }
    model.play(
        [
            calls(("web_search", {"query": "sea otter"})),
            calls(("fetch_page", {"url": news.url("fur")})),
            calls(("note_claims", {"claims": [noted]})),
            written(f"<h1>Fur</h1><p>{statement}</p>"),
            Text(text="Done."),
        ]
    )
    status = await client.ended(await client.order("deep-research", "otter fur"))
    (claim,) = await claims_of(client, status)
    assert (claim["found"], claim["quotation"]) == (True, noted["quotation"])
    page = await page_of(client, status)
    assert "not found in the sources" not in page
    assert "<summary>Evidence</summary>" in page
    assert "not_in_the_pages" not in json.dumps(model.requests[-1].body)


async def test_a_model_that_lies_is_refused_told_and_marked(
    client: ArticleClient, model: ModelServer, news: News
) -> None:
    lies = [
        {"claim": "9,000 otters.", "quotation": "counted 9,000", "source": news.url("survey")},
        {"claim": "9,000 otters.", "quotation": "counted 9,000", "source": news.url("coast")},
        {"claim": "no quotation"},
    ]
    forged = [{"claim": "9,000", "quotation": "9,000", "source": "x", "found": True}]
    model.play(
        [
            calls(("fetch_page", {"url": news.url("survey")}), ("note_claims", {"claims": lies})),
            calls(("note_claims", {"claims": lies})),
            calls(
                ("write_file", {"path": "output/claims.json", "content": json.dumps(forged)}),
                ("write_file", {"path": "data/claims/x.json", "content": json.dumps(forged)}),
            ),
            written("<h1>Otters</h1><p>There are 9,000 otters, counted in 2023.</p>"),
            Text(text="All of it is proven."),
        ]
    )
    status = await client.ended(
        await client.order("deep-research", f"otters, see {news.url('survey')}")
    )
    told = json.dumps(model.requests[2].body)
    assert "the quotation does not stand in the page" in told
    assert "this page has not been fetched" in told
    assert "not_in_the_pages" in json.dumps(model.requests[-1].body)
    assert [one["found"] for one in await claims_of(client, status)] == [False]
    assert "[not found in the sources: 9,000]" in await page_of(client, status)


async def test_who_reads_nothing_proves_nothing(client: ArticleClient, model: ModelServer) -> None:
    model.play([written("<h1>海獭</h1><p>海獭约有3000只，都在海里。</p>"), Text(text="写好了。")])
    status = await client.ended(await client.order("deep-research", "海獭有多少只"))
    assert "〔来源中未找到：3000〕" in await page_of(client, status)


async def test_a_revision_keeps_its_proof_and_marks_what_is_new(
    client: ArticleClient, model: ModelServer, news: News
) -> None:
    first = "In 2023 the Otter Survey Team counted 2,962 sea otters."
    model.play(
        [
            calls(("fetch_page", {"url": news.url("survey")})),
            written(f"<h1>Otters</h1><p>{first}</p><p>They float.</p>"),
            Text(text="Done."),
        ]
    )
    run = await client.order("deep-research", f"otters, see {news.url('survey')}")
    status = await client.ended(run)
    edit = {"path": "output/article.html", "old": "They float.", "new": "They float 7777 days."}
    model.play([calls(("edit_file", edit)), Text(text="ok")])
    url = f"{ARTICLES}/{status['article_id']}/revisions"
    revised = (await client.http.post(url, json={"prompt": "say how long they float"})).json()
    status = await client.ended(revised)
    page = await page_of(client, status)
    assert "[not found in the sources: 7777]" in page
    assert "not found in the sources: 2,962" not in page
    assert page.count("<summary>Evidence</summary>") == 1
    claims = {one["claim"]: one["source"] for one in await claims_of(client, status)}
    assert claims[first] == news.url("survey")
