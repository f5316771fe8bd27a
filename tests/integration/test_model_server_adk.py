"""ADK's Runner on the model server: tools, error events and what is raised, for each adapter."""

import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import anthropic
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode  # type: ignore[attr-defined]
from google.adk.apps import App
from google.adk.events import Event
from google.adk.models.anthropic_llm import AnthropicLlm
from google.adk.models.base_llm import BaseLlm
from google.adk.models.google_llm import Gemini
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from oda.agent.model.litellm_import import close_clients
from oda.testing import ModelServer
from oda.testing.script import (
    Blocked,
    Call,
    Cut,
    Disconnect,
    Empty,
    Error,
    Malformed,
    Match,
    MaxTokens,
    Step,
    Text,
    ToolCalls,
)

# LiteLLM keeps its HTTP clients for the life of an event loop.
pytestmark = pytest.mark.asyncio(loop_scope="module")

OWN_HANDLER = "EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER"

Adapter = Callable[[ModelServer], BaseLlm]


def litellm_openai(server: ModelServer) -> BaseLlm:
    return LiteLlm(
        model="openai/m",
        api_base=server.openai_base,
        api_key="test",
        num_retries=0,
        max_retries=0,
        timeout=5,
    )


def litellm_anthropic(server: ModelServer) -> BaseLlm:
    return LiteLlm(
        model="anthropic/claude-x", api_base=server.url, api_key="test", num_retries=0, timeout=5
    )


def gemini(server: ModelServer) -> BaseLlm:
    return Gemini(
        model="gemini-2.5-flash",
        base_url=server.url,
        retry_options=types.HttpRetryOptions(attempts=1),
    )


def anthropic_llm(server: ModelServer) -> BaseLlm:
    client = anthropic.AsyncAnthropic(base_url=server.url, api_key="test", max_retries=0)
    return AnthropicLlm(model="claude-x", client=client)


@dataclass
class Observed:
    events: list[Event] = field(default_factory=list)
    error: Any = None

    @property
    def error_codes(self) -> list[str]:
        return [event.error_code for event in self.events if event.error_code]

    @property
    def partial_texts(self) -> list[str]:
        return [text for event in self.events if event.partial for text in texts_of(event)]

    @property
    def answer(self) -> list[str]:
        return texts_of(self.events[-1])


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def litellm_clients() -> AsyncIterator[None]:
    yield
    await close_clients()


@pytest.fixture(autouse=True)
def google_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "test")


