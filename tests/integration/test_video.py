"""Videos are looked at by ffmpeg in a sandbox that has bubblewrap's rights to run it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from google.adk.tools.tool_context import ToolContext

from agents.researcher.video import read_video
from oda.agent.model.registry import Models, default_models
from oda.config.files import ConfigurationFiles
from oda.settings import Settings
from oda.testing import ModelServer
from oda.workspace.workspace import Workspace
from tests.support.tool_calls import tool_call
from tests.support.videos import make_video, needs_ffmpeg

pytestmark = needs_ffmpeg


@pytest.fixture
async def call(tmp_path: Path) -> AsyncIterator[tuple[ToolContext, Workspace]]:
    async with tool_call(tmp_path / "workspaces") as context_and_workspace:
        yield context_and_workspace


def models(folder: Path, **settings: str) -> Models:
    return Models(
        Settings.model_validate({"config_dir": folder, **settings}),
        ConfigurationFiles(folder).current,
    )


async def test_frames_and_words_of_a_video(
    call: tuple[ToolContext, Workspace], tmp_path: Path
) -> None:
    context, workspace = call
    await asyncio.to_thread(make_video, workspace.path / "input" / "talk.mp4")
    async with ModelServer() as server:
        speech = {"transcribe_model": "openai/whisper-1", "model_api_base": server.openai_base}
        speech |= {"model": "openai/stub", "model_api_key": "sk-test"}
        with default_models.set(models(tmp_path, **speech)):
            seen = await read_video("input/talk.mp4", context, frames=3)
    assert seen["duration_s"] == pytest.approx(3, abs=0.2)
    assert seen["frame_times_s"] == [0.5, 1.5, 2.5]
    assert [(await workspace.read(path))[:3] for path in seen["frames"]] == [b"\xff\xd8\xff"] * 3
    assert seen["transcript"].startswith("You said: ")
    [request] = server.requests
    assert request.body["file"]["type"] == "audio/wav"
    assert not [file for file in await workspace.list("data") if file.path.endswith(".wav")]


async def test_without_a_model_for_speech_there_are_frames_only(
    call: tuple[ToolContext, Workspace], tmp_path: Path
) -> None:
    context, workspace = call
    await asyncio.to_thread(make_video, workspace.path / "input" / "talk.mkv")
    with default_models.set(models(tmp_path)):
        seen = await read_video("input/talk.mkv", context, frames=2)
    assert (len(seen["frames"]), seen["transcript"]) == (2, None)
    assert seen["note"].startswith("not_configured")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n", "no_video"),
        (b"ffconcat version 1.0\nfile /etc/passwd\n", "no_video"),
        (b"\x00\x00\x00\x18ftypmp42" + bytes(4000), "broken"),
    ],
)
async def test_lists_of_files_and_broken_files_are_refused(
    call: tuple[ToolContext, Workspace], content: bytes, code: str
) -> None:
    context, workspace = call
    await workspace.write("input/talk.mp4", content)
    seen = await read_video("input/talk.mp4", context)
    assert seen["error"]["code"] == code
