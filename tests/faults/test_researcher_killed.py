"""The researcher's server is killed in each node; its next life makes the one article."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from oda.cli.chaos.processes import ForkServer, Server
from oda.testing import ModelServer
from oda.testing.script import Call, Text, ToolCalls
from tests.support.article_runs import ARTICLES, ArticleClient, Json
from tests.support.killing_statement import ARMED_BY, Kill
from tests.support.local_web import LocalWeb
from tests.support.model_settings import gemini

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.sandbox]

AGENTS = Path(__file__).parents[1] / "support" / "killed_researcher"
ARTICLE = "<h1>Otters</h1><p>Many of them.</p>"
EVENT = "INSERT INTO events"


class Place:
    """A server that dies and lives again, its model, its web, and what arms it."""

    def __init__(self, server: Server, model: ModelServer, web: LocalWeb, armed: Path) -> None:
        self.server = server
        self.model = model
        self.web = web
        self.armed = armed
        self.http = httpx.AsyncClient(base_url=server.url, timeout=30)
        self.client = ArticleClient(self.http)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(
    fork_server: ForkServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Place]:
    data = tmp_path_factory.mktemp("killed")
    armed = data / "kill"
    async with ModelServer() as model, LocalWeb() as web:
        settings = {
            **{f"ODA_{name}": value for name, value in gemini(model).items()},
            **web.environment,
            "ODA_LIMITS__REQUESTS_PER_MINUTE": "100000",
            ARMED_BY: str(armed),
        }
        server = Server(fork_server, data, settings, agents=AGENTS)
        await server.start()
        place = Place(server, model, web, armed)
        try:
            yield place
        finally:
            await place.http.aclose()
            await server.kill()


@pytest.mark.parametrize(
    ("words", "committed"),
    [
        ((EVENT, "researcher_run"), True),
        ((EVENT, "search@1"), False),
        ((EVENT, "write@1"), False),
        ((EVENT, "write@1"), True),
        (("researcher_article_files",), False),
        (("researcher_article_files",), True),
        ((EVENT, "publish@1"), False),
    ],
    ids=lambda value: "committed" if value is True else None,
)
async def test_one_answer_becomes_one_article(
    place: Place, words: tuple[str, ...], committed: bool
) -> None:
    place.model.reset()
    place.model.play([Text(text=ARTICLE, times=None)])
    Kill(words=words, committed=committed).arm(place.armed)
    run = await place.client.order("daily-brief", "sea otter")
    await _died_and_lives(place)
    await _made_once(place, run)
    asked_again = words == (EVENT, "write@1") and not committed
    assert place.model.received == (2 if asked_again else 1)


@pytest.mark.parametrize(
    ("words", "committed"),
    [
        ((EVENT, "researcher_run"), False),
        ((EVENT, "function_call"), True),
        ((EVENT, "function_response"), False),
        (("researcher_article_files",), True),
    ],
    ids=lambda value: "committed" if value is True else None,
)
async def test_what_an_agent_has_done_stays_done(
    place: Place, words: tuple[str, ...], committed: bool
) -> None:
    place.model.reset()
    note = {"path": "data/notes.md", "content": "kept"}
    page = {"path": "output/article.html", "content": ARTICLE}
    place.model.play(
        [
            ToolCalls(calls=(Call(name="write_file", args=note),)),
            ToolCalls(calls=(Call(name="write_file", args=page),)),
            Text(text="It is there."),
        ]
    )
    Kill(words=words, committed=committed).arm(place.armed)
    run = await place.client.send("data-analysis", ("a.csv", b"1"), ("b.csv", b"2"))
    await _died_and_lives(place)
    status = await _made_once(place, run)
    assert (status["rounds"], place.model.received) == (3, 3)
    assert [file["path"] for file in status["files"]] == [
        "data/notes.md",
        "input/a.csv",
        "input/b.csv",
        "output/article.html",
    ]


async def _died_and_lives(place: Place) -> None:
    await place.server.exited()
    assert place.server.was_killed, place.server.output()
    await place.server.start()


async def _made_once(place: Place, run: Json) -> Json:
    """The run has succeeded, with one message, one event for each node, and one article."""
    status = await place.client.ended(run)
    assert (status["status"], status["error"]) == ("succeeded", None), place.server.output()
    session = f"/v1/apps/researcher/sessions/{run['session_id']}"
    events = (await place.client.get(f"{session}/events"))["events"]
    said = [one for one in events if one["author"] == "user" and not _path(one)]
    assert len(said) == 1, json.dumps(events)
    published = [one for one in events if "publish@1" in _path(one)]
    assert len(published) == 1, json.dumps(events)
    assert [turn["turn_id"] for turn in (await place.client.get(f"{session}/turns"))["turns"]] == [
        run["run_id"]
    ]
    articles = (await place.client.get(ARTICLES))["articles"]
    assert [one["id"] for one in articles if one["run_id"] == run["run_id"]] == [
        status["article_id"]
    ]
    return status


def _path(event: Json) -> str:
    return str((event.get("nodeInfo") or {}).get("path") or "")