@pytest.fixture(
    params=[
        (litellm_openai, "False"),
        (litellm_openai, "True"),
        (litellm_anthropic, "False"),
        (gemini, "False"),
        (anthropic_llm, "False"),
    ],
    ids=["openai", "openai by LiteLLM's handler", "litellm anthropic", "gemini", "anthropic"],
)
def adapter(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Adapter:
    make, own_handler = request.param
    monkeypatch.setenv(OWN_HANDLER, own_handler)
    chosen: Adapter = make
    return chosen


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def streamed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def texts_of(event: Event) -> list[str]:
    parts = (event.content and event.content.parts) or []
    return [part.text for part in parts if part.text]


def add(a: int, b: int) -> dict[str, int]:
    """Add two numbers."""
    return {"sum": a + b}


async def run(server: ModelServer, adapter: Adapter, *, stream: bool) -> Observed:
    """One turn of an agent with a tool `add`."""
    sessions = InMemorySessionService()
    agent = LlmAgent(
        name="root", model=adapter(server), instruction="You are Ann and add.", tools=[add]
    )
    runner = Runner(app=App(name="test", root_agent=agent), session_service=sessions)
    session = await sessions.create_session(app_name="test", user_id="u")
    seen = Observed()
    try:
        async for event in runner.run_async(
            user_id="u",
            session_id=session.id,
            new_message=types.Content(role="user", parts=[types.Part(text="2 + 3?")]),
            run_config=RunConfig(
                streaming_mode=StreamingMode.SSE if stream else StreamingMode.NONE
            ),
        ):
            seen.events.append(event)
    except Exception as error:
        seen.error = error
    finally:
        await runner.close()
    return seen


async def play(step: Step, adapter: Adapter, *, stream: bool) -> Observed:
    async with ModelServer([step]) as server:
        return await run(server, adapter, stream=stream)


async def test_an_agent_uses_tools_at_once_and_answers(adapter: Adapter, streamed: bool) -> None:
    calls = (Call(name="add", args={"a": 2, "b": 3}), Call(name="add", args={"a": 1, "b": 1}))
    script: list[Step] = [
        ToolCalls(text="Adding", calls=calls, match=Match(after_tool=False)),
        Text(text="5 and 2", match=Match(after_tool=True, system="You are Ann", last_user="2 + 3")),
    ]
    async with ModelServer(script) as server:
        seen = await run(server, adapter, stream=streamed)
        first, second = server.requests

    assert seen.error is None
    assert seen.answer == ["5 and 2"]
    assert first.messages[-1].text == "2 + 3?"
    assert first.tools == ("add",)
    made = [call for message in second.messages for call in message.tool_calls]
    assert [call.args for call in made] == [{"a": 2, "b": 3}, {"a": 1, "b": 1}]
    answered = [result for message in second.messages for result in message.tool_results]
    assert [result.id for result in answered] == [call.id for call in made]
    assert ['"sum":5' in r.content.replace(" ", "") for r in answered] == [True, False]


@pytest.mark.parametrize("status", [401, 429, 500, 503])
async def test_an_http_error_is_one_error_event_and_then_raised(
    adapter: Adapter, streamed: bool, status: int
) -> None:
    seen = await play(Error(status=status), adapter, stream=streamed)

    code = seen.error.code if adapter is gemini else seen.error.status_code
    assert code == status
    name = seen.error.status if adapter is gemini else type(seen.error).__name__
    assert seen.error_codes == [name]
    assert seen.events[-1].content is None


@pytest.mark.parametrize("step", [Disconnect(), Cut(text="a b")])
async def test_a_broken_connection_is_one_error_event_and_then_raised(
    adapter: Adapter, streamed: bool, step: Disconnect | Cut
) -> None:
    seen = await play(step, adapter, stream=streamed)

    assert seen.error_codes == [type(seen.error).__name__]
    expected = ["a ", "b"] if streamed and isinstance(step, Cut) else []
    assert seen.partial_texts == expected


async def test_an_error_inside_a_stream_is_raised_after_the_partial_text(adapter: Adapter) -> None:
    seen = await play(Error(status=529, after_chunks=("a ", "b ")), adapter, stream=True)

    assert seen.partial_texts == ["a ", "b "]
    assert len(seen.error_codes) == 1
    if adapter is anthropic_llm:  # ADK trips over the response that is still being streamed
        assert type(seen.error).__name__ == "ResponseNotRead"
        assert seen.error_codes == ["APIStatusError"]


async def test_a_stream_without_its_end_passes_for_an_answer(adapter: Adapter) -> None:
    seen = await play(Cut(text="a b", how="end"), adapter, stream=True)

    assert (seen.error, seen.error_codes, seen.answer) == (None, [], ["a b"])
    by_litellm = adapter in (litellm_openai, litellm_anthropic)
    assert seen.events[-1].finish_reason == (types.FinishReason.STOP if by_litellm else None)


async def test_a_tool_call_cut_off_in_its_arguments_is_never_run(adapter: Adapter) -> None:
    step = Cut(calls=(Call(name="add", args={"a": 2, "b": 3}),), how="end")
    seen = await play(step, adapter, stream=True)

    assert [event for event in seen.events if event.get_function_responses()] == []


@pytest.mark.parametrize(
    ("step", "by_litellm", "by_gemini", "by_gemini_streamed"),
    [
        (Blocked(), ["SAFETY"], ["SAFETY"], ["SAFETY", "SAFETY"]),
        (Blocked(text="I am"), ["SAFETY"], [], ["SAFETY"]),
        (MaxTokens(text="half of"), ["MAX_TOKENS"], [], ["MAX_TOKENS"]),
    ],
)
async def test_limits_and_filters_are_error_codes_that_are_not_raised(
    adapter: Adapter,
    streamed: bool,
    step: Step,
    by_litellm: list[str],
    by_gemini: list[str],
    by_gemini_streamed: list[str],
) -> None:
    seen = await play(step, adapter, stream=streamed)

    assert seen.error is None
    if adapter is anthropic_llm:
        assert seen.error_codes == []
    elif adapter is gemini:
        assert seen.error_codes == (by_gemini_streamed if streamed else by_gemini)
    else:
        assert seen.error_codes == by_litellm
    assert seen.events[-1].finish_reason is not None


async def test_an_empty_answer_has_an_error_code_only_without_streaming(
    adapter: Adapter, streamed: bool
) -> None:
    seen = await play(Empty(), adapter, stream=streamed)

    assert seen.error is None
    assert seen.error_codes == ([] if streamed else ["MODEL_RETURNED_NO_CONTENT"])


async def test_broken_tool_arguments_never_reach_a_tool(adapter: Adapter, streamed: bool) -> None:
    seen = await play(Malformed(kind="tool_arguments", tool="add"), adapter, stream=streamed)

    assert [event for event in seen.events if event.get_function_responses()] == []
    if adapter is anthropic_llm:
        assert type(seen.error).__name__ == ("ValueError" if streamed else "AssertionError")
    else:
        assert set(seen.error_codes) == {"MALFORMED_FUNCTION_CALL"}
