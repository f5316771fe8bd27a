"""The researcher as careless and hostile clients meet it, and with models that fail."""

import asyncio
import base64
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import pytest_asyncio
import yaml

from oda.testing import ModelServer
from oda.testing.script import Call, Empty, Error, Hang, Step, Text, ToolCalls
from tests.support.article_runs import ARTICLES, ArticleClient
from tests.support.local_web import Answer, LocalWeb
from tests.support.model_settings import gemini

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.sandbox]

AGENTS = Path(__file__).parents[2] / "agents"
PAGE = "<h1>Otters</h1><p>Many of them.</p>"
EVE = {"X-Oda-User": "eve"}
WITHIN_S = 20.0
OWN: dict[str, dict[str, Any]] = {
    "poem": {"agent_mode": False, "prompt": "A poem: {request}. Mood: {mood}. {article_rules}"},
    "dossier": {
        "agent_mode": True,
        "capabilities": ["base", "writer"],
        "prompt": "A dossier: {request}. Mood: {mood}. {article_rules}",
    },
}


async def never(_: Any = None) -> AsyncIterator[bytes]:
    yield b"{"
    await asyncio.Event().wait()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stalling_web() -> AsyncIterator[LocalWeb]:
    async with LocalWeb(lambda _: Answer(never())) as web:
        yield web


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(
    serve_folder: Any,
    shared_model: ModelServer,
    stalling_web: LocalWeb,
    tmp_path_factory: pytest.TempPathFactory,
) -> Any:
    config = tmp_path_factory.mktemp("config")
    (config / "templates").mkdir()
    mood = {"type": "string", "enum": ["glad", "sad"], "default": "glad", "description": "how"}
    for name, own in OWN.items():
        titles = {"title": {"en": name, "zh": name}, "description": {"en": name, "zh": name}}
        template = {"name": name, **titles, "options": {"mood": mood}, **own}
        (config / "templates" / f"{name}.yaml").write_text(yaml.safe_dump(template))
    return await serve_folder(
        AGENTS,
        tmp_path_factory.mktemp("data"),
        stalling_web.environment,
        CONFIG_DIR=str(config),
        TURN__ON_LIMIT="ask",
        LIMITS__REQUESTS_PER_MINUTE="100000",
        **gemini(shared_model),
    )


@pytest.fixture
def http(server: Any) -> httpx.AsyncClient:
    client: httpx.AsyncClient = server.client
    return client


@pytest.fixture
def client(http: httpx.AsyncClient) -> ArticleClient:
    return ArticleClient(http)


def call(name: str, **args: Any) -> ToolCalls:
    return ToolCalls(calls=(Call(name=name, args=args),))


def written(page: str = PAGE) -> list[Step]:
    return [call("write_file", path="output/article.html", content=page), Text(text="Done.")]


def form(*parts: tuple[str, bytes]) -> dict[str, Any]:
    """A multipart body, with whatever stands in the heads of its parts."""
    body = b"".join(
        b"--zz\r\nContent-Disposition: form-data; %b\r\n\r\n%b\r\n" % (head.encode(), content)
        for head, content in parts
    )
    headers = {"Content-Type": "multipart/form-data; boundary=zz"}
    return {"content": body + b"--zz--\r\n", "headers": headers}


NAMED = ('name="template"', b"data-analysis")
TUTORIAL = ('name="template"', b"tutorial")
JSON = {"Content-Type": "application/json"}
BAD_ORDERS: dict[str, tuple[dict[str, Any], int, str]] = {
    "no type": ({}, 415, "multipart/form-data"),
    "urlencoded": ({"data": {"template": "tutorial"}}, 415, "multipart/form-data"),
    "half JSON": ({"content": "{", "headers": JSON}, 400, "no JSON"),
    "no boundary": ({"content": "x", "headers": {"Content-Type": "multipart/form-data"}}, 400, ""),
    "no form": ({**form(), "content": b"x"}, 400, ""),
    "two templates": (form(TUTORIAL, NAMED), 422, "template: is there more than once"),
    "options twice": (form(TUTORIAL, *[('name="options"', b"{}")] * 2), 422, "options"),
    "broken options": (form(TUTORIAL, ('name="options"', b"{")), 422, "options: is no JSON"),
    "options of a list": (form(TUTORIAL, ('name="options"', b"[1]")), 422, "options"),
    "a strange field": (form(TUTORIAL, ('name="files"', b"x")), 422, "files"),
    "a file for a field": (form(('name="template"; filename="t"', b"tutorial")), 422, "template"),
    "21 files": (form(NAMED, *[('name="files"; filename="a.csv"', b"1")] * 21), 400, "20"),
    "11 files": (
        form(NAMED, *((f'name="files"; filename="{n}.csv"', b"%d" % n) for n in range(11))),
        422,
        "at most 10",
    ),
    "a wrong file": (
        form(TUTORIAL, ('name="prompt"', b"x"), ('name="files"; filename="a.txt"', b"1")),
        422,
        "the file 'a.txt'",
    ),
    "huge options": (
        {"json": {"template": "tutorial", "prompt": "x", "options": {"language": "x" * 10**6}}},
        422,
        "options.language",
    ),
    "an empty prompt": ({"json": {"template": "tutorial", "prompt": " \n"}}, 422, "prompt"),
    "a bad session": (
        {"json": {"template": "tutorial", "prompt": "x", "session_id": "../x"}},
        422,
        "session_id",
    ),
    "25 MB": (form(NAMED, ('name="files"; filename="a.csv"', b"x" * 25_000_000)), 413, "larger"),
}


