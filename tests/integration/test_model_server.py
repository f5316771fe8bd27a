"""The model server by itself: scripts, records, broken connections, control over HTTP."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from oda.testing import ModelServer
from oda.testing.model_server import Message, ToolCall, ToolResult
from oda.testing.script import (
    Call,
    Cut,
    Disconnect,
    Error,
    Hang,
    Match,
    Script,
    Step,
    Text,
    ToolCalls,
    Usage,
)

OPENAI = "/v1/chat/completions"
ANTHROPIC = "/v1/messages"
GEMINI = "/v1beta/models/gem:generateContent"
GEMINI_STREAM = "/v1beta/models/gem:streamGenerateContent?alt=sse"


BROKEN = {"close": httpx.RemoteProtocolError, "reset": httpx.ReadError}


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(timeout=5) as client:
        yield client


def chat(text: str = "hi", *, stream: bool = False, model: str = "m") -> dict[str, Any]:
    """A request that OpenAI and Anthropic both understand."""
    return {"model": model, "stream": stream, "messages": [{"role": "user", "content": text}]}


def contents(text: str = "hi") -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": [{"text": text}]}]}


async def said(http: httpx.AsyncClient, server: ModelServer, text: str = "hi") -> str:
    answer = await http.post(server.url + OPENAI, json=chat(text))
    content: str = answer.json()["choices"][0]["message"]["content"]
    return content


async def test_each_protocol_is_answered_in_its_own_form(http: httpx.AsyncClient) -> None:
    usage = Usage(prompt_tokens=10, completion_tokens=2)
    async with ModelServer([Text(text="Hello you", usage=usage, times=None)]) as server:
        openai = (await http.post(server.openai_base + "/chat/completions", json=chat())).json()
        gemini = (await http.post(server.url + GEMINI, json=contents())).json()
        anthropic = (await http.post(server.url + ANTHROPIC, json=chat())).json()

    assert openai["choices"][0]["message"] == {"role": "assistant", "content": "Hello you"}
    assert openai["usage"]["total_tokens"] == 12
    assert gemini["candidates"][0]["content"]["parts"] == [{"text": "Hello you"}]
    assert gemini["usageMetadata"]["totalTokenCount"] == 12
    assert anthropic["content"] == [{"type": "text", "text": "Hello you"}]
    assert anthropic["usage"]["output_tokens"] == 2


async def test_a_stream_comes_chunk_by_chunk_in_each_protocol(http: httpx.AsyncClient) -> None:
    async with ModelServer([Text(text="one two", times=None)]) as server:
        openai = (await http.post(server.url + OPENAI, json=chat(stream=True))).text
        gemini = (await http.post(server.url + GEMINI_STREAM, json=contents())).text
        anthropic = (await http.post(server.url + ANTHROPIC, json=chat(stream=True))).text

    for body in (openai, gemini, anthropic):
        assert body.index('"one "') < body.index('"two"')
    assert openai.endswith("data: [DONE]\n\n")
    assert gemini.count('"finishReason":"STOP"') == 1
    assert anthropic.split("\n")[0] == "event: message_start"
    assert anthropic.endswith('event: message_stop\ndata: {"type":"message_stop"}\n\n')


async def test_the_chat_path_is_taken_with_and_without_v1(http: httpx.AsyncClient) -> None:
    async with ModelServer() as server:
        answers = [
            await http.post(server.url + path, json=chat())
            for path in ("/chat/completions", OPENAI)
        ]
        gemini = await http.post(server.url + GEMINI.replace("v1beta", "v1"), json=contents())

    assert [answer.status_code for answer in [*answers, gemini]] == [200, 200, 200]


async def test_without_a_step_the_last_text_of_the_user_is_echoed(http: httpx.AsyncClient) -> None:
    async with ModelServer() as server:
        assert await said(http, server, "Where is Ann?") == "You said: Where is Ann?"
    async with ModelServer(Script(default=Text(text="done"))) as server:
        assert await said(http, server) == "done"


async def test_concurrent_conversations_get_the_steps_that_match_them(
    http: httpx.AsyncClient,
) -> None:
    script: list[Step] = [
        Text(text=f"for {name}", match=Match(last_user=name)) for name in "ABCDEFGH"
    ]
    async with ModelServer(script) as server:
        answers = await asyncio.gather(*(said(http, server, f"I am {name}") for name in "HGFEDCBA"))

        assert answers == [f"for {name}" for name in "HGFEDCBA"]
        assert server.remaining == ()


async def test_ids_of_tool_calls_never_repeat(http: httpx.AsyncClient) -> None:
    step = ToolCalls(calls=(Call(name="a"), Call(name="b"), Call(name="c", id="mine")), times=None)
    async with ModelServer([step]) as server:
        ids: list[str] = []
        for _ in range(3):
            message = (await http.post(server.url + OPENAI, json=chat())).json()["choices"][0]
            ids += [call["id"] for call in message["message"]["tool_calls"]]
            server.reset()

    assert ids.count("mine") == 3
    assert len(set(ids)) == 7


TOOL_CONVERSATION = (
    Message(role="user", text="2 + 3?"),
    Message(
        role="assistant",
        text="Adding",
        tool_calls=(ToolCall(id="c1", name="add", args={"a": 2, "b": 3}),),
    ),
)


async def test_an_openai_request_is_recorded_in_common_form(http: httpx.AsyncClient) -> None:
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "add", "arguments": '{"a": 2, "b": 3}'},
    }
    body = {
        "model": "gpt",
        "messages": [
            {"role": "system", "content": "You add."},
            {"role": "user", "content": [{"type": "text", "text": "2 + 3?"}]},
            {"role": "assistant", "content": "Adding", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "name": "add", "content": "5"},
        ],
        "tools": [{"type": "function", "function": {"name": "add"}}],
    }
    async with ModelServer() as server:
        await http.post(server.url + OPENAI, json=body, headers={"X-Mine": "1"})
    (request,) = server.requests

    assert (request.protocol, request.model, request.stream) == ("openai", "gpt", False)
    assert (request.path, request.system, request.tools) == (OPENAI, "You add.", ("add",))
    assert request.headers["x-mine"] == "1"
    assert request.body == body
    result = ToolResult(id="c1", name="add", content="5")
    assert request.messages == (
        *TOOL_CONVERSATION,
        Message(role="tool", text="", tool_results=(result,)),
    )


async def test_an_anthropic_request_is_recorded_in_common_form(http: httpx.AsyncClient) -> None:
    use = {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 2, "b": 3}}
    body = {
        "model": "claude",
        "system": [{"type": "text", "text": "You add."}],
        "messages": [
            {"role": "user", "content": "2 + 3?"},
            {"role": "assistant", "content": [{"type": "text", "text": "Adding"}, use]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "5"}],
            },
        ],
        "tools": [{"name": "add", "input_schema": {}}],
    }
    async with ModelServer() as server:
        await http.post(server.url + ANTHROPIC, json=body)
    (request,) = server.requests

    assert (request.protocol, request.model, request.stream) == ("anthropic", "claude", False)
    assert (request.system, request.tools) == ("You add.", ("add",))
    result = ToolResult(id="c1", name="", content="5")
    assert request.messages == (
        *TOOL_CONVERSATION,
        Message(role="tool", text="", tool_results=(result,)),
    )


async def test_a_gemini_request_is_recorded_in_common_form(http: httpx.AsyncClient) -> None:
    call = {"functionCall": {"id": "c1", "name": "add", "args": {"a": 2, "b": 3}}}
    response = {"functionResponse": {"id": "c1", "name": "add", "response": {"sum": 5}}}
    body = {
        "systemInstruction": {"parts": [{"text": "You add."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "2 + 3?"}]},
            {"role": "model", "parts": [{"text": "Adding"}, call]},
            {"role": "user", "parts": [response]},
        ],
        "tools": [{"functionDeclarations": [{"name": "add"}]}],
    }
    async with ModelServer() as server:
        await http.post(server.url + GEMINI_STREAM, json=body)
    (request,) = server.requests

    assert (request.protocol, request.model, request.stream) == ("gemini", "gem", True)
    assert (request.system, request.tools) == ("You add.", ("add",))
    result = ToolResult(id="c1", name="add", content='{"sum":5}')
    assert request.messages == (
        *TOOL_CONVERSATION,
        Message(role="tool", text="", tool_results=(result,)),
    )


async def test_after_a_tool_the_last_user_text_is_still_the_question(
    http: httpx.AsyncClient,
) -> None:
    body = chat("weather in Rome?")
    call = {"id": "c", "type": "function", "function": {"name": "w", "arguments": "{}"}}
    body["messages"] += [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "sunny"},
    ]
    match = Match(last_user="Rome", after_tool=True)
    async with ModelServer([Text(text="Sunny", match=match)]) as server:
        answer = await http.post(server.url + OPENAI, json=body)

    assert answer.json()["choices"][0]["message"]["content"] == "Sunny"


async def test_only_the_latest_requests_are_kept_when_a_limit_is_set(
    http: httpx.AsyncClient,
) -> None:
    async with ModelServer(keep_requests=2) as server:
        for text in "abc":
            await said(http, server, text)

        assert [request.messages[-1].text for request in server.requests] == ["b", "c"]
        assert server.received == 3


async def test_delays_are_those_of_the_script(http: httpx.AsyncClient) -> None:
    step = Text(text="a b c", delay_s=0.1, interval_s=0.05, times=2)
    loop = asyncio.get_running_loop()
    async with ModelServer([step]) as server:
        for stream in (False, True):
            start = loop.time()
            await http.post(server.url + OPENAI, json=chat(stream=stream))

            assert 0.2 <= loop.time() - start < 2


async def test_chunks_arrive_while_the_answer_is_being_made(http: httpx.AsyncClient) -> None:
    loop = asyncio.get_running_loop()
    async with ModelServer([Text(text="a b c", interval_s=0.1)]) as server:
        start, seen = loop.time(), list[float]()
        async with http.stream("POST", server.url + OPENAI, json=chat(stream=True)) as answer:
            async for line in answer.aiter_lines():
                if '"content":"' in line and '"content":""' not in line:
                    seen.append(loop.time() - start)

    assert len(seen) == 3
    assert seen[0] < seen[1] < seen[2]
    assert seen[2] - seen[0] >= 0.19


@pytest.mark.parametrize("how", ["close", "reset"])
async def test_a_disconnect_sends_no_byte(http: httpx.AsyncClient, how: str) -> None:
    step = Disconnect.model_validate({"how": how})
    async with ModelServer([step]) as server:
        with pytest.raises(BROKEN[how]):
            await http.post(server.url + OPENAI, json=chat())
        assert await said(http, server) == "You said: hi"


@pytest.mark.parametrize("path", [OPENAI, ANTHROPIC, GEMINI_STREAM])
@pytest.mark.parametrize("how", ["close", "reset"])
async def test_a_cut_stream_sends_its_chunks_and_breaks_off(
    http: httpx.AsyncClient, path: str, how: str
) -> None:
    body = contents() if path == GEMINI_STREAM else chat(stream=True)
    seen = b""
    async with ModelServer([Cut.model_validate({"chunks": ["a ", "b "], "how": how})]) as server:
        with pytest.raises(BROKEN[how]):
            async with http.stream("POST", server.url + path, json=body) as answer:
                async for data in answer.aiter_bytes():
                    seen += data

    assert answer.status_code == 200
    assert b'"b "' in seen
    assert not any(end in seen for end in (b"[DONE]", b"finishReason", b"message_stop"))


@pytest.mark.parametrize("path", [OPENAI, ANTHROPIC, GEMINI])
async def test_a_cut_body_stops_half_way(http: httpx.AsyncClient, path: str) -> None:
    body = contents() if path == GEMINI else chat()
    async with ModelServer([Cut(text="a b")]) as server:
        with pytest.raises(httpx.RemoteProtocolError, match="without sending complete"):
            await http.post(server.url + path, json=body)


async def test_a_cut_that_ends_in_good_order_is_no_http_error(http: httpx.AsyncClient) -> None:
    async with ModelServer([Cut(text="a b", how="end")]) as server:
        answer = await http.post(server.url + OPENAI, json=chat(stream=True))

    assert '"finish_reason":"stop"' not in answer.text
    assert "[DONE]" not in answer.text


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_gives_up_is_counted(http: httpx.AsyncClient, stream: bool) -> None:
    async with ModelServer([Hang(), Cut(text="a b", how="stall")]) as server:
        for count in (1, 2):
            call = asyncio.create_task(http.post(server.url + OPENAI, json=chat(stream=stream)))
            await server.wait_until(lambda s: s.in_flight == 1)
            call.cancel()
            await server.wait_until(lambda s: s.in_flight == 0)

            assert server.abandoned == count


async def test_waiting_for_what_does_not_happen_ends() -> None:
    async with ModelServer() as server:
        with pytest.raises(TimeoutError):
            await server.wait_until(lambda s: s.received == 1, timeout_s=0.05)


async def test_closing_the_server_ends_hanging_calls(http: httpx.AsyncClient) -> None:
    async with ModelServer([Hang()]) as server:
        call = asyncio.create_task(http.post(server.url + OPENAI, json=chat()))
        await server.wait_until(lambda s: s.in_flight == 1)

    with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
        await asyncio.wait_for(call, timeout=5)
    with pytest.raises(httpx.ConnectError):
        await http.post(server.url + OPENAI, json=chat())


async def test_a_server_that_went_away_comes_back_at_its_address(http: httpx.AsyncClient) -> None:
    async with ModelServer() as server:
        url = server.url
        await server.close()
        with pytest.raises(httpx.ConnectError):
            await http.post(url + OPENAI, json=chat())
        await server.open()

        assert server.url == url
        assert await said(http, server) == "You said: hi"


async def test_a_request_that_no_provider_would_take_is_refused(http: httpx.AsyncClient) -> None:
    async with ModelServer([Text(text="kept")]) as server:
        broken = await http.post(server.url + OPENAI, content=b"{")
        empty = await http.post(server.url + ANTHROPIC, json={})
        unknown = await http.post(server.url + "/v1/embeddings", json={})

        assert [broken.status_code, empty.status_code, unknown.status_code] == [400, 400, 404]
        assert empty.json()["error"]["type"] == "invalid_request_error"
        assert server.requests == ()
        assert await said(http, server) == "kept"


async def test_the_server_is_steered_over_http(http: httpx.AsyncClient) -> None:
    script = {"steps": [{"type": "text", "text": "new"}, {"type": "error", "status": 503}]}
    async with ModelServer() as server:
        assert (await http.post(server.url + "/__script", json=script)).status_code == 200
        assert await said(http, server) == "new"

        (request,) = (await http.get(server.url + "/__requests")).json()
        assert request["messages"][0]["text"] == "hi"
        assert (await http.get(server.url + "/__stats")).json() == {
            "received": 1,
            "in_flight": 0,
            "abandoned": 0,
            "remaining": 1,
        }

        assert (await http.post(server.url + "/__reset")).status_code == 200
        assert (await http.get(server.url + "/__requests")).json() == []
        assert await said(http, server) == "new"

        refused = await http.post(server.url + "/__script", json={"steps": [{"type": "x"}]})
        assert refused.status_code == 400
        assert server.remaining == (Error(status=503),)


async def test_it_runs_as_a_process_of_its_own(http: httpx.AsyncClient, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    steps = [
        {"type": "text", "text": "from the file"},
        {"type": "cut", "text": "a b", "how": "reset"},
    ]
    script.write_text(json.dumps({"steps": steps}))
    command = [sys.executable, "-m", "oda.testing.model_server", "--port", "0"]
    process = await asyncio.create_subprocess_exec(
        *command,
        "--script",
        str(script),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": ""},
    )
    assert process.stdout is not None
    try:
        url = (await asyncio.wait_for(process.stdout.readline(), timeout=30)).decode().strip()
        answer = await http.post(url + OPENAI, json=chat())
        with pytest.raises(httpx.ReadError):
            await http.post(url + OPENAI, json=chat(stream=True))
    finally:
        process.send_signal(signal.SIGTERM)
        code = await asyncio.wait_for(process.wait(), timeout=10)

    assert answer.json()["choices"][0]["message"]["content"] == "from the file"
    assert code == 0
