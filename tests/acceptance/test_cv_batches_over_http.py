"""Several edits of one answer of the model: all or none, each told, undone together."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from oda.testing import ModelServer
from oda.testing.script import Call, Cut, Error, Text, ToolCalls
from tests.support.cv_tools import say, stream
from tests.support.model_settings import openai

pytestmark = pytest.mark.asyncio(loop_scope="module")

AGENTS = Path(__file__).parents[2] / "agents"
RESUME: dict[str, Any] = {
    "basics": {"name": "Jane", "phone": "555 0100 200"},
    "work": [{"name": "Google", "position": "SRE"}, {"name": "Meta"}, {"name": "IBM"}],
}
WISH = "please polish it: call me Jane Roe, drop my phone and Google, and say that I know Go"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(serve_folder: Any, shared_model: ModelServer) -> AsyncIterator[httpx.AsyncClient]:
    server = await serve_folder(AGENTS, **openai(shared_model))
    yield server.client


def edit(path: str, action: str, *value: Any) -> Call:
    given = {"value": value[0]} if value else {}
    return Call(name="CVEditor", args={"path": path, "action": action, **given})


ALL = (
    edit("basics.name", "update", "Jane Roe"),
    edit("basics.phone", "delete"),
    edit("work[0]", "delete"),
    edit("work[2].summary", "update", "Wrote Go"),
    edit("skills", "add", {"name": "Go"}),
)


def content(resume: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in resume.items() if name != "meta"}


async def test_all_are_made_told_and_undone_together(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    model.play([ToolCalls(calls=ALL), Text(text="Done.")])
    told = await stream(client, {"message": WISH, "resume_data": RESUME})
    response = told[-1].data
    assert content(response["resume"]) == {
        "basics": {"name": "Jane Roe"},
        "work": [{"name": "Meta"}, {"name": "IBM", "summary": "Wrote Go"}],
        "skills": [{"name": "Go"}],
    }
    ended = [item.data for item in told if item.kind == "tool_end"]
    assert [item["success"] for item in ended] == [True] * 5
    assert len(response["reply"].splitlines()) == 3 + 5
    assert len(model.requests) == 2
    undone = await say(client, "undo", session_id=response["session_id"])
    assert content(undone["resume"]) == RESUME
    assert "the whole resume" in undone["reply"]
    again = await say(client, "undo", session_id=response["session_id"])
    assert again["tool_result"]["success"] is False


@pytest.mark.parametrize(
    "wrong",
    [
        edit("work[7].name", "update", "IBM"),
        edit("work[1].startDate", "update", "2011-03"),
        edit("work[1].summary", "update", "Raised sales by 40%"),
    ],
)
async def test_one_that_is_refused_refuses_all_and_the_model_may_try_again(
    client: httpx.AsyncClient, model: ModelServer, wrong: Call
) -> None:
    model.play([ToolCalls(calls=(*ALL, wrong)), ToolCalls(calls=ALL[:2]), Text(text="Done.")])
    response = await say(client, WISH, resume_data=RESUME)
    assert content(response["resume"]) == {**RESUME, "basics": {"name": "Jane Roe"}}
    tools = [message for message in model.requests[1].messages if message.role == "tool"]
    assert len(tools) == 6
    assert all("error" in str(message) for message in tools)
    assert sum("not_alone" in str(message) for message in tools) == 5


async def test_nothing_is_made_when_all_is_refused_to_the_end(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    bad = ToolCalls(calls=(*ALL, edit("work[1].startDate", "update", "2011-03")))
    model.play([bad, Text(text="When did you start at Meta?")])
    response = await say(client, WISH, resume_data=RESUME)
    assert response["resume"] == RESUME
    assert response["type"] == "clarify"


async def test_what_is_read_or_exported_beside_edits_has_them_in_it(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    export = Call(name="CVExport", args={"format": "json"})
    model.play([ToolCalls(calls=(export, *ALL)), Text(text="Here.")])
    told = await stream(client, {"message": WISH, "resume_data": RESUME})
    made = next(i.data for i in told if i.kind == "tool_end" and i.data["name"] == "CVExport")
    got = (await client.get(made["value"]["link"])).json()
    assert got["basics"]["name"] == "Jane Roe"
    assert [job["name"] for job in got["work"]] == ["Meta", "IBM"]


async def test_edits_are_made_once_whatever_fails_behind_them(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    model.play(
        [ToolCalls(calls=ALL), Cut(text="Do", how="reset"), Error(status=503), Text(text="Done.")]
    )
    response = await say(client, WISH, resume_data=RESUME)
    assert [skill["name"] for skill in response["resume"]["skills"]] == ["Go"]
    assert [job["name"] for job in response["resume"]["work"]] == ["Meta", "IBM"]


async def test_an_undo_beside_an_edit_is_refused(
    client: httpx.AsyncClient, model: ModelServer
) -> None:
    both = ToolCalls(calls=(ALL[0], Call(name="CVUndo", args={})))
    model.play([both, Text(text="Which of them?")])
    response = await say(client, WISH, resume_data=RESUME)
    assert response["resume"] == RESUME
    assert response["type"] == "error"


async def test_what_rules_do_for_one_message_is_undone_together(client: httpx.AsyncClient) -> None:
    first = await say(client, "change my name to Bob and add skill Go", resume_data=RESUME)
    assert first["metadata"]["layer"] == "rules"
    assert first["resume"]["basics"]["name"] == "Bob"
    assert first["resume"]["skills"]
    undone = await say(client, "undo", session_id=first["session_id"])
    assert undone["resume"]["basics"] == RESUME["basics"]
    assert not undone["resume"].get("skills")
