"""What LiteLLM reports for each failure that the model server can play.

Error classification relies on these facts; a change of LiteLLM that breaks one of them shows here.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
from litellm.llms.anthropic.common_utils import AnthropicError

from oda.agent.model.litellm_client import refusals_as_such
from oda.agent.model.litellm_import import close_clients
from oda.testing import ModelServer
from oda.testing.script import (
    Blocked,
    Call,
    Cut,
    Disconnect,
    Empty,
    Error,
    Hang,
    Malformed,
    MaxTokens,
    Step,
    Text,
    ToolCalls,
    Usage,
)

# LiteLLM keeps its HTTP clients for the life of an event loop.
pytestmark = pytest.mark.asyncio(loop_scope="module")

OWN_HANDLER = "EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER"
TIMEOUT_S = 0.5
ADD: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "add",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}},
    },
}


@dataclass
class Observed:
    """What a caller of LiteLLM sees of one model call."""

    error: Any = None
    texts: list[str] = field(default_factory=list)
    arguments: str = ""
    finish: str | None = None
    requests: int = 0
    stream: Any = None

    @property
    def failure(self) -> tuple[str, int | None]:
        return type(self.error).__name__, getattr(self.error, "status_code", None)


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def litellm_clients() -> AsyncIterator[None]:
    yield
    await close_clients()


@pytest.fixture(params=["openai/m", "openai/m by LiteLLM's handler", "anthropic/claude-x"])
def model(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    name, _, own_handler = str(request.param).partition(" by ")
    monkeypatch.setenv(OWN_HANDLER, str(bool(own_handler)))
    return name


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def streamed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


async def observe(model: str, step: Step | None, *, stream: bool = False) -> Observed:
    """Play `step` to one LiteLLM call; None: nobody listens."""
    server = ModelServer([] if step is None else [step.model_copy(update={"times": None})])
    async with server:
        base = server.openai_base if model.startswith("openai/") else server.url
        if step is None:
            await server.close()
        seen = Observed()
        try:
            await _call(seen, model, base, stream)
        except Exception as error:
            seen.error = error
        seen.requests = server.received
    return seen


async def _call(seen: Observed, model: str, base: str, stream: bool) -> None:
    answer: Any = await litellm.acompletion(
        model=model,
        api_base=base,
        api_key="test",
        messages=[{"role": "user", "content": "hi"}],
        tools=[ADD],
        stream=stream,
        stream_options={"include_usage": True} if stream else None,
        num_retries=0,
        max_retries=0,
        timeout=TIMEOUT_S,
    )
    seen.stream = answer
    async for choice in _choices(answer, stream):
        said = choice.delta if stream else choice.message
        seen.texts += [said.content] if said.content else []
        seen.arguments += "".join(c.function.arguments for c in said.tool_calls or ())
        seen.finish = choice.finish_reason or seen.finish


async def _choices(answer: Any, stream: bool) -> AsyncIterator[Any]:
    if not stream:
        yield answer.choices[0]
        return
    async for chunk in answer:
        if chunk.choices:
            yield chunk.choices[0]


async def test_text_arrives(model: str, streamed: bool) -> None:
    seen = await observe(model, Text(text="one two"), stream=streamed)

    assert seen.texts == (["one ", "two"] if streamed else ["one two"])
    assert (seen.error, seen.finish) == (None, "stop")


async def test_tool_calls_arrive(model: str, streamed: bool) -> None:
    calls = (Call(name="add", args={"a": 1}),)
    seen = await observe(model, ToolCalls(text="So", calls=calls), stream=streamed)

    assert ("".join(seen.texts), seen.finish) == ("So", "tool_calls")
    assert seen.arguments.replace(" ", "") == '{"a":1}'


@pytest.mark.parametrize(
    ("step", "name", "status"),
    [
        (Error(status=400), "BadRequestError", 400),
        (Error(status=401), "AuthenticationError", 401),
        (Error(status=404), "NotFoundError", 404),
        (Error(status=429), "RateLimitError", 429),
        (Error(status=429, code="insufficient_quota"), "RateLimitError", 429),
        (Error(status=500), "InternalServerError", 500),
        (Error(status=502), "BadGatewayError", 502),
        (Error(status=503), "ServiceUnavailableError", 503),
        (Error(status=504), "Timeout", 504),
        (Error(status=400, code="context_length_exceeded"), "ContextWindowExceededError", 400),
        (Error(status=400, code="content_policy_violation"), "ContentPolicyViolationError", 400),
    ],
)
async def test_http_errors_are_told_by_class_and_status(
    model: str, streamed: bool, step: Error, name: str, status: int
) -> None:
    seen = await observe(model, step, stream=streamed)

    assert (seen.failure, seen.requests) == ((name, status), 1)


@pytest.mark.parametrize(
    ("status", "of_openai", "of_anthropic"),
    [
        (403, ("BadRequestError", 403), ("PermissionDeniedError", 403)),
        (408, ("BadRequestError", 408), ("Timeout", 408)),
        (409, ("BadRequestError", 409), ("BadRequestError", 409)),
        (413, ("BadRequestError", 413), ("BadRequestError", 400)),
        (529, ("APIError", 529), ("InternalServerError", 500)),
    ],
)
async def test_for_some_statuses_the_class_says_little(
    model: str,
    streamed: bool,
    status: int,
    of_openai: tuple[str, int],
    of_anthropic: tuple[str, int],
) -> None:
    seen = await observe(model, Error(status=status), stream=streamed)

    if seen.failure == ("APIConnectionError", 500):  # LiteLLM 1.96: 403 and 409 of Anthropic
        assert model.startswith("anthropic/")
        assert getattr(seen.error.__context__, "status_code", None) == status
        return
    assert seen.failure == (of_openai if model == "openai/m" else of_anthropic)


@pytest.mark.parametrize("status", [403, 409, 500])
def test_a_refusal_that_passes_for_a_lost_connection_is_raised_as_such(status: int) -> None:
    """As LiteLLM 1.96 does with statuses for which it has no class."""
    with pytest.raises(Exception) as raised, refusals_as_such():
        try:
            raise AnthropicError(status, "Forbidden")
        except AnthropicError:
            raise litellm.exceptions.APIConnectionError("m", "anthropic", "claude-x")  # noqa: B904

    is_refusal = isinstance(raised.value, AnthropicError)
    assert is_refusal == (status < 500)
    assert getattr(raised.value, "status_code", None) == status


async def test_after_its_clients_were_closed_litellm_makes_new_ones(
    model: str, streamed: bool
) -> None:
    for _ in range(2):
        seen = await observe(model, Text(chunks=["a"]), stream=streamed)
        assert seen.error is None
        await close_clients()


async def test_the_class_depends_on_the_words_of_the_provider() -> None:
    plain = await observe("openai/m", Error(status=409, error_type="conflict"))
    worded = await observe("openai/m", Error(status=409, error_type="invalid_request_error"))

    assert plain.failure == ("APIError", 409)
    assert worded.failure == ("BadRequestError", 409)


@pytest.mark.parametrize("status", [429, 503, 529])
async def test_retry_after_is_in_the_response_headers_of_litellm(
    model: str, streamed: bool, status: int
) -> None:
    seen = await observe(model, Error(status=status, retry_after=7), stream=streamed)

    assert seen.error.litellm_response_headers["retry-after"] == "7"


async def test_an_exhausted_quota_is_told_from_a_rate_limit_by_its_words_only(model: str) -> None:
    seen = await observe(model, Error(status=429, code="insufficient_quota"))

    words = "current quota" if model == "openai/m" else "credit balance"
    assert words in str(seen.error)
    assert seen.error.code == "429"


@pytest.mark.parametrize("step", [None, Disconnect(), Disconnect(how="reset")])
async def test_no_connection_looks_like_status_500(
    model: str, streamed: bool, step: Disconnect | None
) -> None:
    seen = await observe(model, step, stream=streamed)

    assert seen.failure == ("InternalServerError", 500)


async def test_only_the_openai_sdk_does_not_send_a_request_again_after_a_reset(model: str) -> None:
    seen = await observe(model, Disconnect(how="reset"))

    by_sdk = model == "openai/m" and os.environ[OWN_HANDLER] == "False"
    assert seen.requests == (1 if by_sdk else 2)


@pytest.mark.parametrize("step", [Hang(), Cut(text="a b", how="stall")])
async def test_silence_ends_in_a_timeout(model: str, step: Hang | Cut) -> None:
    assert (await observe(model, step)).failure == ("Timeout", 408)


async def test_silence_before_a_stream_ends_in_a_timeout(model: str) -> None:
    assert (await observe(model, Hang(), stream=True)).failure == ("Timeout", 408)


@pytest.mark.parametrize("how", ["close", "reset", "stall"])
async def test_a_stream_that_breaks_or_stalls_has_a_class_of_its_own(model: str, how: str) -> None:
    step = Cut.model_validate({"chunks": ["a ", "b "], "how": how})
    seen = await observe(model, step, stream=True)

    assert seen.texts == ["a ", "b "]
    assert seen.failure == ("MidStreamFallbackError", 500)
    assert type(seen.error.original_exception).__name__ == "APIConnectionError"
    assert seen.error.generated_content == "a b "


@pytest.mark.parametrize("status", [429, 529])
async def test_an_error_inside_a_stream_has_the_same_class(model: str, status: int) -> None:
    step = Error(status=status, after_chunks=("a ", "b "))
    seen = await observe(model, step, stream=True)

    assert seen.texts == ["a ", "b "]
    told = 429 if (model, status) == ("openai/m", 429) else 500
    assert seen.failure == ("MidStreamFallbackError", told)


@pytest.mark.parametrize("how", ["close", "reset"])
async def test_a_body_that_breaks_off_looks_like_status_500(model: str, how: str) -> None:
    step = Cut.model_validate({"text": "a b", "how": how})

    assert (await observe(model, step)).failure == ("InternalServerError", 500)


@pytest.mark.parametrize("step", [Malformed(), Malformed(kind="html"), Cut(text="a", how="end")])
async def test_a_body_that_is_no_json_is_an_error(model: str, step: Malformed | Cut) -> None:
    seen = await observe(model, step)

    if model == "anthropic/claude-x":
        assert seen.failure == ("APIConnectionError", 500)
    elif os.environ[OWN_HANDLER] == "True":
        assert seen.failure == ("APIError", 200)
    else:
        assert seen.failure == ("InternalServerError", 500)


@pytest.mark.parametrize(
    "step",
    [
        Cut(text="a b", how="end"),
        Cut(calls=(Call(name="add", args={"a": 1}),), how="end"),
        Malformed(kind="html"),
    ],
)
async def test_a_stream_without_its_end_looks_finished_but_for_what_the_wrapper_knows(
    model: str, step: Cut | Malformed
) -> None:
    seen = await observe(model, step, stream=True)

    assert (seen.error, seen.finish) == (None, "stop")
    assert seen.stream.received_finish_reason is None


async def test_broken_events_are_skipped_except_by_the_openai_sdk(model: str) -> None:
    seen = await observe(model, Malformed(), stream=True)

    assert seen.texts == ["This "]
    if model == "openai/m" and os.environ[OWN_HANDLER] == "False":
        assert seen.failure == ("MidStreamFallbackError", 500)
    else:
        assert (seen.error, seen.finish) == (None, "stop")
        assert seen.stream.received_finish_reason is None


@pytest.mark.parametrize(
    ("step", "finish"),
    [
        (Blocked(), "content_filter"),
        (Blocked(text="I am"), "content_filter"),
        (MaxTokens(text="half of"), "length"),
        (Empty(), "stop"),
        (Malformed(kind="tool_arguments", tool="add"), "tool_calls"),
    ],
)
async def test_bad_endings_of_a_sound_response_are_finish_reasons(
    model: str, streamed: bool, step: Step, finish: str
) -> None:
    seen = await observe(model, step, stream=streamed)

    assert (seen.error, seen.finish) == (None, finish)
    if streamed:
        assert seen.stream.received_finish_reason == finish


async def test_usage_is_what_the_script_says(model: str) -> None:
    usage = Usage(prompt_tokens=100, completion_tokens=7, cached_tokens=60)
    seen = await observe(model, Text(text="one two", usage=usage))

    assert seen.stream.usage.prompt_tokens == 100
    assert seen.stream.usage.completion_tokens == 7
    assert seen.stream.usage.prompt_tokens_details.cached_tokens == 60


async def test_cancelling_a_call_closes_its_connection(model: str, streamed: bool) -> None:
    async with ModelServer([Cut(text="a b", how="stall")]) as server:
        base = server.openai_base if model == "openai/m" else server.url
        call = asyncio.create_task(_call(Observed(), model, base, streamed))
        await server.wait_until(lambda s: s.in_flight == 1)
        call.cancel()

        await server.wait_until(lambda s: s.abandoned == 1)
        with pytest.raises(asyncio.CancelledError):
            await call
