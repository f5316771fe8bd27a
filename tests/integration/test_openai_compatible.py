"""Chat completions over real HTTP, without any client library between."""

from collections.abc import AsyncIterator

import pytest
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai.types import Content, GenerateContentConfig, Part
from pydantic import BaseModel, SecretStr

from oda.agent.failure import classify
from oda.agent.model.http_model import close_connections
from oda.agent.model.openai_compatible import OpenAICompatible
from oda.errors import IncompleteAnswerError, MalformedAnswerError
from oda.testing import ModelServer
from oda.testing.script import Cut, Error, Malformed, Step, Text


class City(BaseModel):
    name: str


@pytest.fixture(autouse=True)
async def connections() -> AsyncIterator[None]:
    yield
    await close_connections()


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def streamed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


async def answers(
    server: ModelServer, *, stream: bool, config: GenerateContentConfig | None = None
) -> list[LlmResponse]:
    model = OpenAICompatible(
        model="m", api_base=server.openai_base, api_key=SecretStr("k"), params={"top_k": 3}
    )
    request = LlmRequest(
        contents=[Content(role="user", parts=[Part(text="hi")])],
        config=config or GenerateContentConfig(),
    )
    return [response async for response in model.generate_content_async(request, stream)]


def texts(responses: list[LlmResponse]) -> list[tuple[str | None, bool | None, bool | None]]:
    return [
        (part.text, part.thought, response.partial)
        for response in responses
        for part in (response.content and response.content.parts) or ()
    ]


async def test_text_and_reasoning_arrive_in_pieces_and_as_a_whole(streamed: bool) -> None:
    step = Text(chunks=("one ", "two"), thinking="Hmm")
    async with ModelServer([step]) as server:
        seen = await answers(server, stream=streamed)
        (sent,) = server.requests

    assert texts(seen[-1:]) == [("Hmm", True, False), ("one two", None, False)]
    pieces = texts(seen[:-1])
    assert all(partial for _, _, partial in pieces)
    for thought, text in ((True, "Hmm"), (None, "one two")):
        joined = "".join(piece or "" for piece, is_thought, _ in pieces if is_thought == thought)
        assert joined == (text if streamed else "")
    assert sent.headers["authorization"] == "Bearer k"
    assert sent.body["top_k"] == 3


async def test_a_schema_is_sent_as_the_response_format() -> None:
    async with ModelServer([Text(text='{"name": "Ulm"}')]) as server:
        config = GenerateContentConfig(response_schema=City, response_mime_type="application/json")
        await answers(server, stream=False, config=config)
        (sent,) = server.requests
    assert sent.body["response_format"]["json_schema"]["name"] == "City"


@pytest.mark.parametrize(
    ("step", "name", "code"),
    [
        (Error(status=400), "BadRequestError", "bad_request"),
        (Error(status=401), "AuthenticationError", "authentication"),
        (Error(status=403), "PermissionDeniedError", "permission_denied"),
        (Error(status=404), "NotFoundError", "not_found"),
        (Error(status=429, retry_after=7), "RateLimitError", "rate_limited"),
        (Error(status=503), "ServiceUnavailableError", "overloaded"),
        (Error(status=400, code="context_length_exceeded"), "BadRequestError", "context_overflow"),
        (Error(status=400, code="content_policy_violation"), "BadRequestError", "content_policy"),
    ],
)
async def test_refusals_are_errors_with_status_and_words(
    streamed: bool, step: Error, name: str, code: str
) -> None:
    async with ModelServer([step]) as server:
        with pytest.raises(Exception) as caught:
            await answers(server, stream=streamed)
    failure = classify(caught.value, now=0.0)
    assert (failure.error_type, failure.code) == (name, code)
    assert failure.retry_after_s == step.retry_after


@pytest.mark.parametrize(("status", "code"), [(429, "rate_limited"), (529, "server_error")])
async def test_an_error_inside_a_stream_is_raised_after_the_text(status: int, code: str) -> None:
    step = Error(status=status, after_chunks=("a ", "b "))
    async with ModelServer([step]) as server:
        with pytest.raises(Exception) as caught:
            await answers(server, stream=True)
    failure = classify(caught.value, now=0.0)
    assert (failure.code, failure.retryable) == (code, True)


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (Cut(text="a b", how="end"), IncompleteAnswerError),
        (Malformed(), MalformedAnswerError),
        (Malformed(kind="html"), IncompleteAnswerError),
    ],
)
async def test_half_a_stream_is_no_answer(step: Step, error: type[Exception]) -> None:
    async with ModelServer([step]) as server:
        with pytest.raises(error):
            await answers(server, stream=True)
