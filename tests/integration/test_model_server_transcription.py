"""Transcriptions by the model server: plain HTTP, and LiteLLM's client."""

from collections.abc import AsyncIterator

import httpx
import litellm
import pytest

from oda.testing import ModelServer
from oda.testing.script import Error, Match, Text

SPEECH = ("speech.mp3", b"to be or not to be", "audio/mpeg")


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as running:
        yield running


async def post(server: ModelServer, **form: str) -> httpx.Response:
    async with httpx.AsyncClient(base_url=server.openai_base) as http:
        return await http.post("/audio/transcriptions", data=form, files={"file": SPEECH})


async def test_a_recording_is_answered_and_recorded(server: ModelServer) -> None:
    server.play([Text(text="To be.", match=Match(model="whisper-1", last_user="not to be"))])
    answer = await post(server, model="whisper-1", prompt="Hamlet", language="en")
    assert answer.json() == {"text": "To be."}
    (request,) = server.requests
    assert (request.model, request.system, request.body["language"]) == (
        "whisper-1",
        "Hamlet",
        "en",
    )
    assert request.messages[0].text == "to be or not to be"
    assert (request.body["file"]["name"], request.body["file"]["type"]) == SPEECH[::2]


async def test_without_a_script_the_recording_is_echoed(server: ModelServer) -> None:
    answer = await post(server, model="whisper-1")
    assert answer.json() == {"text": "You said: to be or not to be"}


async def test_faults_are_those_of_the_provider(server: ModelServer) -> None:
    server.play([Error(status=429, retry_after=3)])
    answer = await post(server, model="whisper-1")
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "3")
    assert answer.json()["error"]["code"] == "rate_limit_exceeded"


async def test_what_is_no_such_form_is_refused(server: ModelServer) -> None:
    async with httpx.AsyncClient(base_url=server.openai_base) as http:
        answers = [
            await http.post("/audio/transcriptions", json={"model": "whisper-1"}),
            await http.post("/audio/transcriptions", files={"file": SPEECH}),
            await http.post(
                "/audio/transcriptions",
                content=b"no form",
                headers={"content-type": "multipart/form-data; boundary=x"},
            ),
        ]
    assert [answer.status_code for answer in answers] == [400] * 3
    assert server.received == 0


async def test_the_provider_s_usual_client_understands_it(server: ModelServer) -> None:
    server.play([Text(text="To be.")])
    answer = await litellm.atranscription(
        model="openai/whisper-1", file=SPEECH, api_base=server.openai_base, api_key="none"
    )
    assert answer.text == "To be."
