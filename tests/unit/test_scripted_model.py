"""`ScriptedModel`: an ADK model that plays a script in process."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode  # type: ignore[attr-defined]
from google.adk.apps import App
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from oda.testing import FakeClock, ScriptedModel
from oda.testing.script import (
    Blocked,
    Call,
    Cut,
    Disconnect,
    Echo,
    Empty,
    Error,
    Hang,
    Malformed,
    Match,
    MaxTokens,
    Text,
    ToolCalls,
    Usage,
)
from oda.testing.scripted_model import Raise, Respond, ScriptedHttpError


def request(text: str = "hi", *, system: str = "") -> LlmRequest:
    content = types.Content(role="user", parts=[types.Part(text=text)])
    config = types.GenerateContentConfig(system_instruction=system)
    return LlmRequest(contents=[content], config=config)


async def responses(
    model: ScriptedModel, *, stream: bool = False, text: str = "hi", system: str = ""
) -> list[LlmResponse]:
    call = model.generate_content_async(request(text, system=system), stream=stream)
    return [response async for response in call]


def texts(given: Sequence[LlmResponse]) -> list[tuple[bool, str]]:
    return [
        (bool(response.partial), "".join(part.text or "" for part in parts_of(response)))
        for response in given
    ]


def parts_of(response: LlmResponse) -> list[types.Part]:
    assert response.content is not None
    return response.content.parts or []


async def run(model: ScriptedModel, *, stream: bool = False) -> list[Event]:
    """One turn of a plain ADK agent with a tool `add`."""

    def add(a: int, b: int) -> dict[str, int]:
        """Add two numbers."""
        return {"sum": a + b}

    sessions = InMemorySessionService()
    agent = LlmAgent(name="root", model=model, instruction="You add.", tools=[add])
    runner = Runner(app=App(name="test", root_agent=agent), session_service=sessions)
    session = await sessions.create_session(app_name="test", user_id="u")
    mode = StreamingMode.SSE if stream else StreamingMode.NONE
    message = types.Content(role="user", parts=[types.Part(text="2 + 3?")])
    return [
        event
        async for event in runner.run_async(
            user_id="u",
            session_id=session.id,
            new_message=message,
            run_config=RunConfig(streaming_mode=mode),
        )
    ]


async def test_text_comes_whole_or_in_partial_chunks_and_then_whole() -> None:
    model = ScriptedModel(steps=(Text(text="one two", times=2),))

    assert texts(await responses(model)) == [(False, "one two")]
    assert texts(await responses(model, stream=True)) == [
        (True, "one "),
        (True, "two"),
        (False, "one two"),
    ]


async def test_without_a_script_the_user_is_echoed() -> None:
    assert texts(await responses(ScriptedModel(), text="hello")) == [(False, "You said: hello")]


async def test_an_agent_calls_the_scripted_tool_and_answers_with_its_result() -> None:
    model = ScriptedModel(
        steps=(
            ToolCalls(text="Adding", calls=(Call(name="add", args={"a": 2, "b": 3}),)),
            Text(text="It is 5", match=Match(after_tool=True)),
        )
    )

    events = await run(model)

    assert [call.name for call in events[0].get_function_calls()] == ["add"]
    assert [answer.response for answer in events[1].get_function_responses()] == [{"sum": 5}]
    assert events[2].content is not None
    assert events[2].content.parts == [types.Part(text="It is 5")]
    assert model.remaining == ()


async def test_requests_are_recorded_as_they_were() -> None:
    model = ScriptedModel(
        steps=(ToolCalls(calls=(Call(name="add", args={"a": 2, "b": 3}),)), Text(text="5"))
    )

    await run(model)

    assert [len(seen.contents) for seen in model.requests] == [1, 3]
    assert "You add." in str(model.requests[0].config.system_instruction)
    assert list(model.requests[0].tools_dict) == ["add"]


async def test_sub_agents_are_told_apart_by_their_instruction() -> None:
    model = ScriptedModel(
        steps=(
            Text(text="from B", match=Match(system="You are B")),
            Text(text="from A", match=Match(system="You are A")),
        )
    )

    assert texts(await responses(model, system="You are A.")) == [(False, "from A")]
    assert texts(await responses(model, system="You are B.")) == [(False, "from B")]


async def test_a_given_exception_is_raised_after_the_given_chunks() -> None:
    error = TimeoutError("slow")
    model = ScriptedModel(steps=(Raise(exception=error, after_chunks=("a", "b"), times=2),))
    seen: list[LlmResponse] = []

    with pytest.raises(TimeoutError) as caught:
        async for response in model.generate_content_async(request(), stream=True):
            seen.append(response)

    assert caught.value is error
    assert texts(seen) == [(True, "a"), (True, "b")]
    with pytest.raises(TimeoutError):
        await responses(model)


async def test_a_failure_in_an_agent_is_an_error_event_and_an_exception() -> None:
    model = ScriptedModel(steps=(Error(status=503),))

    with pytest.raises(ScriptedHttpError):
        await run(model)


async def test_an_http_error_has_the_attributes_of_the_real_ones() -> None:
    model = ScriptedModel(steps=(Error(status=429, code="insufficient_quota", retry_after=7),))

    with pytest.raises(ScriptedHttpError, match="insufficient_quota") as caught:
        await responses(model)

    assert caught.value.status_code == 429
    assert caught.value.litellm_response_headers == {"retry-after": "7"}


async def test_given_responses_are_passed_on_as_they_are() -> None:
    refused = LlmResponse(error_code="SAFETY", error_message="no")
    model = ScriptedModel(steps=(Respond(responses=(refused,)),))

    assert await responses(model) == [refused]


@pytest.mark.parametrize(
    ("step", "error_code", "finish"),
    [
        (MaxTokens(text="half"), "MAX_TOKENS", "MAX_TOKENS"),
        (Blocked(), "SAFETY", "SAFETY"),
        (Malformed(kind="tool_arguments"), "MALFORMED_FUNCTION_CALL", "MALFORMED_FUNCTION_CALL"),
        (Empty(), None, "STOP"),
        (Cut(text="half", how="end"), None, None),
    ],
)
async def test_bad_endings_that_no_adapter_raises(
    step: MaxTokens | Blocked | Malformed | Empty | Cut,
    error_code: str | None,
    finish: str | None,
) -> None:
    for stream in (False, True):
        last = (await responses(ScriptedModel(steps=(step,)), stream=stream))[-1]

        assert last.error_code == error_code
        assert last.finish_reason == (finish and types.FinishReason(finish))


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (Disconnect(), ConnectionResetError),
        (Cut(text="half of"), ConnectionResetError),
        (Malformed(), json.JSONDecodeError),
    ],
)
async def test_broken_connections_and_bodies_are_raised(
    step: Disconnect | Cut | Malformed, expected: type[Exception]
) -> None:
    for stream in (False, True):
        with pytest.raises(expected):
            await responses(ScriptedModel(steps=(step,)), stream=stream)


@pytest.mark.parametrize("step", [Hang(), Cut(text="half", how="stall")])
async def test_a_model_that_hangs_can_only_be_cancelled(step: Hang | Cut) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await responses(ScriptedModel(steps=(step,)), stream=True)


async def test_time_passes_on_the_injected_clock_only() -> None:
    clock = FakeClock()
    step = Text(text="a b c", delay_s=10, interval_s=1, times=2)
    model = ScriptedModel(steps=(step,), sleep=clock.sleep)

    await responses(model)
    await responses(model, stream=True)

    assert clock.sleeps == (12, 10, 1, 1)


async def test_thinking_and_usage_are_reported() -> None:
    usage = Usage(prompt_tokens=100, completion_tokens=7, cached_tokens=60)
    model = ScriptedModel(steps=(Text(text="yes", thinking="hm", usage=usage),))

    (response,) = await responses(model)

    assert [(part.text, part.thought) for part in parts_of(response)] == [
        ("hm", True),
        ("yes", None),
    ]
    assert response.usage_metadata is not None
    assert response.usage_metadata.prompt_token_count == 100
    assert response.usage_metadata.cached_content_token_count == 60
    assert response.usage_metadata.total_token_count == 107


async def test_steps_can_be_added_while_it_plays() -> None:
    model = ScriptedModel(default=Echo(prefix="?"))
    model.add(Text(text="late"))

    assert texts(await responses(model)) == [(False, "late")]
    assert texts(await responses(model)) == [(False, "?hi")]


def test_importing_the_test_doubles_imports_neither_adk_nor_litellm() -> None:
    code = (
        "import sys, oda.testing, oda.testing.script, oda.testing.model_server;"
        "print([n for n in ('litellm', 'google.adk', 'google.genai') if n in sys.modules]);"
        "import oda.testing.scripted_model; print('litellm' in sys.modules)"
    )

    done: subprocess.CompletedProcess[str] = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout.split("\n")[:2] == ["[]", "False"]


def test_every_public_name_can_be_imported_and_no_other() -> None:
    import oda.testing

    found: dict[str, Any] = {name: getattr(oda.testing, name) for name in oda.testing.__all__}

    assert all(isinstance(value, type) for value in found.values())
    with pytest.raises(AttributeError, match="Nothing"):
        _ = oda.testing.Nothing