@pytest.mark.parametrize("name", BAD_ORDERS)
async def test_a_bad_order_is_told_what_is_wrong(http: httpx.AsyncClient, name: str) -> None:
    sent, status, word = BAD_ORDERS[name]
    refused = await http.post(ARTICLES, **sent)
    assert refused.status_code == status, refused.text
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert word in refused.json()["detail"]


async def test_files_get_harmless_names(client: ArticleClient, model: ModelServer) -> None:
    sent = {
        "../../etc/passwd.csv": "passwd.csv",
        "a/b\\c.csv": "c.csv",
        "😀.csv": "😀.csv",
        "a\0b.csv": "ab.csv",
        ".oda-x.csv": "oda-x.csv",
        "e\u0301.csv": "é.csv",
        "user:a.csv": "user_a.csv",
        "metadata.json": "upload-metadata.json",
        "empty.csv": "empty.csv",
    }
    files = [(f'name="files"; filename="{name}"', name.encode()) for name in sent]
    files[-1] = (files[-1][0], b"")
    model.play(written())
    accepted = await client.http.post(ARTICLES, **form(NAMED, *files))
    assert accepted.status_code == 202, accepted.text
    status = await client.ended(accepted.json())
    assert status["status"] == "succeeded", status
    uploads = [file["path"] for file in status["files"] if file["path"].startswith("input/")]
    assert uploads == sorted(f"input/{name}" for name in sent.values())


async def test_two_files_of_one_name_are_both_there(
    client: ArticleClient, model: ModelServer
) -> None:
    model.play(written())
    status = await client.ended(
        await client.send("data-analysis", ("a.csv", b"1"), ("a.csv", b"2"), ("a.csv", b"1"))
    )
    assert [(file["path"], file["bytes"]) for file in status["files"]][:2] == [
        ("input/a-2.csv", 1),
        ("input/a.csv", 1),
    ]
    assert len(status["files"]) == 3


async def test_what_a_run_has_left_is_downloaded_in_pieces(
    client: ArticleClient, model: ModelServer, server: Any
) -> None:
    code = "open('output/big.bin', 'wb').write(bytes(range(256)) * 80_000)"
    model.play([call("run_python", code=code), *written()])
    run = await client.send("data-analysis", ("a.csv", b"1"))
    await client.ended(run)
    url = f"/api/workspaces/{run['run_id']}/files"
    big = {"path": "output/big.bin"}
    whole = await client.http.get(url, params=big)
    assert whole.content == bytes(range(256)) * 80_000
    assert whole.headers["Content-Length"] == str(256 * 80_000)
    assert whole.headers["Content-Type"] == "application/octet-stream"
    async with client.http.stream("GET", url, params=big) as left:
        assert left.status_code == 200
        assert "big.bin" in _open_files(server)
    await _until(lambda: "big.bin" not in _open_files(server))
    for path, status, code in [
        ("output/nothing", 404, "not_found"),
        ("../..", 422, "path_refused"),
        ("output/..%2f..", 422, "path_refused"),
        ("output%5Cbig.bin", 422, "path_refused"),
        ("/etc/passwd", 422, "path_refused"),
        ("x" * 600, 422, "path_refused"),
        ("%00", 400, "malformed"),
    ]:
        refused = await client.http.get(f"{url}?path={path}")
        assert (refused.status_code, refused.json()["code"]) == (status, code), path
    for method in ("PUT", "HEAD", "POST", "DELETE"):
        assert (await client.http.request(method, url)).status_code == 405


