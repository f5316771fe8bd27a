"""The document of a conversation: who may put it there, at which version, and as what it comes."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from oda.clock import SystemClock
from oda.database.database import open_database
from oda.database.migrate import upgrade
from oda.identity.keys import ApiKeys
from tests.support.cv_tools import ALIAS, PATH, say
from tests.support.official_schema import OFFICIAL

pytestmark = pytest.mark.asyncio(loop_scope="module")

AGENTS = Path(__file__).parents[2] / "agents"
RESUME: dict[str, Any] = {
    "basics": {"name": "李雷", "email": "li@example.com"},
    "work": [{"name": "Google", "position": "SRE", "startDate": "2019-03"}],
}
OTHER: dict[str, Any] = {"basics": {"name": "韩梅梅"}, "skills": [{"name": "Go"}]}
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(serve_folder: Any) -> httpx.AsyncClient:
    served: httpx.AsyncClient = (await serve_folder(AGENTS)).client
    return served


async def start(client: httpx.AsyncClient, resume: dict[str, Any] = RESUME) -> str:
    """A conversation about a resume; its id."""
    response = await say(client, "你好", resume_data=resume)
    assert response["resume"] == resume
    return str(response["session_id"])


def is_problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert problem["code"] == code
    return problem


# --- starting and replacing


async def test_client_data_starts_a_session_in_the_canonical_shape(
    client: httpx.AsyncClient,
) -> None:
    seed = {
        "basic": {"name": "李雷"},
        "workExperience": [{"company": "腾讯", "position": "前端", "endDate": "至今"}],
        "education": [{"school": "清华", "major": "计算机", "degree": "本科"}],
    }
    response = await say(client, "看看我的工作经历", resume_data=seed)
    assert response["resume"] == {
        "basics": {"name": "李雷"},
        "work": [{"name": "腾讯", "position": "前端"}],
        "education": [{"institution": "清华", "area": "计算机", "studyType": "本科"}],
    }
    assert "腾讯" in response["reply"]
    assert response["metadata"]["resume_data_ignored"] is False


async def test_client_data_never_overwrites_a_session(client: httpx.AsyncClient) -> None:
    session = await start(client)
    response = await say(client, "我叫什么名字", session_id=session, resume_data=OTHER)
    assert response["metadata"]["resume_data_ignored"] is True
    assert "李雷" in response["reply"]
    assert response["resume"] == RESUME
    without = await say(client, "我叫什么名字", session_id=session)
    assert without["metadata"]["resume_data_ignored"] is False


async def test_a_name_of_the_clients_own_starts_a_session(client: httpx.AsyncClient) -> None:
    first = await say(client, "hello", session_id="mine", resume_data=RESUME)
    again = await say(client, "hello", session_id="mine", resume_data=OTHER)
    assert first["session_id"] == again["session_id"] == "mine"
    assert again["resume"] == RESUME


async def test_of_two_clients_that_start_one_session_one_does(client: httpx.AsyncClient) -> None:
    answers = await asyncio.gather(
        *(say(client, "hello", session_id="both", resume_data=data) for data in (RESUME, OTHER))
    )
    ignored = [answer["metadata"]["resume_data_ignored"] for answer in answers]
    assert sorted(ignored) == [False, True]
    assert answers[0]["resume"] == answers[1]["resume"] == (OTHER if ignored[0] else RESUME)


async def test_a_document_replaces_another_when_that_is_asked_for(
    client: httpx.AsyncClient,
) -> None:
    session = await start(client)
    response = await say(
        client, "我叫什么名字", session_id=session, resume_data=OTHER, replace_resume=True
    )
    assert "韩梅梅" in response["reply"]
    assert response["resume"] == {**OTHER, "meta": {"version": 1}}
    assert response["metadata"]["resume_data_ignored"] is False
    undone = await say(client, "撤销", session_id=session)
    assert undone["resume"] == {**RESUME, "meta": {"version": 2}}


@pytest.mark.parametrize("empty", [{}, {"work": [], "basics": {}}, {"meta": {"version": 7}}])
async def test_an_empty_document_never_replaces_a_full_one(
    client: httpx.AsyncClient, empty: dict[str, Any]
) -> None:
    session = await start(client)
    response = await say(client, "你好", session_id=session, resume_data=empty, replace_resume=True)
    assert response["resume"] == RESUME
    assert response["metadata"]["resume_data_ignored"] is True


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"work": "Google"}, "resume_data.work"),
        ({"basics": []}, "resume_data.basics"),
        ({"work": [{"name": {"x": 1}}]}, "resume_data.work.0.name"),
        ({"skills": [1]}, "resume_data.skills.0"),
    ],
)
async def test_a_document_that_is_none_is_refused_and_nothing_is_changed(
    client: httpx.AsyncClient, wrong: dict[str, Any], field: str
) -> None:
    session = await start(client)
    body = {"message": "add Go to my skills", "resume_data": wrong, "replace_resume": True}
    for named in ({}, {"session_id": session}):
        problem = is_problem(
            await client.post(PATH, json={**body, **named}), 422, "invalid_document"
        )
        assert problem["errors"][0]["field"] == field
    assert (await client.get(f"{PATH}/{session}/resume")).json() == RESUME


# --- versions


async def test_every_edit_makes_the_version_greater_by_one(client: httpx.AsyncClient) -> None:
    session = await start(client)
    for version, message in enumerate(("add Go to my skills", "delete Go", "undo"), 1):
        response = await say(client, message, session_id=session, expected_version=version - 1)
        assert response["metadata"]["version"] == version
    assert (await say(client, "show my skills", session_id=session))["metadata"]["version"] == 3


async def test_a_stale_version_is_a_conflict_and_nothing_is_done(
    client: httpx.AsyncClient,
) -> None:
    session = await start(client)
    await say(client, "add Go to my skills", session_id=session)
    before = (await client.get(f"{PATH}/{session}/resume")).json()
    turns = f"/v1/apps/cv/sessions/{session}/turns"
    sent = len((await client.get(turns)).json()["turns"])
    for more in ({}, {"resume_data": OTHER, "replace_resume": True}):
        body = {"message": "添加技能Rust", "session_id": session, "expected_version": 0, **more}
        for path in (PATH, ALIAS):
            problem = is_problem(await client.post(path, json=body), 409, "version_conflict")
            assert (problem["version"], problem["expected_version"]) == (1, 0)
            assert "1" in problem["detail"]
            assert "版本" in problem["detail"]
    assert (await client.get(f"{PATH}/{session}/resume")).json() == before
    assert len((await client.get(turns)).json()["turns"]) == sent


async def test_a_new_session_has_the_version_of_its_document(client: httpx.AsyncClient) -> None:
    resume = {**RESUME, "meta": {"version": 4}}
    stale = {
        "message": "add Go to my skills",
        "session_id": "at-four",
        "resume_data": resume,
        "expected_version": 3,
    }
    is_problem(await client.post(PATH, json=stale), 409, "version_conflict")
    assert (await client.get(f"{PATH}/at-four/resume")).status_code == 404
    response = await say(
        client,
        "add Go to my skills",
        session_id="at-four",
        resume_data=resume,
        expected_version=4,
    )
    assert response["metadata"]["version"] == 5


@pytest.mark.parametrize("replaces", [False, True])
async def test_of_many_who_have_seen_the_same_version_one_is_served(
    client: httpx.AsyncClient, replaces: bool
) -> None:
    session = await start(client)

    async def edit(number: int) -> httpx.Response:
        body: dict[str, Any] = {"message": f"add skill Tool{number}"}
        if replaces:
            body = {
                "message": "hello",
                "resume_data": {**RESUME, "skills": [{"name": f"Tool{number}"}]},
                "replace_resume": True,
            }
        body |= {"session_id": session, "expected_version": 0}
        return await client.post((PATH, ALIAS)[number % 2], json=body)

    answers = await asyncio.gather(*map(edit, range(8)))
    served = [answer for answer in answers if answer.status_code == 200]
    assert len(served) == 1
    for answer in answers:
        if answer not in served:
            assert is_problem(answer, 409, "version_conflict")["version"] == 1
    resume = (await client.get(f"{PATH}/{session}/resume")).json()
    assert resume == served[0].json()["resume"]
    assert len(resume["skills"]) == 1


async def test_without_a_version_many_edits_at_once_are_all_kept(
    client: httpx.AsyncClient,
) -> None:
    session = await start(client)
    answers = await asyncio.gather(
        *(say(client, f"add skill Tool{n}", session_id=session) for n in range(8))
    )
    versions = [answer["metadata"]["version"] for answer in answers]
    assert sorted(versions) == [1, 2, 3, 4, 5, 6, 7, 8]
    for answer in answers:
        assert len(answer["resume"]["skills"]) == answer["metadata"]["version"]


# --- files


@pytest.mark.parametrize("path", [PATH, ALIAS])
async def test_the_resume_comes_as_the_document_or_as_a_file(
    client: httpx.AsyncClient, path: str
) -> None:
    session = await start(client)
    here = f"{path}/{session}/resume"
    for query in ({}, {"format": "json"}):
        plain = await client.get(here, params=query)
        assert plain.headers["content-type"] == "application/json"
        assert plain.json() == RESUME
    await say(client, "把名字改成李雷", session_id=session)
    document, exported = (await client.get(here)).json(), await client.get(f"{here}?format=json")
    assert document["meta"]["version"] == 1
    OFFICIAL.validate(exported.json())
    assert exported.json() == {**document, "meta": {"version": "1"}}
    starts = {"md": b"#", "html": b"<!DOCTYPE html>", "docx": b"PK", "pdf": b"%PDF-"}
    types = {"md": "text/markdown; charset=utf-8", "html": "text/html; charset=utf-8"}
    types |= {"docx": DOCX, "pdf": "application/pdf"}
    for format_, begin in starts.items():
        for template in ("classic", "modern"):
            file = await client.get(here, params={"format": format_, "template": template})
            assert file.status_code == 200, file.text
            assert file.headers["content-type"] == types[format_]
            assert file.content.startswith(begin)
            how = "inline" if format_ == "html" else "attachment"
            name = f"resume-%E6%9D%8E%E9%9B%B7.{format_}"
            disposition = file.headers["content-disposition"]
            assert disposition.startswith(f"{how}; filename=")
            assert disposition.endswith(f"filename*=UTF-8''{name}")


async def test_a_page_that_a_user_has_made_runs_nothing(client: httpx.AsyncClient) -> None:
    hostile = {"basics": {"name": "<script>alert(1)</script>", "url": "javascript:alert(1)"}}
    session = await start(client, hostile)
    page = await client.get(f"{PATH}/{session}/resume", params={"format": "html"})
    policy = page.headers["content-security-policy"]
    assert "sandbox" in policy and "default-src 'none'" in policy
    assert "script-src" not in policy and "allow-scripts" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    assert "<script>alert" not in page.text


async def test_the_tag_of_a_document_changes_with_it(client: httpx.AsyncClient) -> None:
    session = await start(client)
    here = f"{PATH}/{session}/resume"
    tags = [(await client.get(here)).headers["etag"] for _ in range(2)]
    await say(client, "add Go to my skills", session_id=session)
    tags.append((await client.get(here)).headers["etag"])
    assert tags[0] == tags[1] != tags[2]


@pytest.mark.parametrize("query", [{"format": "exe"}, {"template": "x"}, {"language": "xx"}])
async def test_an_unknown_format_is_refused(
    client: httpx.AsyncClient, query: dict[str, str]
) -> None:
    session = await start(client)
    answer = await client.get(f"{PATH}/{session}/resume", params=query)
    is_problem(answer, 422, "invalid_request")


@pytest.mark.parametrize("path", [PATH, ALIAS])
async def test_a_file_starts_a_conversation(client: httpx.AsyncClient, path: str) -> None:
    content = json.dumps(RESUME, ensure_ascii=False).encode()
    answers = [
        await client.post(f"{path}/import", files={"file": ("cv.json", content)}),
        await client.post(
            f"{path}/import", content=content, headers={"Content-Type": "application/json"}
        ),
    ]
    for answer in answers:
        assert answer.status_code == 201, answer.text
        made = answer.json()
        assert set(made) == {"session_id", "resume", "format", "warnings", "version"}
        assert (made["format"], made["resume"], made["version"]) == ("json", RESUME, 0)
        assert (await client.get(answer.headers["location"])).json() == RESUME
        response = await say(client, "我叫什么名字", session_id=made["session_id"])
        assert "李雷" in response["reply"]


@pytest.mark.parametrize("format_", ["md", "docx", "pdf"])
async def test_a_file_that_we_have_made_can_be_imported(
    client: httpx.AsyncClient, format_: str
) -> None:
    session = await start(client)
    file = await client.get(f"{PATH}/{session}/resume", params={"format": format_})
    files = {"file": (f"cv.{format_}", file.content, file.headers["content-type"])}
    made = await client.post(f"{PATH}/import", files=files)
    assert made.status_code == 201, made.text
    assert made.json()["resume"]["basics"]["email"] == "li@example.com"
    assert [job["name"] for job in made.json()["resume"]["work"]] == ["Google"]


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 4, 415, "unknown_file_type"),
        (b"%PDF-1.7 and no more", 422, "broken_file"),
        (b'{"work": "Google"}', 422, "invalid_document"),
        (b"", 422, "nothing_found"),
        (b"x" * (6 * 2**20), 413, "file_too_large"),
        (b"x" * (21 * 2**20), 413, "too_large"),
    ],
)
async def test_a_file_that_is_no_resume_is_refused(
    client: httpx.AsyncClient, content: bytes, status: int, code: str
) -> None:
    sent = {"Content-Type": "application/octet-stream"}
    raw = await client.post(f"{PATH}/import", content=content, headers=sent)
    is_problem(raw, status, code)
    is_problem(await client.post(f"{PATH}/import", files={"file": ("cv", content)}), status, code)


async def test_a_form_without_a_file_is_refused(client: httpx.AsyncClient) -> None:
    without = await client.post(f"{PATH}/import", files={"other": ("a", b"x")})
    assert is_problem(without, 422, "invalid_request")["errors"][0]["field"] == "file"
    text = await client.post(f"{PATH}/import", files={"file": (None, "text")})
    is_problem(text, 422, "invalid_request")
    is_problem(await client.post(f"{PATH}/import", data={"a": "b"}), 415, "unsupported_media_type")
    broken = {"Content-Type": "multipart/form-data; boundary=x"}
    is_problem(
        await client.post(f"{PATH}/import", content=b"nonsense", headers=broken), 400, "malformed"
    )


# --- ownership


async def test_another_users_session_is_not_there(client: httpx.AsyncClient) -> None:
    session = await start(client)
    other = {"X-Oda-User": "somebody-else"}
    for name in (session, "never-made"):
        answer = await client.get(f"{PATH}/{name}/resume", headers=other)
        is_problem(answer, 404, "session_not_found")
    body = {"message": "我叫什么名字", "session_id": session}
    theirs = await client.post(PATH, json=body, headers=other)
    assert theirs.json()["resume"] == {}
    assert (await client.get(f"{PATH}/{session}/resume")).json() == RESUME


async def test_a_closed_server_wants_a_key_here_too(serve_folder: Any, tmp_path: Path) -> None:
    async with open_database(f"sqlite:///{tmp_path / 'oda.db'}") as database:
        await upgrade(database.engine)
        keys = ApiKeys(database, SystemClock())
        anna, bert = [(await keys.create(name, "user"))[1] for name in ("anna", "bert")]
    closed = (await serve_folder(AGENTS, tmp_path)).client
    body = {"message": "我叫什么名字", "session_id": "one", "resume_data": RESUME}
    for path in (PATH, ALIAS):
        for answer in (
            await closed.post(path, json=body),
            await closed.get(f"{path}/one/resume"),
            await closed.post(f"{path}/import", content=b"{}"),
        ):
            is_problem(answer, 401, "unauthenticated")
    as_anna = {"Authorization": f"Bearer {anna}"}
    answer = await closed.post(PATH, json=body, headers=as_anna)
    assert "李雷" in answer.json()["reply"]
    here = f"{PATH}/one/resume"
    assert (await closed.get(here, headers=as_anna)).json() == RESUME
    as_bert = {"Authorization": f"Bearer {bert}"}
    is_problem(await closed.get(here, headers=as_bert), 404, "session_not_found")
