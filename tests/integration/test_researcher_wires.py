"""The researcher's graph with models on the wires of OpenAI and Anthropic; others use Gemini's."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from google.genai.types import Blob, Content, Part

from oda import OdaContext
from oda.agent.run_limits import rounds_of
from oda.testing import ModelServer
from oda.testing.script import Call, Text, ToolCalls
from tests.support.videos import make_video, needs_ffmpeg

AGENTS = Path(__file__).parents[2] / "agents"
PAGE = "<h1>A test picture</h1><p>It moves.</p>"


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


@needs_ffmpeg
@pytest.mark.parametrize("wire", ["openai", "anthropic"])
async def test_pictures_and_the_concluding_round(
    wire: str, model: ModelServer, tmp_path: Path
) -> None:
    make_video(tmp_path / "talk.mp4")
    video = Blob(
        data=(tmp_path / "talk.mp4").read_bytes(), mime_type="video/mp4", display_name="talk.mp4"
    )
    watch = json.dumps({"template": "video-analysis", "prompt": "What is in it?"})
    context = OdaContext.from_settings(
        agents_dir=AGENTS,
        data_dir=tmp_path,
        model=f"{wire}/stub",
        model_api_base=model.openai_base if wire == "openai" else model.url,
    )
    async with context as oda:
        session = await oda.sessions.create("researcher")
        model.play([Text(text=PAGE)])
        parts = [Part(text=watch), Part(inline_data=video)]
        seen = await session.ask(Content(role="user", parts=parts))
        assert seen.ok, seen.error
        told = model.requests[-1].body["messages"][-1]["content"]
        assert sum(part["type"] in ("image", "image_url") for part in told) == 12

        again = ToolCalls(calls=(Call(name="list_files", args={}),), times=14)
        model.play([again, Text(text=PAGE)])
        concluded = await session.ask(json.dumps({"template": "deep-research", "prompt": "x"}))
        assert concluded.ok, concluded.error
        assert rounds_of(concluded.events) == 15
        last = model.requests[-1].body
        assert "last answer" in json.dumps(last)
        assert last["tool_choice"] in ("required", {"type": "any"})
        before = json.dumps(model.requests[-2].body).replace("\\", "").replace(" ", "")
        assert '"rounds_left":2' in before
