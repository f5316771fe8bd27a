"""The same agent, by three providers' protocols, goes on after every way to fail of a model."""

from pathlib import Path

import pytest
from google.adk.agents._streaming_mode import StreamingMode
from google.adk.agents.run_config import RunConfig
from google.adk.events import Event

from oda import OdaContext
from oda.testing import FakeClock, ModelServer
from oda.testing.script import (
    Blocked,
    Call,
    Cut,
    Disconnect,
    Empty,
    Error,
    Malformed,
    MaxTokens,
    Step,
    Text,
    ToolCalls,
)

AGENTS = Path(__file__).parents[1] / "support" / "agents"
ANSWER = Text(text="It is five.")
ADD = ToolCalls(calls=(Call(name="add", args={"a": 2, "b": 3}),))

PROVIDERS = {
    "openai": "openai/stub",
    "openai by LiteLLM": "litellm/openai/stub",
    "anthropic": "anthropic/stub",
    "anthropic by LiteLLM": "litellm/anthropic/stub",
    "gemini": "gemini-2.5-flash",
}

PASSING: dict[str, Step] = {
    "429": Error(status=429),
    "429 with Retry-After": Error(status=429, retry_after=7),
    "500": Error(status=500),
    "502": Error(status=502),
    "503": Error(status=503),
    "504": Error(status=504),
    "529": Error(status=529),
    "408": Error(status=408),
    "409": Error(status=409),
    "disconnected": Disconnect(),
    "cut": Cut(text="It is a lon"),
    "cut by reset": Cut(text="It is a lon", how="reset"),
    "ended early": Cut(text="It is a lon", how="end"),
    "stalled": Cut(text="It is a lon", how="stall"),
    "broken JSON": Malformed(),
    "a web page": Malformed(kind="html"),
    "broken tool arguments": Malformed(kind="tool_arguments", tool="add"),
    "nothing": Empty(),
}

LASTING: dict[str, tuple[Step, str]] = {
    "400": (Error(status=400), "bad_request"),
    "401": (Error(status=401), "authentication"),
    "403": (Error(status=403), "permission_denied"),
    "404": (Error(status=404), "not_found"),
    "context": (Error(status=400, code="context_length_exceeded"), "context_overflow"),
    "policy": (Error(status=400, code="content_policy_violation"), "content_policy"),
    "blocked": (Blocked(), "content_policy"),
}

pytestmark = [
    pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"]),
    pytest.mark.parametrize("provider", PROVIDERS),
]


async def turn(
    provider: str, streamed: bool, steps: list[Step], data: Path
) -> tuple[list[Event], ModelServer, FakeClock]:
    clock = FakeClock(start=1_800_000_000.0)
    async with ModelServer(steps) as server:
        base = server.openai_base if provider.startswith("openai") else server.url
        context = OdaContext.from_settings(
            agents_dir=AGENTS,
            data_dir=data,
            config_dir=data,
            session_service="memory://",
            model=PROVIDERS[provider],
            model_api_base=base,
            model_timeout_s=2.0 if any(_stalls(step) for step in steps) else 30.0,
            clock=clock,
        )
        mode = StreamingMode.SSE if streamed else StreamingMode.NONE
        async with context as oda:
            await oda.warm_up()
            session = await oda.sessions.create("calculator")
            events = [
                event
                async for event in session.stream(
                    "2 + 3?", run_config=RunConfig(streaming_mode=mode)
                )
                if not event.partial
            ]
            assert (await session.ask("next")).ok
        return events, server, clock


def _stalls(step: Step) -> bool:
    """Whether only a time limit ends the call."""
    return isinstance(step, Cut) and step.how == "stall"


def codes(events: list[Event]) -> list[str]:
    return [event.error_code for event in events if event.error_code]


def texts(events: list[Event]) -> list[str]:
    return [
        part.text
        for event in events
        if event.author != "system" and event.content
        for part in event.content.parts or ()
        if part.text
    ]


@pytest.mark.parametrize("failure", PASSING)
async def test_a_failure_that_may_pass_is_retried_after_the_tool(
    provider: str, streamed: bool, failure: str, tmp_path: Path
) -> None:
    steps: list[Step] = [ADD, PASSING[failure], ANSWER]
    events, server, clock = await turn(provider, streamed, steps, tmp_path)
    assert codes(events) == ["RETRY_ATTEMPT"]
    assert texts(events)[-1] == "It is five."
    results = [event for event in events if event.get_function_responses()]
    assert len(results) == 1
    answered = server.requests[-2]
    assert [message.text for message in answered.messages if message.role == "user"] == ["2 + 3?"]
    assert len([call for message in answered.messages for call in message.tool_calls]) == 1
    assert "Retry attempt" not in str(answered.body)
    assert clock.sleeps[0] == (7.0 if "Retry-After" in failure else 1.0)


@pytest.mark.parametrize("failure", LASTING)
async def test_a_failure_that_will_not_pass_ends_the_turn(
    provider: str, streamed: bool, failure: str, tmp_path: Path
) -> None:
    step, code = LASTING[failure]
    events, server, clock = await turn(provider, streamed, [step], tmp_path)
    assert codes(events) == ["NON_RETRYABLE_ERROR"]
    assert (events[-1].custom_metadata or {})["error"]["code"] == code
    assert events[-1].actions.escalate
    assert clock.sleeps == ()
    assert len(server.requests) == 2


async def test_a_text_cut_off_at_the_limit_is_an_answer(
    provider: str, streamed: bool, tmp_path: Path
) -> None:
    events, _, clock = await turn(provider, streamed, [MaxTokens(text="It is")], tmp_path)
    assert texts(events) == ["It is"]
    assert clock.sleeps == ()


async def test_a_reset_connection_does_no_harm(
    provider: str, streamed: bool, tmp_path: Path
) -> None:
    """LiteLLM (1.106) sends a request again by itself when the connection is reset: the one
    hidden retry that cannot be switched off."""
    steps: list[Step] = [ADD, Disconnect(how="reset"), ANSWER]
    events, server, _ = await turn(provider, streamed, steps, tmp_path)
    assert texts(events)[-1] == "It is five."
    hidden = provider.endswith("by LiteLLM")
    assert codes(events) == ([] if hidden else ["RETRY_ATTEMPT"])
    said = [m.text for m in server.requests[-2].messages if m.role == "user"]
    assert said == ["2 + 3?"]
