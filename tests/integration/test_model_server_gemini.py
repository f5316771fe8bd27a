"""What ADK's `Gemini` (google-genai) reports for each failure that the model server can play."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from google.adk.models.google_llm import Gemini
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

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

TIMEOUT_MS = 500


@dataclass
class Observed:
    error: Any = None
    responses: list[LlmResponse] = field(default_factory=list)
    requests: int = 0

    @property
    def partial_texts(self) -> list[str]:
        return [part.text or "" for r in self.responses if r.partial for part in parts_of(r)]

    @property
    def last(self) -> LlmResponse:
        return self.responses[-1]


@pytest.fixture(autouse=True)
def api_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "test")


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def streamed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def parts_of(response: LlmResponse) -> list[types.Part]:
    return (response.content and response.content.parts) or []


async def observe(step: Step | None, *, stream: bool = False) -> Observed:
    """Play `step` to one call of `Gemini`; None: nobody listens."""
    server = ModelServer([] if step is None else [step.model_copy(update={"times": None})])
    async with server:
        if step is None:
            await server.close()
        model = Gemini(
            model="gemini-2.5-flash",
            base_url=server.url,
            retry_options=types.HttpRetryOptions(attempts=1),
        )
        options = types.HttpOptions(timeout=TIMEOUT_MS)
        request = LlmRequest(
            model=model.model,
            contents=[types.Content(role="user", parts=[types.Part(text="hi")])],
            config=types.GenerateContentConfig(http_options=options),
        )
        seen = Observed()
        try:
            async for response in model.generate_content_async(request, stream=stream):
                seen.responses.append(response)
        except Exception as error:
            seen.error = error
        seen.requests = server.received
        await model.api_client.aio.aclose()
    return seen


async def test_text_arrives(streamed: bool) -> None:
    seen = await observe(Text(text="one two"), stream=streamed)

    assert [part.text for part in parts_of(seen.last)] == ["one two"]
    assert seen.partial_texts == (["one ", "two"] if streamed else [])


async def test_tool_calls_arrive_with_their_ids(streamed: bool) -> None:
    calls = (Call(name="add", args={"a": 1}, id="c1"), Call(name="add", args={"a": 2}, id="c2"))
    seen = await observe(ToolCalls(text="So", calls=calls), stream=streamed)

    found = [(c.id, c.name, c.args) for c in seen.last.get_function_calls()]
    assert found == [("c1", "add", {"a": 1}), ("c2", "add", {"a": 2})]


@pytest.mark.parametrize(
    ("status", "name", "word"),
    [
        (400, "ClientError", "INVALID_ARGUMENT"),
        (401, "ClientError", "UNAUTHENTICATED"),
        (403, "ClientError", "PERMISSION_DENIED"),
        (404, "ClientError", "NOT_FOUND"),
        (429, "_ResourceExhaustedError", "RESOURCE_EXHAUSTED"),
        (500, "ServerError", "INTERNAL"),
        (503, "ServerError", "UNAVAILABLE"),
        (504, "ServerError", "DEADLINE_EXCEEDED"),
        (529, "ServerError", "UNKNOWN"),
    ],
)
async def test_http_errors_are_told_by_code_and_status_word(
    streamed: bool, status: int, name: str, word: str
) -> None:
    seen = await observe(Error(status=status), stream=streamed)

    assert (type(seen.error).__name__, seen.error.code, seen.error.status) == (name, status, word)
    assert seen.requests == 1


async def test_retry_after_is_a_header_and_a_detail_of_the_body(streamed: bool) -> None:
    seen = await observe(Error(status=429, retry_after=7), stream=streamed)

    assert seen.error.response.headers["retry-after"] == "7"
    assert seen.error.details["error"]["details"][0]["retryDelay"] == "7s"


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (Error(status=400, code="context_length_exceeded"), "input token count"),
        (Error(status=429, code="insufficient_quota"), "current quota"),
    ],
)
async def test_some_reasons_are_told_by_words_only(step: Error, words: str) -> None:
    seen = await observe(step)

    assert words in str(seen.error)


@pytest.mark.parametrize(
    ("step", "name"),
    [
        (None, "ClientConnectorError"),
        (Disconnect(), "ServerDisconnectedError"),
        (Disconnect(how="reset"), "ClientOSError"),
        (Hang(), "TimeoutError"),
        (Cut(text="a b"), "ClientPayloadError"),
        (Cut(text="a b", how="reset"), "ClientPayloadError"),
        (Cut(text="a b", how="stall"), "TimeoutError"),
    ],
)
async def test_broken_connections_are_errors_of_aiohttp(
    streamed: bool, step: Step | None, name: str
) -> None:
    seen = await observe(step, stream=streamed)

    assert type(seen.error).__name__ == name
    assert not hasattr(seen.error, "code")
    if streamed and isinstance(step, Cut):
        assert seen.partial_texts == ["a ", "b"]


@pytest.mark.parametrize(
    ("step", "whole", "in_stream"),
    [
        (Malformed(), "JSONDecodeError", "UnknownApiResponseError"),
        (Malformed(kind="html"), "JSONDecodeError", "UnknownApiResponseError"),
    ],
)
async def test_what_is_no_json_is_a_value_error(
    streamed: bool, step: Malformed, whole: str, in_stream: str
) -> None:
    seen = await observe(step, stream=streamed)

    assert type(seen.error).__name__ == (in_stream if streamed else whole)
    assert isinstance(seen.error, ValueError)


async def test_a_stream_without_its_end_has_no_finish_reason() -> None:
    seen = await observe(Cut(text="a b", how="end"), stream=True)

    assert (seen.error, seen.last.error_code, seen.last.finish_reason) == (None, None, None)
    assert [part.text for part in parts_of(seen.last)] == ["a b"]


async def test_an_error_inside_a_stream_keeps_its_code() -> None:
    seen = await observe(Error(status=503, after_chunks=("a ", "b ")), stream=True)

    assert seen.partial_texts == ["a ", "b "]
    assert seen.error.code == 503


@pytest.mark.parametrize(
    ("step", "whole", "in_stream", "finish"),
    [
        (Blocked(), "SAFETY", "SAFETY", "SAFETY"),
        (Blocked(text="I am"), None, "SAFETY", "SAFETY"),
        (Blocked(prompt=True), "SAFETY", "SAFETY", None),
        (MaxTokens(text="half of"), None, "MAX_TOKENS", "MAX_TOKENS"),
        (
            Malformed(kind="tool_arguments"),
            "MALFORMED_FUNCTION_CALL",
            "MALFORMED_FUNCTION_CALL",
            "MALFORMED_FUNCTION_CALL",
        ),
    ],
)
async def test_bad_endings_of_a_sound_response_are_not_raised(
    streamed: bool, step: Step, whole: str | None, in_stream: str | None, finish: str | None
) -> None:
    seen = await observe(step, stream=streamed)

    assert seen.error is None
    assert seen.last.error_code == (in_stream if streamed else whole)
    assert seen.last.finish_reason == (finish and types.FinishReason(finish))


async def test_an_empty_answer_is_no_content_or_no_response_at_all(streamed: bool) -> None:
    seen = await observe(Empty(), stream=streamed)

    assert seen.error is None
    assert [part for response in seen.responses for part in parts_of(response)] == []


async def test_usage_is_what_the_script_says(streamed: bool) -> None:
    usage = Usage(prompt_tokens=100, completion_tokens=7, cached_tokens=60)
    seen = await observe(Text(text="one two", usage=usage), stream=streamed)

    assert seen.last.usage_metadata is not None
    assert seen.last.usage_metadata.prompt_token_count == 100
    assert seen.last.usage_metadata.cached_content_token_count == 60
