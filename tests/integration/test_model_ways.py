"""What every way to a model promises, each against a server that speaks its provider's protocol."""

import asyncio
import subprocess
import sys
from base64 import b64encode
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientConnectorDNSError, web
from aiohttp.test_utils import TestServer
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai.types import Content, FunctionDeclaration, GenerateContentConfig, Part, Tool
from pydantic import BaseModel

from oda.agent.failure import classify
from oda.agent.model.http_model import ModelCallError, close_connections
from oda.agent.model.litellm_import import close_clients
from oda.agent.model.providers import way_to
from oda.agent.model.registry import Models
from oda.config.records import Configuration, ModelRecord
from oda.settings import Settings
from oda.testing import ModelServer
from oda.testing.script import (
    Blocked,
    Call,
    Cut,
    Disconnect,
    Error,
    Hang,
    Malformed,
    MaxTokens,
    Step,
    Text,
    ToolCalls,
    Usage,
)

WAYS = {
    "openai/m": "openai",
    "litellm/openai/m": "litellm",
    "gemini-2.5-flash": "gemini",
    "anthropic/m": "anthropic",
    "litellm/anthropic/m": "litellm",
}
ADD = Tool(
    function_declarations=[
        FunctionDeclaration(
            name="add",
            description="Add.",
            parameters_json_schema={"type": "object", "properties": {"a": {"type": "integer"}}},
        )
    ]
)

_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")


class City(BaseModel):
    name: str