async def test_articles_and_runs_of_others_are_not_there(
    client: ArticleClient, model: ModelServer
) -> None:
    model.play([call("write_file", path="output/a b/ü#?.txt", content="hi"), *written()])
    run = await client.order("deep-research")
    article = f"{ARTICLES}/{(await client.ended(run))['article_id']}"
    run_url = f"{ARTICLES}/runs/{run['run_id']}"
    for method, url in [
        ("GET", run_url),
        ("GET", f"{run_url}/events"),
        ("POST", f"{run_url}/cancel"),
        ("GET", f"/api/workspaces/{run['run_id']}/files"),
        ("GET", article),
        ("GET", f"{article}/html"),
        ("GET", f"{article}/files/cover.svg"),
        ("DELETE", article),
    ]:
        assert (await client.http.request(method, url, headers=EVE)).status_code == 404, url
    name = quote("a b/ü#?.txt", safe="")
    assert (await client.http.get(f"{article}/files/{name}")).text == "hi"
    for wrong in ("a b", "..%2Farticle.html", "%2Farticle.html", "article.html%2F"):
        assert (await client.http.get(f"{article}/files/{wrong}")).status_code == 404
    deleted = await client.http.delete(f"/v1/apps/researcher/sessions/{run['session_id']}")
    assert deleted.status_code == 204
    assert (await client.http.get(run_url)).status_code == 404
    assert (await client.http.get(article)).status_code == 200


async def test_lists_and_keys_refuse_garbage(
    client: ArticleClient, http: httpx.AsyncClient
) -> None:
    for query in (
        "limit=0",
        "limit=201",
        "limit=x",
        "cursor=garbage",
        "cursor=",
        "query=" + "x" * 201,
    ):
        assert (await http.get(f"{ARTICLES}?{query}")).status_code == 422, query
    for url in (f"{ARTICLES}/nothing", f"{ARTICLES}/runs/nothing", "/api/workspaces/nothing/files"):
        assert (await http.get(url)).status_code == 404
    key = {"Idempotency-Key": "one"}
    orders = [{"template": "tutorial", "prompt": prompt} for prompt in ("a", "b")]
    answers = [await http.post(ARTICLES, json=order, headers=key) for order in orders]
    assert [answer.status_code for answer in answers] == [202, 422]
    assert answers[1].json()["code"] == "idempotency_conflict"
    await client.ended(answers[0].json())


@pytest.mark.parametrize(
    ("answer", "code", "calls"),
    [
        (Text(text="<script>alert(1)</script>"), "no_content", 1),
        (Text(text="```html\n```"), "no_content", 1),
        (Empty(times=None), "no_content", 4),
        (Error(status=400, message="no such thing"), "bad_request", 1),
    ],
    ids=["a script", "nothing in a fence", "nothing", "refused"],
)
async def test_a_model_without_an_article_fails_the_run(
    client: ArticleClient, model: ModelServer, answer: Step, code: str, calls: int
) -> None:
    model.play([answer])
    status = await client.ended(await client.order("tutorial"))
    assert (status["status"], status["article_id"]) == ("failed", None)
    assert (status["error"]["code"], model.received) == (code, calls)
    assert "retry" not in status["error"]["message"] or calls > 1


async def test_markdown_becomes_an_article(client: ArticleClient, model: ModelServer) -> None:
    model.play([Text(text="# Otters\n\nThey *swim*.\n\n```python\nprint(1 < 2)\n```\n")])
    status = await client.ended(await client.order("tutorial"))
    html = (await client.http.get(f"{ARTICLES}/{status['article_id']}/html")).text
    assert "<em>swim</em>" in html
    assert "print(1 &lt; 2)" in html


async def test_a_failing_model_is_asked_again_and_nothing_is_done_twice(
    client: ArticleClient, model: ModelServer
) -> None:
    code = "open('data/times.txt', 'a').write('x'); print(open('data/times.txt').read())"
    busy = Error(status=429, retry_after=0.05)
    model.play([busy, call("run_python", code=code), busy, *written(), busy])
    status = await client.ended(await client.send("data-analysis", ("a.csv", b"1")))
    assert (status["status"], status["rounds"], model.received) == ("succeeded", 3, 5)
    url = f"/api/workspaces/{status['run_id']}/files"
    assert (await client.http.get(url, params={"path": "data/times.txt"})).text == "x"


