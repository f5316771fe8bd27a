"""The researcher as clients meet it: runs over HTTP with a real sandbox, a real web and a model
that is scripted on the wire."""

import asyncio
import io
import json
import signal
import zipfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import openpyxl
import pdfplumber
import pytest
import pytest_asyncio

from agents.researcher.translation import read_segments
from oda.testing import ModelServer
from oda.testing.script import Call, Match, Text, ToolCalls
from tests.support.local_web import LocalWeb
from tests.support.model_settings import gemini
from tests.support.tool_calls import tool_call
from tests.support.translated import pdf_report, word_report, workbook
from tests.support.videos import make_video, needs_ffmpeg

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.sandbox]

AGENTS = Path(__file__).parents[2] / "agents"
ARTICLES = "/api/articles"
PATIENCE_S = 60.0
SALES = "month,region,sales\n2026-01,北区,120\n2026-01,南区,80\n2026-02,北区,150\n2026-02,南区,95\n"
FINAL = frozenset({"succeeded", "failed", "cancelled"})

Json = dict[str, Any]

CHART = """
import pandas as pd
import matplotlib.pyplot as plt

sales = pd.read_csv("input/sales.csv")
by_month = sales.groupby("month")["sales"].sum()
print(by_month.to_dict())
by_month.plot.bar(title="每月销售额")
plt.tight_layout()
plt.savefig("output/sales.png")
with pd.ExcelWriter("output/sales.xlsx") as book:
    sales.to_excel(book, sheet_name="data", index=False)
    by_month.to_frame().to_excel(book, sheet_name="by month")
"""
PAGE = """<!doctype html><html lang="zh"><head><title>销售分析</title></head><body><h1>销售分析</h1>
<p>二月的销售额比一月高两成多。</p><figure><img src="sales.png" alt="每月销售额"></figure>
<script>alert(1)</script></body></html>"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def web() -> AsyncIterator[LocalWeb]:
    async with LocalWeb() as web:
        yield web


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(
    serve_folder: Any, shared_model: ModelServer, web: LocalWeb, data: Path
) -> httpx.AsyncClient:
    server = await serve_folder(
        AGENTS,
        data,
        {**web.environment, "ODA_SECRET_TOKEN_OF_THE_HOST": "kept-from-code"},
        LIMITS__REQUESTS_PER_MINUTE="100000",
        **gemini(shared_model),
    )
    http: httpx.AsyncClient = server.client
    return http


def calls(*named: tuple[str, Json], **match: str) -> ToolCalls:
    return ToolCalls(
        calls=tuple(Call(name=name, args=args) for name, args in named), match=Match(**match)
    )


async def order(
    client: httpx.AsyncClient, template: str, prompt: str, *, files: Json | None = None, **more: Any
) -> Json:
    """Have an article made; the run as it was accepted."""
    if files is None:
        body = {"template": template, "prompt": prompt, **more}
        accepted = await client.post(ARTICLES, json=body)
    else:
        fields = {"template": template, "prompt": prompt}
        fields |= {name: json.dumps(value) for name, value in more.items()}
        sent = [("files", (name, content)) for name, content in files.items()]
        accepted = await client.post(ARTICLES, data=fields, files=sent)
    assert accepted.status_code == 202, accepted.text
    run: Json = accepted.json()
    assert accepted.headers["Location"] == f"{ARTICLES}/runs/{run['run_id']}"
    return run


async def ended(client: httpx.AsyncClient, run: Json) -> Json:
    """The run when it has ended."""
    async with asyncio.timeout(PATIENCE_S):
        async for kind, _ in followed(client, run):
            if kind == "done":
                break
    return await looked_at(client, run)


async def looked_at(client: httpx.AsyncClient, run: Json) -> Json:
    found = await client.get(f"{ARTICLES}/runs/{run['run_id']}")
    assert found.status_code == 200, found.text
    status: Json = found.json()
    return status


async def followed(
    client: httpx.AsyncClient, run: Json, view: str = "events"
) -> AsyncIterator[tuple[str, Json]]:
    url = f"{ARTICLES}/runs/{run['run_id']}/events"
    async with client.stream("GET", url, params={"view": view}) as stream:
        kind = ""
        async for line in stream.aiter_lines():
            if line.startswith("event: "):
                kind = line.removeprefix("event: ")
            elif line.startswith("data: "):
                yield kind, json.loads(line.removeprefix("data: "))


async def printing(client: httpx.AsyncClient, run: Json) -> None:
    """Wait until the code of a run prints."""
    async with asyncio.timeout(PATIENCE_S):
        async for kind, data in followed(client, run, "messages"):
            if kind == "content" and "progress" in (data["data"] or {}):
                return


def words_in(document: bytes) -> str:
    """All text of a PDF, or of an office file."""
    if document.startswith(b"%PDF"):
        with pdfplumber.open(io.BytesIO(document)) as pdf:
            return "".join(page.extract_text() for page in pdf.pages)
    with zipfile.ZipFile(io.BytesIO(document)) as packed:
        return "".join(packed.read(name).decode("utf-8", "ignore") for name in packed.namelist())


async def article_of(client: httpx.AsyncClient, status: Json) -> Json:
    assert status["article_id"], status
    found = await client.get(f"{ARTICLES}/{status['article_id']}")
    assert found.status_code == 200
    article: Json = found.json()
    return article


async def test_deep_research_finds_reads_and_writes(
    client: httpx.AsyncClient, model: ModelServer, web: LocalWeb
) -> None:
    url = web.page_url("otters")
    page = f"<h1>Sea otters</h1><p>Dense fur.</p><h2>Sources</h2><a href='{url}'>otter</a>"
    model.play(
        [
            calls(("web_search", {"query": "sea otter"})),
            calls(("fetch_page", {"url": url}), ("fetch_page", {"url": web.page_url("tips")})),
            calls(("write_file", {"path": "output/article.html", "content": page})),
            Text(text="The article is ready."),
        ]
    )
    status = await ended(client, await order(client, "deep-research", "What about sea otters?"))
    assert (status["status"], status["rounds"], status["error"]) == ("succeeded", 4, None)
    left = [one["path"] for one in status["files"]]
    assert [path for path in left if path.startswith("output/")] == [
        "output/article.html",
        "output/claims.json",
    ]
    assert sum(path.startswith("data/pages/") for path in left) == 2
    article = await article_of(client, status)
    assert (article["title"], article["template"]) == ("Sea otters", "deep-research")
    html = await client.get(f"{ARTICLES}/{article['id']}/html")
    assert url in html.text
    assert "sandbox" in html.headers["Content-Security-Policy"]
    told = json.dumps(model.requests[2].body, ensure_ascii=False)
    assert "densest fur" in told
    assert "untrusted-" in told
    assert "Ignore all earlier instructions" in told


async def test_data_analysis_with_a_chart_and_a_workbook(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    probe = "import os; print(os.environ); print(open('/proc/1/environ').read())"
    model.play(
        [
            calls(("list_files", {})),
            calls(("read_file", {"path": "input/sales.csv"})),
            *(calls(("run_python", {"code": f"print({number})"})) for number in range(6)),
            calls(("run_python", {"code": probe})),
            calls(("read_file", {"path": "../../../etc/passwd"})),
            calls(("write_file", {"path": "/etc/cron.d/evil", "content": "x"})),
            calls(("run_python", {"code": CHART})),
            calls(("write_file", {"path": "output/article.html", "content": PAGE})),
            calls(("list_files", {"path": "output"})),
            Text(text="分析写好了。"),
        ]
    )
    run = await order(client, "data-analysis", "分析销售额", files={"sales.csv": SALES.encode()})
    told = [entry async for entry in followed(client, run, "messages")]
    status = await looked_at(client, run)
    assert (status["status"], status["rounds"]) == ("succeeded", 15)
    steps = [
        data["detail"] for kind, data in told if kind == "span.start" and "turn" in data["detail"]
    ]
    assert [detail["turn"] for detail in steps][:15] == list(range(1, 16))
    printed = [
        data["data"]["progress"]["text"]
        for kind, data in told
        if kind == "content" and "progress" in (data["data"] or {})
    ]
    assert "0\n" in printed
    asked = json.dumps([request.body for request in model.requests], ensure_ascii=False)
    assert "kept-from-code" not in asked
    assert asked.count("path_refused") >= 2
    article = await article_of(client, status)
    names = {file["name"] for file in article["files"]}
    assert names >= {"article.html", "cover.svg", "sales.png", "sales.xlsx"}
    html = (await client.get(f"{ARTICLES}/{article['id']}/html")).text
    assert "data:image/png;base64," in html
    assert "<script" not in html
    sheet = await client.get(f"{ARTICLES}/{article['id']}/files/sales.xlsx")
    book = openpyxl.load_workbook(io.BytesIO(sheet.content))
    assert [cell.value for cell in book["by month"][2]] == ["2026-01", 200]


async def test_one_search_and_one_answer(client: httpx.AsyncClient, model: ModelServer) -> None:
    model.play([Text(text="```html\n<h1>Otter news</h1><p>Many otters.</p>\n```")])
    run = await order(client, "daily-brief", "sea otter")
    status = await ended(client, run)
    assert (status["status"], status["rounds"]) == ("succeeded", 1)
    told = json.dumps(model.requests[0].body)
    assert "densest fur" in told
    assert (await article_of(client, status))["title"] == "Otter news"
    events = f"{ARTICLES}/runs/{run['run_id']}/events"
    assert (await client.get(events, params={"after": 10_000})).status_code == 204


async def test_slides_come_as_a_page_and_as_a_file(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    model.play([Text(text="<h1>Otters</h1><h2>Fur</h2><ul><li>dense</li></ul>")])
    status = await ended(client, await order(client, "slides", "otters"))
    names = {file["name"] for file in (await article_of(client, status))["files"]}
    assert names == {"article.html", "cover.svg", "slides.pptx"}


@pytest.mark.parametrize(
    ("name", "make"),
    [("a.docx", word_report), ("a.xlsx", workbook), ("a.pdf", pdf_report)],
    ids=["docx", "xlsx", "pdf"],
)
async def test_a_document_comes_back_in_its_format(
    client: httpx.AsyncClient,
    model: ModelServer,
    tmp_path: Path,
    name: str,
    make: Callable[[Path], None],
) -> None:
    async with tool_call(tmp_path) as (context, workspace):
        path = workspace.path / "input" / name
        make(path)
        content = path.read_bytes()
        segments = (await read_segments(f"input/{name}", context))["segments"]
    texts = {one["id"]: f"{one['text']} 译" for one in segments}
    kept = {"path": f"input/{name}", "target_path": f"output/{name}", "translations": texts}
    model.play(
        [
            calls(("read_segments", {"path": f"input/{name}"})),
            calls(("write_translations", kept)),
            Text(text="翻译好了。"),
        ]
    )
    run = await order(client, "translate-document", "", files={name: content})
    status = await ended(client, run)
    assert (status["status"], status["rounds"]) == ("succeeded", 3)
    article = await article_of(client, status)
    assert name in {file["name"] for file in article["files"]}
    translated = await client.get(f"{ARTICLES}/{article['id']}/files/{name}")
    assert "译" in words_in(translated.content)
    preview = await client.get(f"{ARTICLES}/{article['id']}/html")
    assert "data:image/jpeg" in preview.text if name.endswith("pdf") else "译" in preview.text


@needs_ffmpeg
async def test_a_video_is_looked_at_and_written_about(
    client: httpx.AsyncClient, model: ModelServer, tmp_path: Path
) -> None:
    make_video(tmp_path / "talk.mp4")
    content = (tmp_path / "talk.mp4").read_bytes()
    model.play([Text(text="<h1>A test picture</h1><p>It moves.</p>")])
    run = await order(client, "video-analysis", "What is in it?", files={"talk.mp4": content})
    status = await ended(client, run)
    assert (status["status"], status["rounds"]) == ("succeeded", 1)
    told = model.requests[0].body["contents"][-1]["parts"]
    assert sum("inlineData" in part or "inline_data" in part for part in told) == 12
    assert (await article_of(client, status))["title"] == "A test picture"


async def test_at_the_limit_it_concludes_with_what_it_has(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    again = ToolCalls(calls=(Call(name="list_files", args={}),), times=None)
    model.play([again])
    status = await ended(client, await order(client, "deep-research", "Go on for ever"))
    assert (status["status"], status["rounds"], model.received) == ("succeeded", 15, 15)
    assert "last answer" in json.dumps(model.requests[-1].body)
    assert "last answer" not in json.dumps(model.requests[-2].body)


async def test_two_runs_at_once_see_their_own_files_only(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    code = "import os; print(sorted(os.listdir('input')))"
    model.play(
        [
            step
            for name in ("alpha", "beta")
            for step in (
                calls(("run_python", {"code": code}), last_user=f"work on {name}"),
                Text(text=f"<h1>{name}</h1><p>done</p>", match=Match(after_tool=True)),
            )
        ]
    )
    runs = [
        await order(client, "data-analysis", f"work on {name}", files={f"{name}.csv": b"a\n1\n"})
        for name in ("alpha", "beta")
    ]
    ends = await asyncio.gather(*(ended(client, run) for run in runs))
    assert [status["status"] for status in ends] == ["succeeded"] * 2
    found = [{file["path"] for file in status["files"]} for status in ends]
    assert found == [{"input/alpha.csv"}, {"input/beta.csv"}]


async def test_a_cancelled_run_leaves_what_it_has_written(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    endless = "print('begun', flush=True)\nwhile True: pass"
    model.play(
        [
            calls(("write_file", {"path": "output/draft.html", "content": "<p>half</p>"})),
            calls(("run_python", {"code": endless})),
        ]
    )
    run = await order(client, "data-analysis", "go", files={"a.csv": b"a\n1\n"})
    await printing(client, run)
    cancelled = await client.post(f"{ARTICLES}/runs/{run['run_id']}/cancel")
    assert cancelled.status_code == 200
    status = await ended(client, run)
    assert (status["status"], status["article_id"]) == ("cancelled", None)
    assert "output/draft.html" in [file["path"] for file in status["files"]]
    left = f"/api/workspaces/{run['run_id']}/files"
    draft = await client.get(left, params={"path": "output/draft.html"})
    assert (draft.status_code, draft.text) == (200, "<p>half</p>")
    assert draft.headers["Content-Disposition"].startswith("attachment")
    other = await client.get(left, headers={"X-Oda-User": "eve"})
    assert other.status_code == 404
    out = await client.get(left, params={"path": "../../../oda.db"})
    assert (out.status_code, out.json()["code"]) == (422, "path_refused")


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [
        ({"template": "poem", "prompt": "x"}, 422, "deep-research"),
        ({"template": "deep-research"}, 422, "prompt"),
        ({"template": "deep-research", "prompt": "x", "options": {"colour": 1}}, 422, "colour"),
        ({"template": "data-analysis", "prompt": "x"}, 422, "needs a file"),
        ({"template": "deep-research", "prompt": "x", "extra": 1}, 422, "extra"),
        ([], 422, "object"),
    ],
)
async def test_bad_orders_are_refused(
    client: httpx.AsyncClient, body: Any, status: int, word: str
) -> None:
    refused = await client.post(ARTICLES, json=body)
    assert refused.status_code == status
    assert word in json.dumps(refused.json(), ensure_ascii=False)


async def test_articles_are_listed_searched_and_deleted(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    model.play([Text(text="<h1>Über Wölfe</h1><p>Graue Tiere.</p>")])
    key = {"Idempotency-Key": "wolves"}
    body = {"template": "tutorial", "prompt": "Wölfe"}
    first = await client.post(ARTICLES, json=body, headers=key)
    status = await ended(client, first.json())
    again = await client.post(ARTICLES, json=body, headers=key)
    assert again.json() == first.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    found = (await client.get(ARTICLES, params={"query": "wölfe"})).json()["articles"]
    assert [one["id"] for one in found] == [status["article_id"]]
    theirs = await client.get(ARTICLES, headers={"X-Oda-User": "eve"})
    assert theirs.json()["articles"] == []
    url = f"{ARTICLES}/{status['article_id']}"
    assert (await client.get(url, headers={"X-Oda-User": "eve"})).status_code == 404
    assert (await client.delete(url)).status_code == 204
    assert (await client.get(url)).status_code == 404


async def test_a_killed_server_goes_on_with_the_run(
    serve_folder: Any, shared_model: ModelServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = tmp_path_factory.mktemp("killed")
    slow = "import time\nprint('begun', flush=True)\ntime.sleep(1)\nprint('slept')"
    shared_model.reset()
    shared_model.play(
        [
            calls(("write_file", {"path": "data/notes.md", "content": "kept"})),
            calls(("run_python", {"code": slow})),
            calls(("read_file", {"path": "data/notes.md"})),
            Text(text="<h1>Gone on</h1><p>done</p>"),
        ]
    )
    settings = {"LIMITS__REQUESTS_PER_MINUTE": "100000", **gemini(shared_model)}
    server = await serve_folder(AGENTS, data, **settings)
    run = await order(server.client, "data-analysis", "go", files={"a.csv": b"a\n1\n"})
    await printing(server.client, run)
    await server.stop(signal.SIGKILL)
    server = await serve_folder(AGENTS, data, **settings)
    status = await ended(server.client, run)
    assert (status["status"], status["rounds"]) == ("succeeded", 4)
    told = json.dumps(shared_model.requests[-1].body)
    assert "kept" in told
    assert "slept" in told
    session = f"/v1/apps/researcher/sessions/{run['session_id']}"
    turns = (await server.client.get(f"{session}/turns")).json()["turns"]
    assert [turn["turn_id"] for turn in turns] == [run["run_id"]]