@pytest.fixture(autouse=True)
async def connections(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    monkeypatch.setenv("THE_KEY", "k-1234567890")
    yield
    await close_connections()
    await close_clients()


@pytest.fixture(params=WAYS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def streamed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def model_of(server: ModelServer, name: str, **record: Any) -> BaseLlm:
    base = {"api_base": server.openai_base if "openai" in name else server.url}
    entry = ModelRecord(model=name, api_key="${THE_KEY}", **(base | record))
    configuration = Configuration(models={"it": entry})
    return Models(Settings(model_timeout_s=5.0), lambda: configuration).resolve("it")


async def answers(
    server: ModelServer,
    name: str,
    *contents: Content,
    stream: bool,
    config: GenerateContentConfig | None = None,
) -> list[LlmResponse]:
    request = LlmRequest(
        contents=list(contents) or [Content(role="user", parts=[Part(text="hi")])],
        config=config or GenerateContentConfig(),
    )
    model = model_of(server, name)
    return [response async for response in model.generate_content_async(request, stream)]


def texts(responses: list[LlmResponse], *, thought: bool = False, partial: bool = False) -> str:
    return "".join(
        part.text or ""
        for response in responses
        if bool(response.partial) == partial
        for part in (response.content and response.content.parts) or ()
        if bool(part.thought) == thought and not part.function_call
    )


def test_each_name_has_its_way() -> None:
    assert {name: way_to(ModelRecord(model=name)) for name in WAYS} == WAYS
    others = ["claude-x", "hosted_vllm/m", "gpt-4o", "vertex_ai/claude-x", "ollama/m", "litellm/o3"]
    ways = ["anthropic", "openai", "openai", "litellm", "litellm", "litellm"]
    assert [way_to(ModelRecord(model=name)) for name in others] == ways


def test_parameters_that_only_litellm_understands_take_its_way() -> None:
    of_its_own = {"thinking": {"type": "adaptive"}, "max_tokens": 5}
    assert way_to(ModelRecord(model="anthropic/m", params=of_its_own)) == "anthropic"
    assert way_to(ModelRecord(model="anthropic/m", params={"reasoning_effort": "low"})) == "litellm"
    assert way_to(ModelRecord(model="openai/m", params={"drop_params": True})) == "litellm"


async def test_text_arrives_in_pieces_and_as_a_whole(name: str, streamed: bool) -> None:
    async with ModelServer([Text(chunks=("one ", "two"))]) as server:
        seen = await answers(server, name, stream=streamed)
        (sent,) = server.requests

    assert texts(seen) == "one two"
    assert texts(seen, partial=True) == ("one two" if streamed else "")
    assert seen[-1].finish_reason == "STOP"
    assert "k-1234567890" in str(sent.headers)


@pytest.mark.parametrize("name", ["openai/m", "anthropic/m"])
async def test_pieces_that_came_together_are_one_preview(name: str) -> None:
    many = tuple(f"w{i} " for i in range(200))
    async with ModelServer([Text(chunks=many)]) as server:
        seen = await answers(server, name, stream=True)

    assert len([response for response in seen if response.partial]) < 50
    assert texts(seen, partial=True) == texts(seen) == "".join(many)


async def test_reasoning_arrives_before_the_text(name: str, streamed: bool) -> None:
    async with ModelServer([Text(text="two", thinking="Hm")]) as server:
        seen = await answers(server, name, stream=streamed)

    # ADK's aggregation for Gemini keeps thoughts and text as they came, the others as two parts.
    assert (texts(seen, thought=True), texts(seen)) == ("Hm", "two")
    assert texts(seen, thought=True, partial=True) == ("Hm" if streamed else "")


async def test_calls_and_results_are_paired_by_id(name: str, streamed: bool) -> None:
    calls = (Call(name="add", args={"a": 2}), Call(name="add", args={"a": 3}))
    config = GenerateContentConfig(tools=[ADD])
    async with ModelServer([ToolCalls(text="Adding", calls=calls), Text(text="5")]) as server:
        question = Content(role="user", parts=[Part(text="?")])
        asked = (await answers(server, name, question, stream=streamed, config=config))[-1].content
        assert asked and asked.parts
        made = [part.function_call for part in asked.parts if part.function_call]
        assert [call.args for call in made] == [{"a": 2}, {"a": 3}]
        parts = [Part.from_function_response(name="add", response={"x": 1}) for _ in made]
        for part, call in zip(parts, made, strict=True):
            assert part.function_response
            part.function_response.id = call.id
        results = Content(role="user", parts=parts)
        await answers(server, name, question, asked, results, stream=streamed, config=config)
        first, second = server.requests

    assert first.tools == ("add",)
    sent = [call.id for message in second.messages for call in message.tool_calls]
    returned = [result.id for message in second.messages for result in message.tool_results]
    assert sent == returned == [call.id for call in made]


async def test_an_answer_has_the_form_that_was_asked_for(name: str, streamed: bool) -> None:
    config = GenerateContentConfig(response_schema=City, response_mime_type="application/json")
    forms: dict[str, Step] = {
        "anthropic/m": ToolCalls(calls=(Call(name="structured_output", args={"name": "Ulm"}),)),
        "litellm/anthropic/m": ToolCalls(
            calls=(Call(name="json_tool_call", args={"name": "Ulm"}),)
        ),
    }
    async with ModelServer([forms.get(name, Text(text='{"name": "Ulm"}'))]) as server:
        seen = await answers(server, name, stream=streamed, config=config)
        (sent,) = server.requests

    assert City.model_validate_json(texts(seen)) == City(name="Ulm")
    assert "'name'" in str(
        {k: v for k, v in sent.body.items() if k not in ("messages", "contents")}
    )


async def test_usage_is_what_the_provider_says(name: str, streamed: bool) -> None:
    usage = Usage(prompt_tokens=100, completion_tokens=7, cached_tokens=60)
    async with ModelServer([Text(text="ok", usage=usage)]) as server:
        last = (await answers(server, name, stream=streamed))[-1].usage_metadata

    assert last
    assert (last.prompt_token_count, last.candidates_token_count) == (100, 7)
    assert (last.total_token_count, last.cached_content_token_count) == (107, 60)


REFUSALS: dict[str, tuple[Error, str]] = {
    "400": (Error(status=400), "bad_request"),
    "401": (Error(status=401), "authentication"),
    "403": (Error(status=403), "permission_denied"),
    "404": (Error(status=404), "not_found"),
    "429": (Error(status=429, retry_after=7), "rate_limited"),
    "500": (Error(status=500), "server_error"),
    "503": (Error(status=503), "overloaded"),
    "context": (Error(status=400, code="context_length_exceeded"), "context_overflow"),
    "policy": (Error(status=400, code="content_policy_violation"), "content_policy"),
}


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_a_refusal_is_told_and_nothing_is_sent_again(
    name: str, streamed: bool, refusal: str
) -> None:
    step, code = REFUSALS[refusal]
    async with ModelServer([step]) as server:
        with pytest.raises(Exception) as caught:
            await answers(server, name, stream=streamed)
        assert server.received == 1
    failure = classify(caught.value, now=0.0)
    assert failure.code == code
    assert failure.retry_after_s == (7.0 if refusal == "429" else None)


@pytest.mark.parametrize(
    "step",
    [
        Disconnect(),
        Cut(text="a b"),
        Cut(text="a b", how="reset"),
        Cut(text="a b", how="end"),
        Malformed(),
        Malformed(kind="html"),
    ],
    ids=["disconnected", "cut", "reset", "ended early", "broken JSON", "a web page"],
)
async def test_half_an_answer_is_a_failure_that_may_pass(
    name: str, streamed: bool, step: Step
) -> None:
    async with ModelServer([step]) as server:
        with pytest.raises(Exception) as caught:
            await answers(server, name, stream=streamed)
        assert server.received == 1
    assert classify(caught.value, now=0.0).retryable


async def test_an_error_inside_a_stream_may_pass(name: str) -> None:
    step = Error(status=529, after_chunks=("a ", "b "))
    async with ModelServer([step]) as server:
        with pytest.raises(Exception) as caught:
            await answers(server, name, stream=True)
    assert classify(caught.value, now=0.0).retryable


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (MaxTokens(text="half of"), "MAX_TOKENS"),
        (Blocked(), "SAFETY"),
        (Malformed(kind="tool_arguments", tool="add"), "MALFORMED_FUNCTION_CALL"),
    ],
)
async def test_a_bad_end_is_told_and_no_call_of_it_is_made(
    name: str, streamed: bool, step: Step, reason: str
) -> None:
    config = GenerateContentConfig(tools=[ADD])
    async with ModelServer([step]) as server:
        last = (await answers(server, name, stream=streamed, config=config))[-1]

    assert last.finish_reason == reason
    assert last.error_code == reason or (reason == "MAX_TOKENS" and name == "gemini-2.5-flash")
    parts = (last.content and last.content.parts) or ()
    assert not [part for part in parts if part.function_call]


