"""What rules leave to the model, through the endpoint, with a model server behind."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from oda.testing import ModelServer
from oda.testing.script import Call, Cut, Error, Hang, Text, ToolCalls
from tests.support.cv_tools import PATH, checked, say, stream
from tests.support.model_settings import openai

pytestmark = pytest.mark.asyncio(loop_scope="module")

AGENTS = Path(__file__).parents[2] / "agents"
RESUME: dict[str, Any] = {"work": [{"name": "Google", "position": "SRE", "summary": "wrote code"}]}
POLISH = "polish the summary of my first job"
BETTER = "Wrote dependable code."


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(serve_folder: Any, shared_model: ModelServer) -> AsyncIterator[httpx.AsyncClient]:
    server = await serve_folder(AGENTS, **openai(shared_model))
    yield server.client


def edit(value: str = BETTER, **more: Any) -> ToolCalls:
    args = {"path": "work[0].summary", "action": "update", "value": value}
    return ToolCalls(calls=(Call(name="CVEditor", args=args),), **more)


async def test_a_creative_request_is_the_models(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    model.play([edit(), Text(text="I have made it clearer.")])
    response = await say(client, POLISH, resume_data=RESUME)
    assert response["type"] == "tool_result"
    assert response["reply"].startswith("I have made it clearer.")
    assert response["metadata"]["layer"] == "llm"
    assert response["metadata"]["version"] == 1
    assert response["tool_call"] == {
        "name": "CVEditor",
        "params": {"path": "work[0].summary", "action": "update", "value": BETTER},
    }
    assert response["tool_result"] == {"success": True, "path": "work[0].summary", "value": BETTER}
    assert response["resume"]["work"][0]["summary"] == BETTER
    undone = await say(client, "undo", session_id=response["session_id"])
    assert undone["metadata"]["layer"] == "rules"
    assert undone["resume"]["work"] == RESUME["work"]


async def test_the_models_words_come_in_pieces(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    pieces = ("I have ", "made it ", "clearer.")
    model.play([edit(), Text(chunks=pieces, interval_s=0.3)])
    told = await stream(client, {"message": POLISH, "resume_data": RESUME})
    kinds = [item.kind for item in told]
    assert kinds[:2] == ["tool_start", "tool_end"]
    texts = [item.data["text"] for item in told if item.kind == "text"]
    assert len(texts) > 1
    assert not any("replaces" in item.data for item in told)
    assert "".join(texts) == told[-1].data["reply"]
    assert told[-1].data["reply"].startswith("I have made it clearer.")


async def test_an_answer_that_begins_again_replaces_what_was_said(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    model.play([Cut(text="Half an", how="reset"), Text(text="A whole answer.")])
    told = await stream(client, {"message": POLISH, "resume_data": RESUME})
    said = ""
    for item in told:
        if item.kind == "text":
            said = item.data["text"] if item.data.get("replaces") else said + item.data["text"]
    assert said == told[-1].data["reply"] == "A whole answer."
    assert told[-1].data["type"] == "text"


@pytest.mark.parametrize(
    ("message", "words"), [(POLISH, "Sorry"), ("润色第一段工作的描述", "抱歉")]
)
async def test_a_model_that_fails_is_told_kindly_and_the_resume_is_kept(
    client: httpx.AsyncClient, model: ModelServer, message: str, words: str
) -> None:
    model.play([Error(status=401, times=None)])
    body = {"message": message, "resume_data": RESUME}
    answer = await client.post(PATH, json=body)
    assert answer.status_code == 200
    response = checked(answer.json())
    assert response["type"] == "error"
    assert words in response["reply"]
    assert response["metadata"]["layer"] == "llm"
    assert response["resume"] == RESUME
    turn = (await client.get(answer.headers["location"])).json()
    assert (turn["status"], turn["error"]["code"]) == ("failed", "authentication")
    told = await stream(client, body)
    assert [item.kind for item in told] == ["error", "done"]
    assert told[0].data["text"] == told[1].data["reply"]
    assert told[0].data["code"] == "authentication"


async def test_a_wrong_call_of_the_model_is_an_error_and_changes_nothing(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    args = {"path": "work[7].summary", "action": "update", "value": BETTER}
    wrong = ToolCalls(calls=(Call(name="CVEditor", args=args),))
    model.play([wrong, Text(text="There is no such job.")])
    response = await say(client, POLISH, resume_data=RESUME)
    assert response["type"] == "error"
    assert response["tool_result"]["success"] is False
    assert response["tool_result"]["error"]
    assert response["reply"] == "There is no such job."
    assert response["resume"] == RESUME


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
async def test_a_version_that_changes_while_a_message_waits_is_noticed_when_its_time_comes(
    client: httpx.AsyncClient, model: ModelServer, accept: str
) -> None:
    session = (await say(client, "hello", resume_data=RESUME))["session_id"]
    model.play([edit(delay_s=0.5), Text(text="Done.")])
    first = asyncio.create_task(say(client, POLISH, session_id=session, expected_version=0))
    await model.wait_until(lambda server: server.received > 0)
    body = {"message": "delete the first job", "session_id": session, "expected_version": 0}
    late = await client.post(PATH, json=body, headers={"Accept": accept})
    assert (await first)["metadata"]["version"] == 1
    if accept == "application/json":
        assert late.status_code == 409, late.text
        assert (late.json()["code"], late.json()["version"]) == ("version_conflict", 1)
    else:
        assert "event: error" in late.text
        assert '"code":"version_conflict","version":1' in late.text
        assert '"type":"error"' in late.text
    resume = (await client.get(f"{PATH}/{session}/resume")).json()
    assert [job["summary"] for job in resume["work"]] == [BETTER]
    after = await say(client, "delete the first job", session_id=session)
    assert after["metadata"]["version"] == 2


async def test_a_reply_is_of_its_own_turn_whatever_has_been_said_since(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    session = (await say(client, "hello", resume_data=RESUME))["session_id"]
    model.play([edit(delay_s=0.3), Text(text="Done.")])
    answers = [asyncio.create_task(say(client, POLISH, session_id=session))]
    await model.wait_until(lambda server: server.received > 0)
    answers += [
        asyncio.create_task(say(client, f"add skill Tool{n}", session_id=session)) for n in range(5)
    ]
    for answer in await asyncio.gather(*answers):
        assert len(answer["resume"].get("skills", [])) == answer["metadata"]["version"] - 1


async def test_a_cancelled_message_says_so(client: httpx.AsyncClient, model: ModelServer) -> None:
    session = (await say(client, "hello", resume_data=RESUME))["session_id"]
    model.play([Hang()])
    answer = asyncio.create_task(say(client, POLISH, session_id=session))
    await model.wait_until(lambda server: server.received > 0)
    turns = (await client.get(f"/v1/apps/cv/sessions/{session}/turns")).json()["turns"]
    await client.post(f"/v1/turns/{turns[0]['turn_id']}/cancel")
    response = await answer
    assert response["type"] == "error"
    assert "cancelled" in response["reply"]
    assert response["resume"] == RESUME


async def test_a_message_that_uses_up_its_limit_asks_to_go_on(
    serve_folder: Any, shared_model: ModelServer, model: ModelServer
) -> None:
    limited = await serve_folder(
        AGENTS,
        **openai(shared_model),
        TURN__MODEL_CALLS="1",
        TURN__ON_LIMIT="ask",
    )
    model.play([edit(), Text(text="Done.")])
    told = await stream(limited.client, {"message": POLISH, "resume_data": RESUME})
    response = told[-1].data
    assert [item.kind for item in told][-2:] == ["clarify", "done"]
    assert response["type"] == "clarify"
    assert "/input" in response["reply"]
    assert response["resume"]["work"][0]["summary"] == BETTER


async def test_a_stream_that_is_left_does_not_stop_the_turn(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    session = (await say(client, "hello", resume_data=RESUME))["session_id"]
    model.play([edit(delay_s=0.3), Text(text="Done.")])
    body = {"message": POLISH, "session_id": session}
    headers = {"Accept": "text/event-stream"}
    async with client.stream("POST", PATH, json=body, headers=headers) as left:
        turn = left.headers["location"]
    await client.get(f"{turn}/events", headers=headers)
    ended = (await client.get(turn)).json()
    assert ended["status"] == "succeeded"
    assert ended["reply"].startswith("Done.")
    resume = (await client.get(f"{PATH}/{session}/resume")).json()
    assert resume["work"][0]["summary"] == BETTER
