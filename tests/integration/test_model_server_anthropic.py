"""What Anthropic's own SDK reports for each failure that the model server can play."""

from dataclasses import dataclass, field
from typing import Any

import anthropic
import httpx2
import pytest

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

TIMEOUT_S = 0.5


@dataclass
class Observed:
    error: Any = None
    texts: list[str] = field(default_factory=list)
    message: anthropic.types.Message | None = None
    requests: int = 0

    @property
    def stop_reason(self) -> str | None:
        assert self.message is not None
        return self.message.stop_reason


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def streamed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


async def observe(step: Step | None, *, stream: bool = False) -> Observed:
    """Play `step` to one call; None: nobody listens."""
    server = ModelServer([] if step is None else [step.model_copy(update={"times": None})])
    seen = Observed()
    async with server:
        if step is None:
            await server.close()
        client = anthropic.AsyncAnthropic(
            base_url=server.url, api_key="test", max_retries=0, timeout=TIMEOUT_S
        )
        async with client:
            try:
                await _call(seen, client, stream)
            except Exception as error:
                seen.error = error
        seen.requests = server.received
    return seen


async def _call(seen: Observed, client: anthropic.AsyncAnthropic, stream: bool) -> None:
    question: anthropic.types.MessageParam = {"role": "user", "content": "hi"}
    if not stream:
        seen.message = await client.messages.create(
            model="claude-x", max_tokens=100, messages=[question]
        )
        return
    async with client.messages.stream(
        model="claude-x", max_tokens=100, messages=[question]
    ) as events:
        async for text in events.text_stream:
            seen.texts.append(text)
        seen.message = await events.get_final_message()


async def test_text_arrives(streamed: bool) -> None:
    seen = await observe(Text(text="one two", thinking="hm"), stream=streamed)

    assert seen.message is not None
    assert [block.type for block in seen.message.content] == ["thinking", "text"]
    assert seen.texts == (["one ", "two"] if streamed else [])
    assert seen.stop_reason == "end_turn"


async def test_tool_calls_arrive(streamed: bool) -> None:
    calls = (Call(name="add", args={"a": 1}, id="c1"), Call(name="add", args={}, id="c2"))
    seen = await observe(ToolCalls(text="So", calls=calls), stream=streamed)

    assert seen.message is not None
    found = [(block.id, block.input) for block in seen.message.content if block.type == "tool_use"]
    assert found == [("c1", {"a": 1}), ("c2", {})]
    assert seen.stop_reason == "tool_use"


@pytest.mark.parametrize(
    ("status", "name", "kind"),
    [
        (400, "BadRequestError", "invalid_request_error"),
        (401, "AuthenticationError", "authentication_error"),
        (403, "PermissionDeniedError", "permission_error"),
        (404, "NotFoundError", "not_found_error"),
        (408, "RequestTimeoutError", "api_error"),
        (409, "ConflictError", "api_error"),
        (413, "ContentTooLargeError", "request_too_large"),
        (429, "RateLimitError", "rate_limit_error"),
        (500, "InternalServerError", "api_error"),
        (503, "ServiceUnavailableError", "api_error"),
        (504, "GatewayTimeoutError", "timeout_error"),
        (529, "OverloadedError", "overloaded_error"),
    ],
)
async def test_http_errors_are_told_by_class_status_and_type(
    streamed: bool, status: int, name: str, kind: str
) -> None:
    seen = await observe(Error(status=status, retry_after=7), stream=streamed)

    assert type(seen.error).__name__ == name
    assert (seen.error.status_code, seen.error.type) == (status, kind)
    assert seen.error.response.headers["retry-after"] == "7"
    assert seen.requests == 1


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("context_length_exceeded", "prompt is too long"),
        ("content_policy_violation", "content filtering policy"),
        ("insufficient_quota", "credit balance is too low"),
    ],
)
async def test_some_reasons_are_told_by_words_only(code: str, words: str) -> None:
    seen = await observe(Error(status=400, code=code))

    assert type(seen.error) is anthropic.BadRequestError
    assert words in str(seen.error)


@pytest.mark.parametrize("step", [None, Disconnect(), Disconnect(how="reset")])
async def test_no_connection_has_a_class_and_no_status(
    streamed: bool, step: Disconnect | None
) -> None:
    seen = await observe(step, stream=streamed)

    assert type(seen.error) is anthropic.APIConnectionError
    assert not hasattr(seen.error, "status_code")


async def test_silence_is_a_timeout_and_a_kind_of_connection_error(streamed: bool) -> None:
    seen = await observe(Hang(), stream=streamed)

    assert type(seen.error) is anthropic.APITimeoutError
    assert isinstance(seen.error, anthropic.APIConnectionError)


@pytest.mark.parametrize(
    ("how", "whole", "in_stream"),
    [
        ("close", anthropic.APIConnectionError, httpx2.RemoteProtocolError),
        ("reset", anthropic.APIConnectionError, httpx2.ReadError),
        ("stall", anthropic.APITimeoutError, httpx2.ReadTimeout),
    ],
)
async def test_a_stream_that_breaks_shows_the_errors_of_the_http_client(
    streamed: bool, how: str, whole: type[Exception], in_stream: type[Exception]
) -> None:
    step = Cut.model_validate({"chunks": ["a ", "b "], "how": how})
    seen = await observe(step, stream=streamed)

    assert type(seen.error) is (in_stream if streamed else whole)
    assert seen.texts == (["a ", "b "] if streamed else [])


async def test_an_error_inside_a_stream_has_status_200_and_its_type() -> None:
    seen = await observe(Error(status=529, after_chunks=("a ", "b ")), stream=True)

    assert seen.texts == ["a ", "b "]
    assert type(seen.error) is anthropic.APIStatusError
    assert (seen.error.status_code, seen.error.type) == (200, "overloaded_error")


async def test_a_stream_without_its_end_has_no_stop_reason() -> None:
    seen = await observe(Cut(text="a b", how="end"), stream=True)

    assert (seen.error, seen.stop_reason) == (None, None)


async def test_what_is_no_json_is_a_json_error(streamed: bool) -> None:
    seen = await observe(Malformed(), stream=streamed)

    assert type(seen.error).__name__ == "JSONDecodeError"


async def test_broken_tool_arguments_are_passed_on(streamed: bool) -> None:
    seen = await observe(Malformed(kind="tool_arguments", tool="add"), stream=streamed)

    assert (seen.error, seen.stop_reason) == (None, "tool_use")


@pytest.mark.parametrize(
    ("step", "stop_reason"),
    [
        (Blocked(), "refusal"),
        (MaxTokens(text="half of"), "max_tokens"),
        (Empty(), "end_turn"),
    ],
)
async def test_bad_endings_of_a_sound_response_are_stop_reasons(
    streamed: bool, step: Step, stop_reason: str
) -> None:
    assert (await observe(step, stream=streamed)).stop_reason == stop_reason


async def test_usage_is_what_the_script_says(streamed: bool) -> None:
    usage = Usage(prompt_tokens=100, completion_tokens=7, cached_tokens=60)
    seen = await observe(Text(text="one two", usage=usage), stream=streamed)

    assert seen.message is not None
    found = seen.message.usage
    assert (found.input_tokens, found.cache_read_input_tokens, found.output_tokens) == (40, 60, 7)
