"""An app as an MCP server, to the clients of the `mcp` package: of both ways to begin."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, ElicitResult, InputRequiredResult, ResourceLink, TextContent

from oda.testing import ModelServer
from oda.testing.script import Call, Error, Hang, Text, ToolCalls
from tests.support.keys import bearer, make_key
from tests.support.model_settings import gemini

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("model")]

SUPPORT = Path(__file__).parents[1] / "support"
LIMIT_S = 40.0
ADD = ToolCalls(calls=(Call(name="add", args={"a": 2, "b": 3}),))
PAY = ToolCalls(calls=(Call(name="pay", args={"amount": 9}),))

both = pytest.mark.parametrize("mode", ["legacy", "auto"])
"""The handshake of the versions up to 2025-11-25, and none since 2026-07-28."""


@asynccontextmanager
async def client(
    url: str, mode: str, headers: Mapping[str, str] = {}, **options: Any
) -> AsyncIterator[Client]:
    """A client of the app `calculator`, or of that in the address."""
    address = url if "/mcp/" in url else f"{url}/mcp/calculator"
    async with (
        asyncio.timeout(LIMIT_S),
        httpx2.AsyncClient(headers=dict(headers), timeout=LIMIT_S) as http,
        Client(
            streamable_http_client(address, http_client=http), mode=mode, cache=None, **options
        ) as connected,
    ):
        yield connected


async def ask(mcp: Client, message: str, tool: str = "ask", **arguments: Any) -> CallToolResult:
    sent = arguments if tool != "ask" else {"message": message, **arguments}
    return await mcp.call_tool(tool, sent)


def text_of(result: CallToolResult) -> str:
    first = result.content[0]
    assert isinstance(first, TextContent)
    return first.text


def told(result: CallToolResult) -> dict[str, Any]:
    structured = result.structured_content
    assert isinstance(structured, dict)
    return structured


class Asked:
    """A user who answers forms, and remembers them."""

    def __init__(self, *answers: ElicitResult) -> None:
        self.answers = list(answers)
        self.forms: list[Any] = []

    async def __call__(self, context: Any, params: Any) -> ElicitResult:
        self.forms.append(params)
        return self.answers.pop(0)


YES = ElicitResult(action="accept", content={"confirmed": True})


# --- what a server is


@both
async def test_an_app_is_a_server_with_described_tools(server: Any, mode: str) -> None:
    async with client(server.url, mode) as mcp:
        tools = {tool.name: tool for tool in (await mcp.list_tools()).tools}
        assert list(tools) == ["ask", "answer"]
        for tool in tools.values():
            assert tool.title
            assert tool.description
            assert tool.output_schema
            assert all("description" in one for one in tool.input_schema["properties"].values())
        assert tools["ask"].input_schema["required"] == ["message"]
        assert mcp.server_info is not None
        assert mcp.server_info.name == "calculator"
        assert mcp.instructions


@both
async def test_an_app_that_is_not_there_is_404(server: Any, mode: str) -> None:
    with pytest.raises((MCPError, ExceptionGroup)):
        async with client(f"{server.url}/mcp/nobody", mode) as mcp:
            await mcp.list_tools()
    answer = await server.client.post("/mcp/nobody", json={"jsonrpc": "2.0", "id": 1})
    assert answer.status_code == 404
    assert answer.json()["error"]["data"]["code"] == "agent_not_found"


# --- turns


@both
async def test_a_turn_with_tools_tells_its_progress(
    server: Any, model: ModelServer, mode: str
) -> None:
    model.play([ADD, Text(text="5"), Text(text="Twice.")])
    progress: list[tuple[float, str | None]] = []

    async def report(at: float, total: float | None, message: str | None) -> None:
        progress.append((at, message))

    async with client(server.url, mode) as mcp:
        first = await mcp.call_tool("ask", {"message": "2 + 3"}, progress_callback=report)
        assert text_of(first) == "5"
        assert told(first)["status"] == "succeeded"
        assert told(first)["waiting"] is False
        session = told(first)["session_id"]
        second = await mcp.call_tool("ask", {"message": "again", "session_id": session})
        assert told(second)["session_id"] == session
        assert text_of(second) == "Twice."
    said = [message for _, message in progress]
    assert "Calls add." in said
    assert "add answered." in said
    assert [at for at, _ in progress] == sorted({at for at, _ in progress})
    record = (await server.client.get(f"/v1/turns/{told(first)['turn_id']}")).json()
    assert (record["reply"], record["session_id"]) == ("5", session)


@both
async def test_a_retry_is_told_as_progress(server: Any, model: ModelServer, mode: str) -> None:
    model.play([Error(status=503), Text(text="there")])
    said: list[str] = []

    async def report(at: float, total: float | None, message: str | None) -> None:
        said.append(message or "")

    async with client(server.url, mode) as mcp:
        result = await mcp.call_tool("ask", {"message": "hello"}, progress_callback=report)
    assert text_of(result) == "there"
    assert [one for one in said if one.startswith("Retry attempt 1/")]


@both
async def test_a_turn_that_fails_is_an_error_of_the_tool(
    server: Any, model: ModelServer, mode: str
) -> None:
    model.play([Error(status=400, message="no such thing")])
    async with client(server.url, mode) as mcp:
        result = await mcp.call_tool("ask", {"message": "hello"})
    assert result.is_error
    assert told(result)["status"] == "failed"
    assert told(result)["error"]["code"] in text_of(result)
    assert "Traceback" not in result.model_dump_json()


@both
async def test_the_same_key_is_the_same_turn(server: Any, model: ModelServer, mode: str) -> None:
    model.play([Text(text="once")])
    arguments = {"message": "hello", "idempotency_key": f"key-{mode}"}
    async with client(server.url, mode) as mcp:
        first = await mcp.call_tool("ask", arguments)
    async with client(server.url, mode) as mcp:
        assert told(await mcp.call_tool("ask", arguments)) == told(first)
        with pytest.raises(MCPError) as refused:
            await mcp.call_tool("ask", {**arguments, "message": "other"})
    assert refused.value.data["status"] == 422
    assert len(model.requests) == 1


# --- questions


@both
async def test_a_question_is_asked_by_elicitation(
    server: Any, model: ModelServer, mode: str
) -> None:
    model.play([PAY, Text(text="Paid.")])
    user = Asked(YES)
    async with client(server.url, mode, elicitation_callback=user) as mcp:
        result = await mcp.call_tool("ask", {"message": "pay 9"})
    assert text_of(result) == "Paid."
    assert '{"amount": 9}' in user.forms[0].message
    assert list(user.forms[0].requested_schema["properties"]) == ["confirmed"]
    sent = json.dumps(model.requests[-1].body)
    assert '"paid"' in sent


@both
async def test_to_decline_is_an_answer_and_to_dismiss_is_none(
    server: Any, model: ModelServer, mode: str
) -> None:
    model.play([PAY, Text(text="Not paid."), PAY])
    user = Asked(ElicitResult(action="decline"), ElicitResult(action="cancel"))
    async with client(server.url, mode, elicitation_callback=user) as mcp:
        declined = await mcp.call_tool("ask", {"message": "pay 9"})
        assert text_of(declined) == "Not paid."
        dismissed = await mcp.call_tool("ask", {"message": "pay 9"})
    assert told(dismissed)["waiting"] is True
    assert len(user.forms) == 2


@both
async def test_without_elicitation_the_question_is_the_result(
    server: Any, model: ModelServer, mode: str
) -> None:
    model.play([PAY, Text(text="Paid.")])
    async with client(server.url, mode) as mcp:
        waiting = await mcp.call_tool("ask", {"message": "pay 9"})
        assert not waiting.is_error
        assert json.loads(text_of(waiting))["waiting"] is True
        question = told(waiting)["questions"][0]
        assert question["args"]["originalFunctionCall"]["args"] == {"amount": 9}
        turn_id = told(waiting)["turn_id"]
    async with client(server.url, mode) as mcp:
        wrong = {"turn_id": turn_id, "responses": [{"id": "other", "confirmed": True}]}
        with pytest.raises(MCPError) as refused:
            await mcp.call_tool("answer", wrong)
        assert refused.value.data["status"] == 409
        answer = {"turn_id": turn_id, "responses": [{"id": question["id"], "confirmed": True}]}
        result = await mcp.call_tool("answer", answer)
        assert text_of(result) == "Paid."
        assert text_of(await mcp.call_tool("answer", {"turn_id": turn_id})) == "Paid."


async def test_a_question_that_is_handed_back_can_be_answered_twice(
    server: Any, model: ModelServer
) -> None:
    model.play([PAY, Text(text="Paid.")])
    async with client(server.url, "auto", elicitation_callback=Asked()) as mcp:
        first = await mcp.session.call_tool("ask", {"message": "pay 9"}, allow_input_required=True)
        assert isinstance(first, InputRequiredResult)
        assert first.input_requests is not None
        again = {
            "input_responses": dict.fromkeys(first.input_requests, YES),
            "request_state": first.request_state,
        }
        results = [await mcp.call_tool("ask", {"message": "pay 9"}, **again) for _ in range(2)]
    assert [text_of(result) for result in results] == ["Paid.", "Paid."]
    assert len(model.requests) == 2


# --- clients and servers that go and come back


@both
async def test_a_client_that_leaves_finds_its_turn_again(
    server: Any, model: ModelServer, mode: str
) -> None:
    model.play([Text(text="late", delay_s=1.0)])
    arguments = {"message": "hello", "idempotency_key": f"left-{mode}"}
    begun = asyncio.Event()

    async def report(at: float, total: float | None, message: str | None) -> None:
        begun.set()

    async with client(server.url, mode) as mcp:
        call = asyncio.create_task(mcp.call_tool("ask", arguments, progress_callback=report))
        await begun.wait()
        call.cancel()
        await asyncio.wait({call})
    async with client(server.url, mode) as mcp:
        assert text_of(await mcp.call_tool("ask", arguments)) == "late"
    assert len(model.requests) == 1


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGTERM])
async def test_a_stream_goes_on_after_its_server_has_been_killed(
    serve: Any, model: ModelServer, sig: signal.Signals, tmp_path: Path
) -> None:
    model.play([Hang(), Text(text="after all")])
    settings = {**gemini(model), "DATABASE_URL": f"sqlite:///{tmp_path / 'one.db'}"}
    first = await serve(**settings)
    port = first.url.rpartition(":")[2]
    begun = asyncio.Event()

    async def report(at: float, total: float | None, message: str | None) -> None:
        begun.set()

    async with client(first.url, "legacy") as mcp:
        call = asyncio.create_task(
            mcp.call_tool("ask", {"message": "hello"}, progress_callback=report)
        )
        await begun.wait()
        await first.stop(sig)
        await serve("--port", port, **settings)
        assert text_of(await call) == "after all"


async def test_a_question_is_answered_on_a_server_that_did_not_ask(
    serve: Any, model: ModelServer, tmp_path: Path
) -> None:
    model.play([PAY, Text(text="Paid.")])
    settings = {**gemini(model), "DATABASE_URL": f"sqlite:///{tmp_path / 'one.db'}"}
    first = await serve(**settings)
    async with client(first.url, "auto", elicitation_callback=Asked()) as mcp:
        asked = await mcp.session.call_tool("ask", {"message": "pay"}, allow_input_required=True)
    assert isinstance(asked, InputRequiredResult)
    await first.stop(signal.SIGKILL)
    second = await serve(**settings)
    async with client(second.url, "auto", elicitation_callback=Asked()) as mcp:
        result = await mcp.call_tool(
            "ask",
            {"message": "pay"},
            input_responses=dict.fromkeys(asked.input_requests or {}, YES),
            request_state=asked.request_state,
        )
    assert text_of(result) == "Paid."


# --- who asks


@both
async def test_what_is_anothers_does_not_exist(
    serve: Any, model: ModelServer, tmp_path: Path, mode: str
) -> None:
    keys = [bearer(await make_key(tmp_path / "data", user)) for user in ("anna", "bert")]
    server = await serve(**gemini(model))
    model.play([PAY, Text(text="Bert's."), Text(text="Hello.")])
    async with client(server.url, mode, keys[0]) as anna:
        waiting = told(await anna.call_tool("ask", {"message": "pay 9"}))
        await anna.call_tool("ask", {"message": "a", "session_id": "named"})
    async with client(server.url, mode, keys[1]) as bert:
        for tool, arguments in (
            ("ask", {"message": "hello", "session_id": waiting["session_id"]}),
            ("answer", {"turn_id": waiting["turn_id"], "confirmed": True}),
            ("answer", {"turn_id": waiting["turn_id"]}),
        ):
            with pytest.raises(MCPError) as refused:
                await bert.call_tool(tool, arguments)
            assert refused.value.data["status"] == 404
        own = told(await bert.call_tool("ask", {"message": "b", "session_id": "named"}))
        assert own["session_id"] == "named"
        assert (await bert.list_resources()).resources == []
    assert "pay 9" not in json.dumps(model.requests[-1].body)
    with pytest.raises((MCPError, ExceptionGroup, httpx2.HTTPError)):
        async with client(server.url, mode) as nobody:
            await nobody.list_tools()


@both
async def test_wrong_arguments_are_refused_with_their_fields(server: Any, mode: str) -> None:
    async with client(server.url, mode) as mcp:
        for arguments in ({}, {"message": " "}, {"message": 1}, {"message": "a", "b": 1}):
            with pytest.raises(MCPError) as refused:
                await mcp.call_tool("ask", arguments)
            assert refused.value.data["status"] == 422
            assert refused.value.data["errors"]


async def test_what_is_refused_before_the_stream_has_its_status(
    serve: Any, model: ModelServer
) -> None:
    server = await serve(**gemini(model), SESSION__MAX_QUEUED="1")
    model.play([Hang()])
    session = (await server.client.post("/v1/apps/calculator/sessions", json={})).json()
    turns = f"/v1/apps/calculator/sessions/{session['session_id']}/turns"
    for text in ("1", "2"):
        later = {"Prefer": "respond-async"}
        assert (await server.client.post(turns, json={"message": text}, headers=later)).is_success
    full = await call(server.client, "ask", message="3", session_id=session["session_id"])
    assert full.status_code == 429
    assert int(full.headers["Retry-After"]) > 0
    assert full.json()["id"] == 1
    assert full.json()["error"]["data"]["retryable"] is True
    assert (await call(server.client, "ask")).status_code == 422
    assert (await call(server.client, "answer", turn_id="turn_x")).status_code == 404
    unknown = await call(server.client, "ask", message="a", session_id="0" * 32)
    assert unknown.status_code == 404


async def call(http: httpx.AsyncClient, tool: str, **arguments: Any) -> httpx.Response:
    """A call as it stands on the wire."""
    params = {"name": tool, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    accept = {"Accept": "application/json, text/event-stream"}
    return await http.post("/mcp/calculator", json=body, headers=accept)


async def test_a_broken_stream_is_taken_up_again_by_its_last_event(
    server: Any, model: ModelServer
) -> None:
    model.play([ADD, Text(text="5")])
    answer = await call(server.client, "ask", message="2 + 3")
    events = [line.removeprefix("id: ") for line in answer.text.splitlines() if line[:3] == "id:"]
    for event_id in events:
        headers = {"Accept": "text/event-stream", "Last-Event-ID": event_id}
        again = await server.client.get("/mcp/calculator", headers=headers)
        assert again.status_code == 200
        last = [line for line in again.text.splitlines() if line.startswith("data: ")][-1]
        message = json.loads(last.removeprefix("data: "))
        assert message["id"] == 1
        assert message["result"]["structuredContent"]["reply"] == "5"
    for wrong in ("x", "e30", "WyJ0dXJuX3giLCAwLCAxLCBudWxsXQ"):
        headers = {"Accept": "text/event-stream", "Last-Event-ID": wrong}
        refused = await server.client.get("/mcp/calculator", headers=headers)
        assert refused.status_code in (404, 422)
    assert (await server.client.get("/mcp/calculator")).status_code == 405


# --- files and steps


@both
async def test_artifacts_are_resources(server: Any, model: ModelServer, mode: str) -> None:
    note = Call(name="note", args={"name": "a b/note.txt", "text": "Buy milk."})
    model.play([ToolCalls(calls=(note,)), Text(text="Noted.")])
    async with client(f"{server.url}/mcp/keeper", mode) as mcp:
        result = await mcp.call_tool("ask", {"message": "note it"})
        link = result.content[1]
        assert isinstance(link, ResourceLink)
        assert link.name == "a b/note.txt"
        read = await mcp.read_resource(link.uri)
        assert read.contents[0].model_dump()["text"] == "Buy milk."
        assert link.uri in [one.uri for one in (await mcp.list_resources()).resources]
        templates = (await mcp.list_resource_templates()).resource_templates
        assert templates[0].uri_template.startswith("oda://keeper/")
        for wrong in (f"{link.uri}x", "oda://calculator/sessions/a/artifacts/b", "file:///etc/x"):
            with pytest.raises(MCPError):
                await mcp.read_resource(wrong)


@both
async def test_the_steps_of_an_orchestrator_are_tools(
    serve_folder: Any, shared_model: ModelServer, model: ModelServer, mode: str
) -> None:
    server = await serve_folder(SUPPORT / "scene_agents", **gemini(shared_model))
    async with client(f"{server.url}/mcp/butler", mode) as mcp:
        tools = {tool.name: tool for tool in (await mcp.list_tools()).tools}
        assert {"ask", "answer", "echo", "praise"} <= set(tools)
        assert tools["echo"].output_schema
        said = await mcp.call_tool("echo", {"text": "hello"})
        assert told(said) == {"text": "You said: hello"}
        with pytest.raises(MCPError) as refused:
            await mcp.call_tool("echo", {"text": 1})
        assert refused.value.data["status"] == 422
        with pytest.raises(MCPError) as broken:
            await mcp.call_tool("stumble", {"text": "a"})
        assert "secret" not in str(broken.value.error)
        model.play([Error(status=400)])
        failed = await mcp.call_tool("tell-story", {"text": "a"})
        assert failed.is_error
        spoken = await mcp.call_tool("ask", {"message": "hello"})
        assert text_of(spoken) == "You said: hello"


@both
async def test_a_form_asks_for_what_a_scene_wants_to_know(serve_folder: Any, mode: str) -> None:
    server = await serve_folder(SUPPORT / "agents_that_ask")
    user = Asked(ElicitResult(action="accept", content={"answer": "yes"}))
    async with client(f"{server.url}/mcp/orders", mode, elicitation_callback=user) as mcp:
        result = await mcp.call_tool("ask", {"message": "tea"})
    assert user.forms[0].message == "Send it?"
    assert "Sent after yes" in text_of(result)
