"""Recordings and pictures in a message, understood by models over real HTTP, or by none."""

import base64
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from google.genai.types import Content, Part

from oda import OdaContext
from oda.message.reply import Reply
from oda.testing import ModelServer
from oda.testing.model_server import RecordedRequest
from oda.testing.script import Cut, Empty, Error, Malformed, Match, Script, Step, Text
from tests.support.guided import APP, guide, response, steps_in
from tests.support.rehearsed_steps import rehearsal

SPEECH = Part.from_bytes(data=b"RIFF: beijing, please", mime_type="audio/wav")
PICTURE = Part.from_bytes(data=b"\x89PNG of some lines", mime_type="image/png")
LINKED = Part.from_uri(file_uri="https://example.org/page.jpg", mime_type="image/jpeg")

HEARD = Text(text=" Paris. ", match=Match(model="whisper-1"), times=None)
READ = Text(text="quiz about China", match=Match(system="Write down what"), times=None)
STAYS = Text(text='{"intent": "continue_current", "score": 90}', times=None)


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    rehearsal.clear()
    async with ModelServer(Script(steps=(HEARD, READ, STAYS))) as server:
        yield server


@pytest.fixture(params=["openai", "litellm/openai"])
async def oda(
    tmp_path: Path, model: ModelServer, request: pytest.FixtureRequest
) -> AsyncIterator[OdaContext]:
    async with guide(
        tmp_path,
        model=model,
        provider=request.param,
        transcribe_model=f"{request.param}/whisper-1",
    ) as opened:
        await opened.warm_up([APP])
        yield opened


async def said(oda: OdaContext, *parts: Part | str, lines: tuple[str, ...] = ()) -> Reply:
    """The answer to one message of several parts, after some lines."""
    session = await oda.sessions.create(APP)
    for line in lines:
        await session.ask(line)
    texts_and_media = [Part(text=one) if isinstance(one, str) else one for one in parts]
    reply = await session.ask(Content(role="user", parts=texts_and_media))
    stored = next(event for event in reversed(await session.history()) if event.author == "user")
    assert stored.content is not None
    assert stored.content.parts == texts_and_media, "all of it is stored"
    return reply


def calls(model: ModelServer, name: str) -> list[RecordedRequest]:
    return [request for request in model.requests if request.model == name]


async def test_a_recording_is_written_down_and_answered_by_voice(
    oda: OdaContext, model: ModelServer
) -> None:
    reply = await said(oda, SPEECH, lines=("quiz",))
    got = response(reply)
    assert got["content"] == {"type": "voice", "text": "Right!"}
    assert got["need_tts"] is True
    assert steps_in(reply.events)[0] == "transcribe-audio"
    (heard,) = calls(model, "whisper-1")
    assert heard.path == "/v1/audio/transcriptions"
    assert heard.messages[0].text == "RIFF: beijing, please"
    assert heard.body["file"]["name"] == "recording.wav"


@pytest.mark.parametrize(
    ("mime_type", "file"),
    [
        ("audio/mpeg", "recording.mp3"),
        ("audio/webm;codecs=opus", "recording.webm"),
        ("audio/ogg", "recording.ogg"),
        ("audio/pcm", "recording.wav"),
    ],
)
async def test_the_format_of_a_recording_is_told(
    oda: OdaContext, model: ModelServer, mime_type: str, file: str
) -> None:
    await said(oda, Part.from_bytes(data=b"sound", mime_type=mime_type))
    assert calls(model, "whisper-1")[0].body["file"]["name"] == file


async def test_a_picture_is_read_and_shown_to_the_scene(
    oda: OdaContext, model: ModelServer
) -> None:
    reply = await said(oda, PICTURE)
    assert reply.text == "What is the capital of China?"
    assert response(reply)["content"]["type"] == "text"
    (asked,) = calls(model, "stub")
    (part,) = _images(asked)
    data = base64.b64encode(b"\x89PNG of some lines").decode()
    assert part == {"url": f"data:image/png;base64,{data}"}


