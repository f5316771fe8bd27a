"""Files in every door of the coach: a resume comes as one, and goes as one; and `cv` beside it."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from mcp_tools.resume import load_resume
from mcp_tools.resume.export import Format, render
from tests.support.coached import AGENTS, ANSWERS, RESUME
from tests.support.oda_command import Home

pytestmark = pytest.mark.asyncio(loop_scope="module")

SESSIONS = "/api/resume-coach/sessions"
JOB = (
    "We are looking for a regional sales manager. Requirements: experience with Salesforce, "
    "proficiency in Excel and Power BI, and good communication skills."
)

Json = dict[str, Any]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(serve_folder: Any) -> httpx.AsyncClient:
    server = await serve_folder(AGENTS, LIMITS__REQUESTS_PER_MINUTE="100000")
    http: httpx.AsyncClient = server.client
    return http


async def upload(client: httpx.AsyncClient, content: bytes, **form: Any) -> httpx.Response:
    files = {"file": ("resume", content), **form.pop("files", {})}
    return await client.post(f"{SESSIONS}/import", files=files, data=form)


async def say(client: httpx.AsyncClient, view: Json, *messages: str) -> Json:
    for message in messages:
        where = f"{SESSIONS}/{view['session_id']}/messages"
        said = await client.post(where, json={"message": message})
        assert said.status_code == 200, said.text
        view = said.json()
    return view


@pytest.mark.parametrize("format", ["pdf", "docx", "md", "json"])
async def test_a_file_is_coached(client: httpx.AsyncClient, format: Format) -> None:
    content = render(load_resume(RESUME), format).content
    begun = await upload(client, content, intent="sales jobs", job=JOB)
    assert begun.status_code == 201, begun.text
    view = begun.json()
    assert begun.headers["Location"] == f"{SESSIONS}/{view['session_id']}"
    assert view["resume"]["work"][1]["name"] in ("Holloway Timber", "Brickworks")
    assert {"missing_contact", "weak_verbs", "relevance"} <= {t["kind"] for t in view["tasks"]}
    assert view["job"]["missing"] == ["Excel", "Power BI"]


async def test_a_job_may_be_a_file_too(client: httpx.AsyncClient) -> None:
    content = json.dumps(RESUME).encode()
    begun = await upload(client, content, files={"job_file": ("job.md", JOB.encode())})
    assert begun.status_code == 201, begun.text
    assert begun.json()["job"]["missing"] == ["Excel", "Power BI"]


async def test_what_is_no_resume_is_refused(client: httpx.AsyncClient) -> None:
    for content, status in ((b"\x00\x01\x02", 415), (b"%PDF-1.4 broken", 422), (b"", 422)):
        refused = await upload(client, content)
        assert refused.status_code in (status, 415), refused.text
        assert refused.headers["content-type"] == "application/problem+json"
    bare = await client.post(f"{SESSIONS}/import", content=b"x")
    assert bare.status_code == 415
    assert (await client.post(f"{SESSIONS}/import", files={"job": ("a", b"x")})).status_code == 422


@pytest.mark.parametrize("format", ["json", "md", "html", "docx", "pdf"])
async def test_the_result_is_a_file_of_every_kind(client: httpx.AsyncClient, format: str) -> None:
    view = (await client.post(SESSIONS, json={"resume": RESUME, "intent": ""})).json()
    done = await say(client, view, ANSWERS["missing_contact"], "yes")
    where = f"{SESSIONS}/{view['session_id']}/resume"
    file = await client.get(where, params={"format": format})
    assert file.status_code == 200, file.text
    if format == "json":
        assert file.json()["basics"] == done["resume"]["basics"]
    if format in ("md", "html"):
        assert "tom@brennan.example" in file.text
    if format == "pdf":
        assert file.content.startswith(b"%PDF")
    if format != "json":
        assert f"resume-Tom Brennan.{format}" in file.headers["content-disposition"]
    assert (await client.get(where, params={"format": "exe"})).status_code == 422


@pytest.mark.parametrize(
    ("message", "ending"), [("导出 PDF", "pdf"), ("give me a word file", "docx")]
)
async def test_an_export_in_talk_is_an_artifact_with_a_link(
    client: httpx.AsyncClient, message: str, ending: str
) -> None:
    view = (await client.post(SESSIONS, json={"resume": RESUME, "intent": ""})).json()
    drafted = await say(client, view, ANSWERS["missing_contact"])
    told = await say(client, drafted, message)
    assert told["draft"] == drafted["draft"], "the dialogue stays where it was"
    link = next(
        word for word in told["reply"].replace("：", " ").split() if word.startswith("/v1/")
    )
    file = await client.get(link)
    assert file.status_code == 200, (link, file.text)
    assert file.content.startswith({"pdf": b"%PDF", "docx": b"PK"}[ending])
    assert (await say(client, told, "yes"))["progress"]["done"] == 1


async def test_from_a_session_of_cv_and_back_to_it(client: httpx.AsyncClient) -> None:
    chat = {"message": "hello", "resume_data": RESUME}
    routes = (await client.get("/openapi.json")).json()["paths"]
    (cv,) = (
        path
        for path in routes
        if routes[path].get("post", {}).get("operationId") == "send_cv_message"
    )
    session = (await client.post(cv, json=chat)).json()["session_id"]
    begun = await client.post(f"{SESSIONS}/from-cv", json={"cv_session_id": session})
    assert begun.status_code == 201, begun.text
    done = await say(client, begun.json(), ANSWERS["missing_contact"], "yes")
    back = {
        "session_id": session,
        "message": "show my e-mail address",
        "resume_data": done["resume"],
        "replace_resume": True,
    }
    after = (await client.post(cv, json=back)).json()
    assert after["resume"]["basics"]["email"] == "tom@brennan.example"
    undone = (await client.post(cv, json={"session_id": session, "message": "undo"})).json()
    assert "email" not in undone["resume"]["basics"]
    nobody = await client.post(f"{SESSIONS}/from-cv", json={"cv_session_id": "nobody"})
    assert nobody.status_code == 404


async def test_an_export_on_the_terminal(tmp_path: Path) -> None:
    lines = f"{json.dumps(RESUME)}\nexport as markdown\n"
    ended = await Home(tmp_path).run("chat", "resume_coach", "--agents", str(AGENTS), stdin=lines)
    assert ended.code == 0, ended.stderr
    assert "resume-Tom Brennan.md" in ended.stdout
