"""A run leaves its article, whatever happens to it: at the limit of its rounds, without one at the
end, with a model that fails, in a process that is killed."""

import json
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from oda.testing import ModelServer
from oda.testing.script import Call, Error, Hang, Text, ToolCalls
from tests.support.article_runs import ARTICLES, ArticleClient, Json
from tests.support.model_settings import gemini

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.sandbox]

AGENTS = Path(__file__).parents[2] / "agents"
PAGE = "<h1>Sea otters</h1><p>They live in the sea.</p>"
FINISHED = "<h1>Sea otters, finished</h1><p>They live in the sea.</p>"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(
    serve_folder: Any, shared_model: ModelServer, tmp_path_factory: pytest.TempPathFactory
) -> ArticleClient:
    server = await serve_folder(
        AGENTS,
        tmp_path_factory.mktemp("rounds"),
        LIMITS__REQUESTS_PER_MINUTE="100000",
        **gemini(shared_model),
    )
    http: httpx.AsyncClient = server.client
    return ArticleClient(http)


def call(name: str, **args: Any) -> ToolCalls:
    return ToolCalls(calls=(Call(name=name, args=args),))


def write(path: str, content: str) -> ToolCalls:
    return call("write_file", path=path, content=content)


def looks(times: int) -> ToolCalls:
    return ToolCalls(calls=(Call(name="list_files", args={}),), times=times)


async def article_of(client: ArticleClient, status: Json) -> Json:
    article: Json = await client.get(f"{ARTICLES}/{status['article_id']}")
    return article


async def page_of(client: ArticleClient, status: Json) -> str:
    return (await client.http.get(f"{ARTICLES}/{status['article_id']}/html")).text


async def test_each_round_is_told_how_many_are_left(
    client: ArticleClient, model: ModelServer
) -> None:
    model.play([looks(3), write("output/article.html", PAGE), Text(text="Done.")])
    status = await client.ended(await client.order("deep-research"))
    assert (status["status"], status["rounds"]) == ("succeeded", 5)
    bodies = [json.dumps(request.body) for request in model.requests]
    assert all("You have 15 rounds" in body for body in bodies)
    left = [14, 13, 12, 11]
    for body, number in zip(bodies[1:], left, strict=True):
        assert body.count("rounds_left") == 2  # in the instructions, and in the newest result
        assert f'"rounds_left": {number}' in body


async def test_the_last_round_may_write_the_article(
    client: ArticleClient, model: ModelServer
) -> None:
    model.play([looks(14), write("output/article.html", PAGE)])
    status = await client.ended(await client.order("deep-research"))
    assert (status["status"], status["rounds"], model.received) == ("succeeded", 15, 15)
    article = await article_of(client, status)
    assert (article["title"], article["finished"]) == ("Sea otters", True)
    last = json.dumps(model.requests[-1].body)
    assert "output/article.html has not been written" in last
    assert '"ANY"' in last
    assert "has not been written" in json.dumps(model.requests[-2].body)
    assert "has not been written" not in json.dumps(model.requests[5].body)


async def test_who_would_end_without_an_article_gets_one_round_to_write_it(
    client: ArticleClient, model: ModelServer
) -> None:
    model.play([looks(2), Text(text="Here is what I found."), write("output/article.html", PAGE)])
    status = await client.ended(await client.order("deep-research"))
    assert (status["status"], status["rounds"], model.received) == ("succeeded", 4, 4)
    assert (await article_of(client, status))["title"] == "Sea otters"


async def test_an_answer_never_becomes_the_article_by_accident(
    client: ArticleClient, model: ModelServer
) -> None:
    model.play(
        [
            write("data/notes.md", "- 2962 otters were counted in 2023."),
            Text(text="I am going to write the article now."),
            Text(text="I have written the article."),
        ]
    )
    status = await client.ended(await client.order("deep-research", "Sea otters"))
    assert (status["status"], status["rounds"], model.received) == ("succeeded", 3, 3)
    article = await article_of(client, status)
    assert (article["title"], article["finished"]) == ("Sea otters", False)
    page = await page_of(client, status)
    assert "This is unfinished" in page
    assert "2962 otters" in page


async def test_a_model_that_will_not_stop_leaves_what_it_has_noted(
    client: ArticleClient, model: ModelServer
) -> None:
    model.play([write("data/notes.md", "# Notes\n\nOtters float."), looks(20)])
    status = await client.ended(await client.order("deep-research", "Sea otters"))
    assert (status["status"], status["rounds"], model.received) == ("succeeded", 15, 15)
    assert "Otters float" in await page_of(client, status)


@pytest.mark.parametrize(
    ("written", "title"),
    [
        (("output/article.html", PAGE), "Sea otters"),
        (("data/notes.md", "- They live in the sea."), "otters of the sea"),
    ],
    ids=["article", "notes"],
)
async def test_a_model_that_fails_in_round_14_leaves_the_article(
    client: ArticleClient, model: ModelServer, written: tuple[str, str], title: str
) -> None:
    model.play([looks(11), write(*written), looks(1), Error(status=400, times=None)])
    status = await client.ended(await client.order("deep-research", "otters of the sea"))
    assert (status["status"], status["rounds"]) == ("failed", 13)
    article = await article_of(client, status)
    assert (article["title"], article["finished"]) == (title, False)
    assert "live in the sea" in await page_of(client, status)


async def test_a_process_that_is_killed_in_round_14_leaves_the_article(
    serve_folder: Any, shared_model: ModelServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = tmp_path_factory.mktemp("killed_rounds")
    shared_model.reset()
    shared_model.play([looks(12), write("output/article.html", PAGE), Hang()])
    settings = {"LIMITS__REQUESTS_PER_MINUTE": "100000", **gemini(shared_model)}
    server = await serve_folder(AGENTS, data, **settings)
    client = ArticleClient(server.client)
    run = await client.order("deep-research")
    await shared_model.wait_until(lambda server: server.received >= 14, timeout_s=30)
    found = (await client.get(ARTICLES))["articles"]
    assert [(one["run_id"], one["finished"]) for one in found] == [(run["run_id"], False)]
    await server.stop(signal.SIGKILL)

    shared_model.play([write("output/article.html", FINISHED), Text(text="Done.")])
    server = await serve_folder(AGENTS, data, **settings)
    client = ArticleClient(server.client)
    status = await client.ended(run)
    assert (status["status"], status["rounds"]) == ("succeeded", 15)
    article = await article_of(client, status)
    assert (article["title"], article["finished"]) == ("Sea otters, finished", True)
    assert article["version"] == 1


async def test_an_answer_that_was_cut_off_is_marked(
    client: ArticleClient, model: ModelServer
) -> None:
    model.play([Text(text="<!doctype html><html><h1>Otters</h1><p>They live in the")])
    status = await client.ended(await client.order("tutorial"))
    assert (await article_of(client, status))["finished"] is False
