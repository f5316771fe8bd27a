"""Whatever is sent to the resume agent's endpoint: a problem at worst, no word of the inside."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from tests.support.cv_tools import ALIAS, PATH, say
from tests.support.hostile import BODIES, IDS, LEAKS, Hostile
from tests.support.largest_resumes import largest_resumes

pytestmark = pytest.mark.asyncio(loop_scope="module")

AGENTS = Path(__file__).parents[2] / "agents"
SURROGATE = b'{"message": "x\\ud800", "resume_data": {"\\udfff": "\\ud800"}}'
WRONG: list[dict[str, Any]] = [
    {},
    {"message": None},
    {"message": 1},
    {"message": ""},
    {"message": " \n"},
    {"message": ["x"]},
    {"message": {"parts": [{"text": "x"}]}},
    {"message": "x", "unknown": 1},
    {"message": "x", "session_id": 1},
    {"message": "x", "session_id": ""},
    {"message": "x", "session_id": "a/b"},
    {"message": "x", "session_id": "a\x00b"},
    {"message": "x", "session_id": "s" * 129},
    {"message": "x", "session_id": "s" * 100_000},
    {"message": "x", "resume_data": []},
    {"message": "x", "resume_data": "{}"},
    {"message": "x", "resume_data": {"work": {"name": "x"}}},
    {"message": "x", "resume_data": {"basics": "x"}},
    {"message": "x", "replace_resume": 1},
    {"message": "x", "replace_resume": "true"},
    {"message": "x", "expected_version": "1"},
    {"message": "x", "expected_version": 1.5},
    {"message": "x", "expected_version": True},
]
ODD: list[dict[str, Any]] = [
    {"message": "a\x00b"},
    {"message": "\u202e\U0001f600" * 50},
    {"message": "x" * 100_000},
    {"message": "添加" * 5_000},
    {"message": "CVEditor(work[0], delete)"},
    {"message": "{reply} %s {0}"},
    {"message": "x", "resume_data": {"\x00": "\x00", "basics": {"name": "a\x00b"}}},
    {"message": "x", "resume_data": {"__proto__": {"x": 1}, "__class__": "x"}},
    {"message": "x", "resume_data": {"meta": {"version": 10**300}}},
    {"message": "x", "resume_data": {"meta": {"version": -1}}},
    {"message": "x", "resume_data": {"meta": {"version": True}}},
    {"message": "x", "resume_data": {"work": [{"startDate": "not a date"}]}},
    {"message": "x", "resume_data": {f"k{n}": n for n in range(5_000)}},
    {"message": "x", "resume_data": {}, "replace_resume": True},
    {"message": "x", "replace_resume": True},
    {"message": "x", "expected_version": 10**300},
    {"message": "x", "expected_version": -(10**20)},
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(serve_folder: Any) -> httpx.AsyncClient:
    server = await serve_folder(AGENTS, LIMITS__REQUESTS_PER_MINUTE="1000000")
    served: httpx.AsyncClient = server.client
    return served


def is_well_answered(answer: httpx.Response) -> None:
    assert answer.status_code < 500, answer.text
    assert not LEAKS.search(answer.text), answer.text
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == answer.status_code


@pytest.mark.parametrize("path", [PATH, f"{PATH}/import"])
@pytest.mark.parametrize("hostile", BODIES, ids=lambda one: one.name)
async def test_a_hostile_body(client: httpx.AsyncClient, hostile: Hostile, path: str) -> None:
    answer = await client.post(path, content=hostile.content, headers=hostile.headers)
    is_well_answered(answer)
    if path == PATH and hostile.statuses:
        assert answer.status_code in hostile.statuses


@pytest.mark.parametrize("number", range(len(WRONG)))
async def test_a_wrong_field_is_refused(client: httpx.AsyncClient, number: int) -> None:
    content = json.dumps(WRONG[number])
    headers = {"Content-Type": "application/json"}
    for path in (PATH, ALIAS):
        answer = await client.post(path, content=content, headers=headers)
        is_well_answered(answer)
        assert answer.status_code == 422, answer.text


@pytest.mark.parametrize("number", range(len(ODD)))
async def test_an_odd_request_is_answered(client: httpx.AsyncClient, number: int) -> None:
    session = (await say(client, "hello", resume_data={"basics": {"name": "A"}}))["session_id"]
    for body in (ODD[number], {**ODD[number], "session_id": session}):
        for accept in ("*/*", "text/event-stream"):
            answer = await client.post(PATH, json=body, headers={"Accept": accept})
            is_well_answered(answer)
            assert answer.status_code in (200, 409, 422), answer.text
    here = f"{PATH}/{session}/resume"
    for query in ("", "?format=html", "?format=md"):
        is_well_answered(await client.get(f"{here}{query}"))


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("depth", [14, 20, 60])
async def test_deep_documents_are_refused_at_once_with_what_to_do(
    client: httpx.AsyncClient, depth: int
) -> None:
    session = (await say(client, "hello", resume_data={"x": [[2]]}))["session_id"]
    body = {"message": "hello", "resume_data": {"x": _nested(depth)}, "replace_resume": True}
    for sent in (body, {**body, "session_id": session}):
        answer = await client.post(PATH, json=sent)
        is_well_answered(answer)
        assert (answer.status_code, answer.json()["code"]) == (422, "resume_too_large")
        assert "levels of nesting" in answer.text
    file = json.dumps(body["resume_data"]).encode()
    answer = await client.post(f"{PATH}/import", content=file)
    is_well_answered(answer)
    assert (answer.status_code, answer.json()["code"]) == (422, "resume_too_large")
    assert (await client.get(f"{PATH}/{session}/resume")).json() == {"x": [[2]]}


@pytest.mark.parametrize("shape", largest_resumes())
async def test_the_largest_document_is_served(client: httpx.AsyncClient, shape: str) -> None:
    document = largest_resumes()[shape]
    session = (await say(client, "hello"))["session_id"]
    replaced = await say(
        client,
        "把名字改成张三",
        session_id=session,
        resume_data=document,
        replace_resume=True,
    )
    assert replaced["tool_result"]["success"]
    assert replaced["resume"]["basics"]["name"] == "张三"
    undone = await say(client, "撤销", session_id=session)
    assert undone["resume"].get("work") == replaced["resume"].get("work")
    answer = await client.get(f"{PATH}/{session}/resume?format=html")
    assert answer.status_code == 200, answer.text


async def test_a_document_too_large_that_a_client_wrote_into_the_state_is_told_of(
    client: httpx.AsyncClient,
) -> None:
    session = (await say(client, "hello"))["session_id"]
    state = f"/v1/apps/cv/sessions/{session}/state"
    assert (await client.patch(state, json={"resume": {"x": _nested(40)}})).status_code == 200
    said = await say(client, "add a job at Google", session_id=session)
    assert (said["type"], said["tool_call"]) == ("error", None)
    assert "levels of nesting" in said["reply"]
    answer = await client.get(f"{PATH}/{session}/resume")
    is_well_answered(answer)
    assert (answer.status_code, answer.json()["code"]) == (422, "resume_too_large")


async def test_text_that_no_store_takes_is_replaced(client: httpx.AsyncClient) -> None:
    headers = {"Content-Type": "application/json"}
    answer = await client.post(PATH, content=SURROGATE, headers=headers)
    is_well_answered(answer)
    body = {"message": "hello", "resume_data": {"basics": {"name": "a\x00b"}}}
    assert (await client.post(PATH, json=body)).json()["resume"] == {"basics": {"name": "a\ufffdb"}}


@pytest.mark.parametrize("sid", IDS)
async def test_an_odd_name_of_a_session(client: httpx.AsyncClient, sid: str) -> None:
    for path in (PATH, ALIAS):
        answer = await client.get(f"{path}/{sid}/resume")
        is_well_answered(answer)
        assert answer.status_code >= 400


async def test_other_methods_and_types_are_refused(client: httpx.AsyncClient) -> None:
    assert (await client.get(PATH)).status_code == 405
    assert (await client.delete(f"{PATH}/x/resume")).status_code == 405
    assert (await client.post(PATH, content="message=x")).status_code in (415, 422)
    form = await client.post(PATH, data={"message": "x"})
    assert form.status_code == 415
    assert (await client.post(f"{PATH}/", json={"message": "x"})).status_code == 404


async def test_a_state_that_a_client_has_spoilt_breaks_nothing(client: httpx.AsyncClient) -> None:
    sessions = "/v1/apps/cv/sessions"
    for state in (
        {"resume": "x"},
        {"resume": {"work": 1}},
        {"cv_turn": "x", "cv_pending": 1, "cv_history": "x"},
        {"cv_expected_version": 7, "resume": {"work": []}},
    ):
        created = (await client.post(sessions, json={"state": state})).json()
        body = {"message": "show my work", "session_id": created["session_id"]}
        for accept in ("application/json", "text/event-stream"):
            is_well_answered(await client.post(PATH, json=body, headers={"Accept": accept}))
        is_well_answered(await client.get(f"{PATH}/{created['session_id']}/resume"))


async def test_the_server_is_well_after_all(client: httpx.AsyncClient) -> None:
    async with asyncio.timeout(10):
        assert (await client.get("/readyz")).status_code == 200
        assert (await say(client, "add Go to my skills"))["type"] == "tool_result"
