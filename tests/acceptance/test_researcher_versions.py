"""Going on with an article over HTTP: versions are made, listed, compared and restored, with models
that do as they are told, that do not, and that claim what they have not done."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from oda.testing import ModelServer
from oda.testing.script import Call, Error, Match, Text, ToolCalls
from tests.support.article_runs import ARTICLES, ArticleClient, Json
from tests.support.model_settings import gemini

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.sandbox]

AGENTS = Path(__file__).parents[2] / "agents"
FUR = "The fur of the sea otter is the densest of all animals, with many hairs."
PAGE = f"""<!doctype html><html lang="en"><body><h1>Sea otters</h1>
<p>Sea otters live in the northern Pacific, and this is about them.</p>
<h2>Fur</h2><p>{FUR}</p>
<h2>Numbers</h2><p>There are many of them again.</p></body></html>"""
CHART = """
import matplotlib.pyplot as plt
import os
os.makedirs("output/charts", exist_ok=True)
plt.plot([2019, 2024], [1, 2])
plt.savefig("output/charts/counts.png")
"""
FIGURE = '<figure><img src="charts/counts.png" alt="Counts from 2019 to 2024"></figure>'


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def http(
    serve_folder: Any, shared_model: ModelServer, tmp_path_factory: pytest.TempPathFactory
) -> httpx.AsyncClient:
    server = await serve_folder(
        AGENTS,
        tmp_path_factory.mktemp("versions"),
        LIMITS__REQUESTS_PER_MINUTE="100000",
        **gemini(shared_model),
    )
    client: httpx.AsyncClient = server.client
    return client


def calls(*named: tuple[str, Json], **match: Any) -> ToolCalls:
    return ToolCalls(
        calls=tuple(Call(name=name, args=args) for name, args in named), match=Match(**match)
    )


def edit(old: str, new: str) -> ToolCalls:
    return calls(("edit_file", {"path": "output/article.html", "old": old, "new": new}))


class Talk:
    """A session that has made an article."""

    def __init__(self, http: httpx.AsyncClient, run: Json, article_id: str) -> None:
        self.http = http
        self.run = run
        self.url = f"{ARTICLES}/{article_id}"

    async def say(self, text: str) -> str:
        """Say something; all that was said in reply."""
        turns = f"/v1/apps/researcher/sessions/{self.run['session_id']}/turns"
        answer = await self.http.post(turns, json={"message": text}, timeout=60)
        assert answer.status_code == 200, answer.text
        self.turn: Json = answer.json()
        return json.dumps(self.turn, ensure_ascii=False)

    async def versions(self) -> list[Json]:
        found: list[Json] = (await self.http.get(f"{self.url}/versions")).json()["versions"]
        return found

    async def page(self, version: int | None = None) -> str:
        place = "" if version is None else f"/versions/{version}"
        return (await self.http.get(f"{self.url}{place}/html")).text


@pytest_asyncio.fixture(loop_scope="module")
async def talk(http: httpx.AsyncClient, model: ModelServer) -> AsyncIterator[Talk]:
    client = ArticleClient(http)
    model.play([Text(text=PAGE)])
    run = await client.order("tutorial", "sea otters")
    status = await client.ended(run)
    assert status["status"] == "succeeded", status
    yield Talk(http, run, status["article_id"])


async def test_an_article_is_revised_three_times_compared_and_restored(
    talk: Talk, model: ModelServer
) -> None:
    model.play([edit(FUR, "Its fur is the densest."), Text(text="Done, the section is shorter.")])
    told = await talk.say("make the section about fur shorter")
    assert "densest of all animals" in json.dumps(model.requests[-1].body)
    assert "Version 2" in told
    assert "[-" in told

    model.play(
        [
            calls(("run_python", {"code": CHART})),
            edit("many of them again.</p>", f"many of them again.</p>{FIGURE}"),
            Text(text="There is a chart now."),
        ]
    )
    await talk.say("add a chart of 2019–2024")
    assert "data:image/png;base64," in await talk.page()

    zh = '<html lang="zh"><body><h1>海獭</h1><p>海獭生活在北太平洋，这里讲它。</p></body></html>'
    whole = {"path": "output/article.html", "content": zh}
    model.play([calls(("write_file", whole)), Text(text="译好了。")])
    await talk.say("translate it into Chinese")
    shown = (await talk.http.get(talk.url)).json()
    assert (shown["version"], shown["title"], shown["language"]) == (4, "海獭", "zh")
    assert (shown["template"], shown["finished"]) == ("tutorial", True)

    listed = await talk.versions()
    assert [one["version"] for one in listed] == [4, 3, 2, 1]
    assert listed[2]["change"] == "make the section about fur shorter"
    assert FUR in await talk.page(1)
    charts = f"{talk.url}/versions/3/files/charts/counts.png"
    assert (await talk.http.get(charts)).content.startswith(b"\x89PNG")

    of_two = {"before": 1, "after": 2}
    compared = (await talk.http.get(f"{talk.url}/comparison", params=of_two)).json()
    (change,) = compared["changes"]
    assert (change["kind"], change["section"]) == ("changed", "Fur")
    assert (change["before"], change["after"]) == (FUR, "Its fur is the densest.")
    assert "Fur" in compared["text"]

    for _ in range(2):
        restored = await talk.http.post(f"{talk.url}/restore", json={"version": 3})
        assert restored.status_code == 200, restored.text
        assert (restored.json()["version"], restored.json()["restored_from"]) == (5, 3)
    assert await talk.page() == await talk.page(3)
    assert [one["version"] for one in await talk.versions()] == [5, 4, 3, 2, 1]
    every = (await talk.http.get(ARTICLES)).json()["articles"]
    assert [one["version"] for one in every if one["id"] == talk.url.rpartition("/")[2]] == [5]


async def test_versions_are_talked_about_without_a_model(talk: Talk, model: ModelServer) -> None:
    model.play([edit(FUR, "毛很密。"), Text(text="好了。")])
    await talk.say("把毛皮那一节写短一点")
    model.play([Error(status=500, times=None)])
    asked = model.received
    assert "把毛皮那一节写短一点" in await talk.say("有哪些版本？")
    assert "毛很密" in await talk.say("what changed?")
    assert "第 3 版已恢复为第 1 版" in await talk.say("恢复到第一版")
    assert FUR in await talk.page()
    assert "no version 9" in await talk.say("go back to version 9")
    assert "第 1 版的内容" in await talk.say("恢复到第一版")
    assert model.received == asked
    assert len(await talk.versions()) == 3


async def test_undo_goes_back_step_by_step(talk: Talk, model: ModelServer) -> None:
    for old, new in ((FUR, "Two."), ("Two.", "Three.")):
        model.play([edit(old, new), Text(text="ok")])
        await talk.say("change it")
    await talk.say("undo")
    assert "Two." in await talk.page()
    await talk.say("undo")
    assert FUR in await talk.page()
    assert "only one version" not in await talk.say("versions")
    assert "no version 0" in await talk.say("undo")


async def test_a_question_makes_no_version(talk: Talk, model: ModelServer) -> None:
    model.play([Text(text="Because they have no blubber.")])
    told = await talk.say("Why is the fur so dense?")
    assert "has not been changed" not in told
    assert len(await talk.versions()) == 1


async def test_who_claims_a_change_that_was_not_made_is_contradicted(
    talk: Talk, model: ModelServer
) -> None:
    model.play([Text(text="I have made the section shorter.")])
    told = await talk.say("make the section about fur shorter")
    assert "The article has not been changed; version 1 stays" in told
    assert len(await talk.versions()) == 1


async def test_an_edit_that_does_not_fit_changes_nothing(talk: Talk, model: ModelServer) -> None:
    model.play([edit("no such words", "x"), edit("e", "x"), Text(text="It does not work.")])
    await talk.say("make it shorter")
    told = json.dumps(model.requests[-1].body)
    assert "does not stand" in told
    assert "times in" in told
    assert len(await talk.versions()) == 1


async def test_what_a_bad_model_has_torn_out_comes_back(talk: Talk, model: ModelServer) -> None:
    stub = {"path": "output/article.html", "content": "<h1>Otters</h1><p>(rest unchanged)</p>"}
    model.play([calls(("write_file", stub)), Text(text="I only made it shorter.")])
    told = await talk.say("make the section about fur shorter")
    assert "Removed" in told
    await talk.say("undo that")
    assert FUR in await talk.page()


async def test_another_article_is_one_of_its_own(talk: Talk, model: ModelServer) -> None:
    other = {"path": "output/new-article.html", "content": "<h1>Seals</h1><p>About seals.</p>"}
    model.play([calls(("write_file", other)), Text(text="A new one.")])
    await talk.say("Now write an article about seals, too")
    assert len(await talk.versions()) == 1
    newest, *_ = (await talk.http.get(ARTICLES)).json()["articles"]
    assert (newest["title"], newest["version"]) == ("Seals", 1)
    model.play([Text(text="It is about seals.")])
    await talk.say("What is it about?")
    assert "About seals" in json.dumps(model.requests[-1].body)


async def test_a_tool_brings_a_version_back_and_more(talk: Talk, model: ModelServer) -> None:
    model.play([edit(FUR, "Short."), Text(text="ok")])
    await talk.say("make it shorter")
    model.play(
        [
            calls(("list_versions", {}), ("compare_versions", {"before": 1, "after": 2})),
            calls(("restore_version", {"version": 1}), ("restore_version", {"version": 7})),
            edit("<h1>Sea otters</h1>", "<h1>Otters of the sea</h1>"),
            Text(text="Version 1 with another title."),
        ]
    )
    await talk.say("go back to version 1 but call it Otters of the sea")
    assert "not_found" in json.dumps(model.requests[-1].body)
    page = await talk.page()
    assert FUR in page
    assert "Otters of the sea" in page


async def test_a_revision_is_ordered_over_http(talk: Talk, model: ModelServer) -> None:
    model.play([edit(FUR, "Short."), Text(text="ok")])
    order = {"prompt": "shorten the fur"}
    key = {"Idempotency-Key": "one"}
    accepted = await talk.http.post(f"{talk.url}/revisions", json=order, headers=key)
    assert accepted.status_code == 202, accepted.text
    again = await talk.http.post(f"{talk.url}/revisions", json=order, headers=key)
    assert (again.json(), again.headers["Idempotent-Replayed"]) == (accepted.json(), "true")
    status = await ArticleClient(talk.http).ended(accepted.json())
    assert (status["status"], status["article_id"]) == ("succeeded", talk.url.rpartition("/")[2])
    assert status["session_id"] == talk.run["session_id"]
    assert "Short." in await talk.page()


async def test_a_revision_that_fails_leaves_the_article(talk: Talk, model: ModelServer) -> None:
    model.play([edit(FUR, "Half."), Error(status=400, message="broken", times=None)])
    order = {"prompt": "shorten the fur, then add numbers"}
    accepted = (await talk.http.post(f"{talk.url}/revisions", json=order)).json()
    status = await ArticleClient(talk.http).ended(accepted)
    assert status["status"] == "failed"
    assert FUR in await talk.page()


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/versions/9", None, 404),
        ("GET", "/versions/9/html", None, 404),
        ("GET", "/versions/0", None, 422),
        ("GET", "/versions/99999999999", None, 422),
        ("GET", "/versions/1/files/none.png", None, 404),
        ("GET", "/comparison?before=1&after=9", None, 404),
        ("POST", "/restore", {"version": 9}, 404),
        ("POST", "/restore", {"version": "1"}, 422),
        ("POST", "/revisions", {"prompt": " "}, 422),
        ("POST", "/revisions", {"prompt": "x", "more": 1}, 422),
    ],
)
async def test_bad_requests_for_versions(
    talk: Talk, method: str, path: str, body: Json | None, status: int
) -> None:
    refused = await talk.http.request(method, f"{talk.url}{path}", json=body)
    assert refused.status_code == status, refused.text


async def test_versions_are_the_owners_and_go_with_the_article(
    talk: Talk, model: ModelServer
) -> None:
    model.play([edit(FUR, "Short."), Text(text="ok")])
    await talk.say("make it shorter")
    eve = {"X-Oda-User": "eve"}
    for method, path, body in (
        ("GET", "/versions", None),
        ("GET", "/versions/1/html", None),
        ("GET", "/comparison", None),
        ("POST", "/restore", {"version": 1}),
        ("POST", "/revisions", {"prompt": "x"}),
    ):
        answer = await talk.http.request(method, f"{talk.url}{path}", json=body, headers=eve)
        assert answer.status_code == 404, path
    assert (await talk.http.delete(talk.url)).status_code == 204
    assert (await talk.http.get(f"{talk.url}/versions/1")).status_code == 404
    model.play([Text(text="There is none.")])
    await talk.say("What did we write?")