async def test_cancelling_a_call_closes_its_connection(name: str, streamed: bool) -> None:
    async with ModelServer([Hang()]) as server:
        call = asyncio.create_task(answers(server, name, stream=streamed))
        await server.wait_until(lambda s: s.in_flight == 1)
        call.cancel()
        await server.wait_until(lambda s: s.abandoned == 1)
        with pytest.raises(asyncio.CancelledError):
            await call


async def test_calls_share_their_connection_which_is_closed_in_the_end(
    name: str, streamed: bool
) -> None:
    async with ModelServer([Text(text="ok", times=None)]) as server:
        model = model_of(server, name)
        for _ in range(4):
            contents = [Content(role="user", parts=[Part(text="hi")])]
            async for _ in model.generate_content_async(LlmRequest(contents=contents), streamed):
                pass
        assert (server.connections, server.open_connections) == (1, 1)
        await close_connections()
        await close_clients()
        await server.wait_until(lambda s: s.open_connections == 0)


async def test_a_time_limit_is_for_the_next_piece_of_a_stream(name: str) -> None:
    step = Text(chunks=("a ", "b ", "c ", "d "), interval_s=0.3)
    async with ModelServer([step]) as server:
        model = model_of(server, name, timeout_s=0.8)
        request = LlmRequest(contents=[Content(role="user", parts=[Part(text="hi")])])
        seen = [response async for response in model.generate_content_async(request, True)]
    assert texts(seen) == "a b c d "


