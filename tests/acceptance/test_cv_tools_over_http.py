"""The scenarios of the resume agent through its own endpoint, as JSON and as a stream."""

from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
import yaml

from tests.support.cv_tools import ALIAS, PATH, Form, say, stream

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROOT = Path(__file__).parents[2]
DIALOGUES: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("cv_dialogues.yaml").read_text(encoding="utf-8")
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(serve_folder: Any) -> httpx.AsyncClient:
    served: httpx.AsyncClient = (await serve_folder(ROOT / "agents")).client
    return served


def check(turn: dict[str, Any], response: dict[str, Any]) -> None:
    where = f"{turn['say']} -> {response}"
    metadata = response["metadata"]
    if "type" in turn:
        assert response["type"] == turn["type"], where
    for name in ("intent", "section", "layer"):
        if name in turn:
            assert metadata[name] == turn[name], where
    if "missing" in turn:
        assert metadata["missing_fields"] == turn["missing"], where
        assert (metadata["pending_data"] is not None) == bool(turn["missing"]), where
    for word in turn.get("says", []):
        assert word in response["reply"], where
    if "calls" in turn:
        check_call(turn["calls"], response, where)
    for section, expected in turn.get("resume", {}).items():
        assert response["resume"].get(section) == expected, where


def check_call(calls: list[list[Any]], response: dict[str, Any], where: str) -> None:
    last = calls[-1] if calls else None
    assert (response["tool_result"] is not None) == (last is not None), where
    if last is None or last[0] not in ("CVReader", "CVEditor"):
        assert response["tool_call"] is None, where
    else:
        call = response["tool_call"]
        assert [call["name"], *call["params"].values()] == last, where


@pytest.mark.parametrize(("path", "form"), [(PATH, "json"), (ALIAS, "sse")])
@pytest.mark.parametrize("name", DIALOGUES)
async def test_a_scenario(client: httpx.AsyncClient, name: str, path: str, form: Form) -> None:
    dialogue = DIALOGUES[name]
    start: dict[str, Any] = {"resume_data": dialogue["resume"]} if "resume" in dialogue else {}
    for turn in dialogue["turns"]:
        response = await say(client, turn["say"], path=path, form=form, **start)
        check(turn, response)
        start = {"session_id": response["session_id"]}


async def test_a_stream_tells_the_tools_and_the_reply_as_they_come(
    client: httpx.AsyncClient,
) -> None:
    told = await stream(client, {"message": "我在腾讯做前端，2021年7月到2023年6月"})
    assert [item.kind for item in told] == ["tool_start", "tool_end", "text", "done"]
    start, end, text, done = (item.data for item in told)
    value = {"name": "腾讯", "position": "前端", "startDate": "2021-07", "endDate": "2023-06"}
    assert start["name"] == end["name"] == "CVEditor"
    assert start["id"] == end["id"]
    assert start["params"] == done["tool_call"]["params"]
    assert start["params"] == {"path": "work", "action": "add", "value": value}
    assert {key: end[key] for key in ("success", "path", "value")} == done["tool_result"]
    assert done["tool_result"] == {"success": True, "path": "work[0]", "value": value}
    assert text["text"] == done["reply"]


async def test_several_calls_are_all_streamed_and_the_last_is_answered(
    client: httpx.AsyncClient,
) -> None:
    resume = {"work": [{"name": "Google"}]}
    told = await stream(client, {"message": "添加技能Go，删除第一条工作", "resume_data": resume})
    kinds = [item.kind for item in told]
    assert kinds == ["tool_start", "tool_end", "tool_start", "tool_end", "text", "done"]
    assert [item.data["params"]["path"] for item in told[:4:2]] == ["skills", "work[0]"]
    assert told[-1].data["tool_call"]["params"] == {"path": "work[0]", "action": "delete"}
    assert told[-1].data["tool_result"]["value"] == {"name": "Google"}
    assert told[-1].data["resume"] == {
        "work": [],
        "skills": [{"name": "Go"}],
        "meta": {"version": 2},
    }


async def test_a_question_is_streamed_as_one(client: httpx.AsyncClient) -> None:
    told = await stream(client, {"message": "add a job at Google"})
    assert [item.kind for item in told] == ["clarify", "done"]
    assert told[0].data["text"] == told[1].data["reply"]
    missing = ["position", "startDate", "endDate"]
    assert told[0].data["missing_fields"] == told[1].data["metadata"]["missing_fields"] == missing


async def test_what_only_a_model_could_do_is_said_and_nothing_is_invented(
    client: httpx.AsyncClient,
) -> None:
    resume = {"work": [{"name": "Google", "summary": "code"}]}
    for message, words in (("polish my summary", "ODA_MODEL"), ("优化工作描述", "ODA_MODEL")):
        response = await say(client, message, resume_data=resume)
        assert response["metadata"]["layer"] == "none"
        assert response["tool_call"] is None
        assert words in response["reply"]
        assert response["resume"] == resume


async def test_the_same_turn_stands_in_the_general_api(client: httpx.AsyncClient) -> None:
    answer = await client.post(PATH, json={"message": "add Go to my skills"})
    turn = (await client.get(answer.headers["location"])).json()
    response = answer.json()
    assert (turn["status"], turn["reply"]) == ("succeeded", response["reply"])
    assert turn["session_id"] == response["session_id"]
    session = f"/v1/apps/cv/sessions/{response['session_id']}"
    more = await client.post(f"{session}/turns", json={"message": "add Rust to my skills"})
    assert more.json()["turn"]["status"] == "succeeded"
    resume = (await client.get(f"{PATH}/{response['session_id']}/resume")).json()
    assert resume["skills"] == [{"name": "Go"}, {"name": "Rust"}]