@pytest.mark.parametrize("where", ["model", "search"])
async def test_a_run_is_cancelled_wherever_it_is(
    client: ArticleClient, model: ModelServer, stalling_web: LocalWeb, where: str
) -> None:
    model.play([Hang()])
    asked = len(stalling_web.requests)
    run = await client.order("tutorial" if where == "model" else "daily-brief")
    await _until(lambda: model.received > 0 or len(stalling_web.requests) > asked)
    assert (await client.look(run))["status"] == "running"
    await client.cancel(run)
    status = await client.ended(run)
    assert (status["status"], status["article_id"], status["error"]) == ("cancelled", None, None)
    assert (await client.cancel(run))["status"] == "cancelled"


async def test_a_run_that_waits_is_told(client: ArticleClient, model: ModelServer) -> None:
    model.play([Hang(), *written()])
    first = await client.order("tutorial")
    queued = await client.order("tutorial", session_id=first["session_id"])
    status = await client.look(queued)
    assert (status["status"], status["rounds"], status["files"]) == ("queued", 0, [])
    for run in (queued, first):
        await client.cancel(run)
    session = f"/v1/apps/researcher/sessions/{first['session_id']}"
    message = json.dumps({"template": "deep-research", "prompt": "x"})
    model.play(written())
    body = {"message": message, "limits": {"model_calls": 1}}
    turn = (await client.http.post(f"{session}/turns", json=body)).json()["turn"]
    status = await client.look({"run_id": turn["turn_id"]})
    assert (status["status"], status["rounds"]) == ("waiting_input", 1)
    assert [file["path"] for file in status["files"]] == ["output/article.html"]
    responses = {"responses": [{"id": turn["pending_input"][0]["id"], "confirmed": True}]}
    await client.http.post(f"/v1/turns/{turn['turn_id']}/input", json=responses)
    status = await client.ended({"run_id": turn["turn_id"]})
    assert (status["status"], status["rounds"]) == ("succeeded", 2)


async def test_a_message_of_a_template_is_checked_as_an_order_is(
    client: ArticleClient, model: ModelServer
) -> None:
    session = (await client.http.post("/v1/apps/researcher/sessions", json={})).json()
    turns = f"/v1/apps/researcher/sessions/{session['session_id']}/turns"
    data = base64.b64encode(b"a\n1\n").decode()
    nameless = {"inlineData": {"mimeType": "text/csv", "data": data}}
    for asked, word in [
        ({"template": "tutorial", "prompt": ""}, "prompt"),
        ({"template": "poem", "prompt": "x", "options": {"mood": "cross"}}, "options.mood"),
        ({"template": "data-analysis", "prompt": "x"}, "needs a file"),
        ({"template": "deep-research", "prompt": "x", "files": ["a.txt"]}, "a.txt"),
    ]:
        answer = await client.http.post(turns, json={"message": json.dumps(asked)})
        turn = answer.json()["turn"]
        assert (turn["status"], turn["error"]["code"]) == ("failed", "invalid_request")
        assert word in turn["error"]["message"]
    model.play(written())
    parts = [{"text": json.dumps({"template": "data-analysis"})}, nameless]
    answer = await client.http.post(turns, json={"message": {"parts": parts}})
    assert answer.json()["turn"]["status"] == "succeeded"


async def test_templates_of_ones_own(client: ArticleClient, model: ModelServer) -> None:
    model.play([Text(text=PAGE)])
    status = await client.ended(await client.order("poem", options={"mood": "sad"}))
    assert (status["status"], status["rounds"]) == ("succeeded", 1)
    assert "A poem: otters. Mood: sad." in json.dumps(model.requests[-1].body)
    model.play(written())
    status = await client.ended(await client.order("dossier"))
    assert (status["status"], status["rounds"]) == ("succeeded", 2)
    assert "A dossier: otters. Mood: glad." in json.dumps(model.requests[-1].body)
    listed = await client.get(f"{ARTICLES}?template=dossier")
    assert [one["id"] for one in listed["articles"]] == [status["article_id"]]


async def _until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + WITHIN_S
    while not holds():
        assert time.monotonic() < until
        await asyncio.sleep(0.02)


def _open_files(server: Any) -> str:
    """Names of what the server's process has open."""
    handles = Path(f"/proc/{server.process.pid}/fd")
    names = []
    for handle in handles.iterdir():
        try:
            names.append(os.readlink(handle))  # noqa: PTH115 - what it names is no path of ours
        except OSError:
            continue
    return "\n".join(names)