async def test_a_picture_may_be_a_link(oda: OdaContext, model: ModelServer) -> None:
    assert (await said(oda, LINKED)).text == "What is the capital of China?"
    (asked,) = calls(model, "stub")
    assert _images(asked) == [{"url": "https://example.org/page.jpg"}]


async def test_all_parts_are_words_of_one_message(oda: OdaContext, model: ModelServer) -> None:
    reply = await said(oda, "look:", PICTURE, SPEECH)
    assert reply.text == "lobby: look:\nquiz about China\nParis."
    assert steps_in(reply.events) == ["read-image", "transcribe-audio", "classify-intent"]


async def test_what_they_cost_is_counted(oda: OdaContext) -> None:
    reply = await said(oda, PICTURE)
    assert reply.events[0].usage_metadata is not None
    assert reply.events[0].usage_metadata.prompt_token_count


FAULTS: dict[str, tuple[Step, str]] = {
    "500": (Error(status=500), "server_error"),
    "401": (Error(status=401), "authentication"),
    "nothing": (Empty(), "no_content"),
    "a web page": (Malformed(kind="html"), ""),
    "half a body": (Cut(text="Par"), ""),
}


@pytest.mark.parametrize("medium", [SPEECH, PICTURE], ids=["recording", "picture"])
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_part_that_cannot_be_understood_does_not_hold_up_the_rest(
    oda: OdaContext, model: ModelServer, medium: Part, fault: str
) -> None:
    step, code = FAULTS[fault]
    failing = step.model_copy(update={"match": _only_media(medium), "times": None})
    model.play([failing, STAYS])
    reply = await said(oda, "hello", medium)
    got = response(reply)
    assert (got["success"], reply.text) == (True, "lobby: hello")
    assert code in got["error"]["code"]
    assert got["error"]["message"]


@pytest.mark.parametrize("medium", [SPEECH, PICTURE], ids=["recording", "picture"])
async def test_a_message_that_cannot_be_understood_at_all_says_why(
    oda: OdaContext, model: ModelServer, medium: Part
) -> None:
    model.play([Error(status=401, match=_only_media(medium), times=None)])
    got = response(await said(oda, medium, lines=("quiz",)))
    assert (got["success"], got["scene"], got["error"]["code"]) == (False, "quiz", "authentication")
    assert rehearsal.ran == []


@pytest.mark.parametrize(
    ("medium", "remedy"),
    [(SPEECH, "ODA_TRANSCRIBE_MODEL"), (PICTURE, "ODA_MODEL"), (LINKED, "ODA_MODEL")],
    ids=["recording", "picture", "link"],
)
@pytest.mark.parametrize("text", ["", "quiz"])
async def test_what_is_not_configured_is_said_for_its_part_and_nothing_is_lost(
    tmp_path: Path, medium: Part, remedy: str, text: str
) -> None:
    async with guide(tmp_path) as oda:
        reply = await said(oda, *filter(None, [text]), medium)
        got = response(reply)
        assert got["error"]["code"] == "not_configured"
        assert remedy in got["error"]["remedy"]
        assert got["success"] is bool(text)
        expected = "What is the capital of France?" if text else got["error"]["message"]
        assert expected in reply.text


@pytest.mark.parametrize("mime_type", ["video/mp4", "application/pdf"])
async def test_other_media_are_kept_but_not_understood(
    oda: OdaContext, model: ModelServer, mime_type: str
) -> None:
    medium = Part.from_bytes(data=b"data", mime_type=mime_type)
    reply = await said(oda, "here: it is", medium)
    assert reply.text == "lobby: here: it is"
    assert response(reply)["error"]["code"] == "unsupported_media"
    assert mime_type in response(await said(oda, medium))["content"]["text"]
    assert model.received == 0


def _only_media(medium: Part) -> Match:
    return Match(model="whisper-1") if medium is SPEECH else Match(system="Write down what")


def _images(request: RecordedRequest) -> list[dict[str, str]]:
    content = request.body["messages"][-1]["content"]
    return [part["image_url"] for part in content if part["type"] == "image_url"]