async def test_a_server_of_ones_own_does_not_get_the_providers_key(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in _KEYS:
        monkeypatch.setenv(variable, "sk-of-the-provider")
    async with ModelServer([Text(text="ok")]) as server:
        base = server.openai_base if "openai" in name else server.url
        record = ModelRecord(model=name, api_base=base)
        models = Models(Settings(), lambda: Configuration(models={"it": record}))
        request = LlmRequest(contents=[Content(role="user", parts=[Part(text="hi")])])
        async for _ in models.resolve("it").generate_content_async(request):
            pass
        (sent,) = server.requests
    assert "sk-of-the-provider" not in str(sent.headers)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    return tmp_path


@pytest.mark.parametrize("name", ["openai/m", "anthropic/m", "gemini-2.5-flash"])
async def test_a_proxy_is_used_but_for_hosts_that_it_is_not_for(
    name: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ModelServer([Text(text="ok")]) as server:
        monkeypatch.setenv("http_proxy", server.url.replace("://", "://ann:secret@"))
        monkeypatch.setenv("no_proxy", "direct.invalid")
        request = LlmRequest(contents=[Content(role="user", parts=[Part(text="hi")])])
        behind = model_of(server, name, api_base=f"http://{name[:3]}.invalid/v1")
        seen = [response async for response in behind.generate_content_async(request, True)]
        assert texts(seen) == "ok"
        (sent,) = server.requests
        assert sent.headers["proxy-authorization"] == "Basic " + b64encode(b"ann:secret").decode()
        direct = model_of(server, name, api_base="http://direct.invalid/v1")
        with pytest.raises(ClientConnectorDNSError):
            await anext(direct.generate_content_async(request, True))
        assert server.received == 1


@pytest.mark.parametrize("name", ["openai/m", "anthropic/m"])
async def test_a_key_does_not_follow_to_another_address(name: str) -> None:
    async def redirect(_: web.Request) -> web.Response:
        raise web.HTTPTemporaryRedirect(server.url)

    app = web.Application()
    app.router.add_post("/{path:.*}", redirect)
    async with ModelServer() as server, TestServer(app) as first:
        moved = model_of(server, name, api_base=str(first.make_url("/v1")))
        request = LlmRequest(contents=[Content(role="user", parts=[Part(text="hi")])])
        with pytest.raises(ModelCallError, match="307"):
            await anext(moved.generate_content_async(request, True))
        assert server.received == 0


@pytest.mark.parametrize("name", ["openai/m", "anthropic/m"])
async def test_a_password_file_is_no_business_of_models(name: str, home: Path) -> None:
    """With it, aiohttp refuses each call that has a key."""
    (home / "netrc").write_text("default login ann password secret")
    async with ModelServer([Text(text="ok")]) as server:
        assert texts(await answers(server, name, stream=True)) == "ok"


_WITHOUT_LITELLM = """
import asyncio, sys
from google.adk.models.llm_request import LlmRequest
from google.genai.types import Content, Part
from oda.agent.model.http_model import close_connections
from oda.agent.model.prices import cost_usd
from oda.agent.model.registry import Models
from oda.config.records import Configuration, ModelRecord
from oda.settings import Settings
from oda.testing import ModelServer

async def main():
    async with ModelServer() as server:
        settings = Settings(
            model="openai/m", model_api_base=server.openai_base, transcribe_model="openai/whisper-1"
        )
        records = {
            name: ModelRecord(model=name, api_base=server.url)
            for name in ("anthropic/m", "gemini-2.5-flash")
        }
        models = Models(settings, lambda: Configuration(models=records))
        models.check_keys()
        assert not models.need_litellm
        for name in ("default", *records):
            request = LlmRequest(contents=[Content(role="user", parts=[Part(text="hi")])])
            async for _ in models.resolve(name).generate_content_async(request, True):
                pass
        await models.transcribe(b"hello", "audio/wav")
        assert server.received == 4
    for name in ("gpt-4o", "anthropic/claude-sonnet-4-5", "gemini-2.5-flash"):
        assert cost_usd(name, 1, 1), name
    await close_connections()

asyncio.run(main())
clients = ("litellm", "openai", "anthropic", "google.adk.models.lite_llm")
print(sorted(sys.modules.keys() & set(clients)))
"""


def test_litellm_and_the_providers_clients_are_not_imported_unless_used() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _WITHOUT_LITELLM], capture_output=True, text=True, timeout=60
    )
    assert (ran.stdout.strip(), ran.returncode) == ("[]", 0), ran.stderr
