"""What clients and operators see of the `cv` agent's tool calls: spans, and lines in the log.

The spans are made of the turn's events, which is why no hook sends them.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support.spans import Message, assert_nested, titled

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROOT = Path(__file__).parents[2]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cv_server(serve_folder: Any) -> Any:
    return await serve_folder(ROOT / "agents", LOG_FORMAT="json", LOG_LEVEL="info")


async def say(server: Any, session: str, text: str) -> list[Message]:
    """The messages of a turn, as they are streamed."""
    async with server.client.stream(
        "POST",
        f"{session}/turns",
        params={"view": "messages"},
        headers={"Accept": "text/event-stream"},
        json={"message": text},
    ) as answer:
        assert answer.status_code == 200, await answer.aread()
        lines = [line async for line in answer.aiter_lines()]
    data = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    return [one for one in data if "span_id" in one]


async def new_session(server: Any, **state: Any) -> str:
    created = await server.client.post("/v1/apps/cv/sessions", json={"state": state})
    location: str = created.headers["location"]
    return location


def tool_spans(told: list[Message]) -> list[tuple[str, str | None]]:
    """What is told of tool calls: (START, tool) and (END, outcome), in order."""
    return [
        (one["status"], one.get("title") or one.get("outcome"))
        for one in told
        if one.get("name") == "TOOL_CALLING"
    ]


async def test_a_call_is_a_span_from_start_to_end(cv_server: Any) -> None:
    session = await new_session(cv_server)
    told = await say(cv_server, session, "把名字改成张三")
    assert_nested(told)
    assert tool_spans(told) == [("START", "CVEditor"), ("END", "ok")]
    start = next(one for one in told if one.get("name") == "TOOL_CALLING")
    inside = [one for one in told if one["span_id"] == start["span_id"]]
    assert [one["type"] for one in inside] == ["span.start", "content", "content", "span.end"]
    assert inside[1]["data"]["args"]["path"] == "basics.name"
    assert inside[2]["data"]["result"]["success"] is True


async def test_calls_that_fail_end_their_spans_as_failed(cv_server: Any) -> None:
    session = await new_session(cv_server)
    told = await say(cv_server, session, "undo")
    assert_nested(told)
    assert titled(told, "TOOL_CALLING") == ["CVUndo"]
    assert tool_spans(told)[-1] == ("END", "failed")


async def test_each_call_is_logged(cv_server: Any) -> None:
    session = await new_session(cv_server)
    cv_server.output.clear()
    await say(cv_server, session, "把电话改成 13800138000")
    async with asyncio.timeout(10):
        while not (ended := logged(cv_server, "tool_call_ended")):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    (begun,) = logged(cv_server, "tool_call_started")
    assert begun["arguments"] == ["action", "path", "value"]
    assert begun["call_id"] == ended[0]["call_id"]
    assert (ended[0]["tool"], ended[0]["success"]) == ("CVEditor", True)
    assert ended[0]["duration_ms"] >= 0
    assert "13800138000" not in json.dumps([begun, *ended])


def logged(server: Any, event: str) -> list[dict[str, Any]]:
    """The lines of an event in the server's log."""
    lines = [json.loads(line) for line in server.output if line.startswith("{")]
    return [line for line in lines if line.get("event") == event]
